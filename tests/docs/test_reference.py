"""The API reference and the list of public names."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import foveate
from doc_pages import DOCS

API = "\n".join(path.read_text("utf-8") for path in sorted((DOCS / "api").glob("*.md")))
DOCUMENTED = re.findall(r"^\.\. auto(?:class|function|data):: foveate\.([\w.]+)$", API, re.M)

PUBLIC_0_2 = frozenset(Path(__file__).with_name("public_names_0_2.txt").read_text().split())
"""The public names of version 0.2. A name is removed in two steps: one minor release in which
``foveate.DEPRECATED`` says what replaces it and its use warns, then its removal here."""


def documented(path):
    module, _, name = f"foveate.{path}".rpartition(".")
    return getattr(import_module(module), name)


def test_every_public_name_is_in_the_reference():
    assert {name for name in DOCUMENTED if "." not in name} == set(foveate.CONTENTS)
    assert set(foveate.__all__) - {"__version__"} == set(foveate.CONTENTS)


CONTRACTS = {"trust.external.BagModel", "trust.subject.Subject"}
"""Protocols and abstract classes, which examples of their implementations show."""


@pytest.mark.parametrize("path", sorted(set(DOCUMENTED) - CONTRACTS))
def test_every_documented_name_has_a_runnable_example(path):
    """``pytest --doctest-modules`` runs the examples."""
    assert ">>>" in (documented(path).__doc__ or "")


def test_no_public_name_has_disappeared():
    gone = PUBLIC_0_2 - set(foveate.__all__) - set(foveate.DEPRECATED)
    assert not gone, f"removed without a deprecation: {sorted(gone)}"


@pytest.mark.parametrize("name", sorted(PUBLIC_0_2))
def test_public_names_can_be_imported(name):
    assert getattr(foveate, name) is not None


def test_a_deprecated_name_warns_and_still_works(monkeypatch):
    monkeypatch.setitem(foveate.DEPRECATED, "mean_over_seeds", "summarise")
    with pytest.warns(DeprecationWarning, match="use foveate.summarise"):
        assert foveate.mean_over_seeds is foveate.summarise
