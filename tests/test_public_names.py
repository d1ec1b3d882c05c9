"""Public names: where they are defined, their examples, and what importing them costs."""

import ast
import doctest
import importlib
import json
import subprocess
import sys

import pytest

import foveate

from .source_tree import INSIDE, TREES, is_type_checking

HEAVY = ("torch", "sklearn", "altair", "pandas", "pyarrow", "scipy.stats")


@pytest.mark.parametrize(
    "code",
    [
        "import foveate",
        "import foveate; dir(foveate); foveate.__version__",
        "import foveate.cli",
        "from foveate.cli import main; main(['--help'])",
        "from foveate.cli import main; main(['runs'])",
        "import foveate; foveate.Record; foveate.Plan; foveate.summarise; foveate.open_run",
    ],
)
def test_heavy_modules_are_imported_on_first_use(code):
    report = (
        f"import json, sys; print('\\n' + json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    )
    process = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    assert json.loads(process.stdout.splitlines()[-1]) == []


@pytest.mark.parametrize("name", foveate.CONTENTS)
def test_public_names_can_be_imported(name):
    value = getattr(foveate, name)
    assert value is getattr(importlib.import_module(foveate.CONTENTS[name]), name)
    assert name in importlib.import_module(foveate.CONTENTS[name]).__all__


# Names of released versions. A name is removed only after a release in which it was deprecated.
PUBLIC = """
    Bag DATASETS FCAM FixedFocus FocusClassifier FoveateError MAPS Mosaics PARADIGMS Plan Race
    Record __version__ fit linear load mlp open_run pad pair plot read resume_race start_race
    summarise
"""


def test_public_names_do_not_disappear():
    assert set(PUBLIC.split()) <= set(foveate.__all__)


def test_all_lists_the_public_names():
    assert set(foveate.__all__) == {*foveate.CONTENTS, "__version__"}
    assert dir(foveate) == sorted(foveate.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'fitt'"):
        _ = foveate.fitt


def test_type_checkers_see_the_same_names():
    (guard,) = [node for node in TREES["foveate"].body if is_type_checking(node)]
    seen = {
        alias.name: node.module
        for node in guard.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == foveate.CONTENTS


@pytest.mark.parametrize("name", foveate.CONTENTS)
def test_public_names_have_a_docstring_with_an_example(name):
    """Pytest runs the examples: ``--doctest-modules`` on ``testpaths``, which contain src."""
    parsed = doctest.DocTestParser().get_examples(getattr(foveate, name).__doc__ or "")
    assert parsed
    assert not [example for example in parsed if example.options.get(doctest.SKIP)]


def test_examples_in_docstrings_are_run(request):
    assert "src" in request.config.getini("testpaths")
    assert "--doctest-modules" in request.config.getini("addopts")


@pytest.mark.parametrize("module", INSIDE)
def test_modules_have_a_docstring_and_all(module):
    loaded = importlib.import_module(module)
    assert loaded.__doc__, f"{module} has no docstring"
    if len(TREES[module].body) == 1:
        return  # a package with a docstring only
    assert loaded.__all__, f"{module} has no __all__"
    assert len(set(loaded.__all__)) == len(loaded.__all__)
    for name in loaded.__all__:
        assert hasattr(loaded, name), f"{module}.{name} does not exist"
