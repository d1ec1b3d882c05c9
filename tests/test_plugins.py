"""Plug-ins of other packages, registered through entry points."""

import subprocess
import sys

import pytest

from foveate.errors import FoveateError
from foveate.registry import PluginWarning, Registry

PARADIGM = '''
from foveate.attention.paradigms import PARADIGMS, Soft

class Mine(Soft):
    """A paradigm of another package."""
    label = "My paradigm"
    colour = "#123456"
'''
DATASET = """
from dataclasses import replace
from foveate.data import DATASETS

def make():
    digits = DATASETS.get("digits")()
    return replace(digits, name="mine", about="Bags of another package.")
"""
STUDY = """
from foveate.jobs.experiment import Experiment

class Study(Experiment):
    about = "A study of another package."
    def parts(self, settings):
        return {}
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package of one module with entry points, on sys.path for one test."""
    before = set(sys.modules)

    def install(package, source, **groups):
        (tmp_path / f"{package}.py").write_text(source)
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"[foveate.{group}]\n{entry}\n" for group, entry in groups.items()]
        (info / "entry_points.txt").write_text("\n".join(lines))
        return tmp_path

    monkeypatch.syspath_prepend(tmp_path)
    yield install
    for name in set(sys.modules) - before:
        if (tmp_path / f"{name}.py").exists():
            del sys.modules[name]


def shapes(**options):
    registry = Registry("shape", group="foveate.shapes", **options)
    registry.register("square")("square itself")
    return registry


def test_an_object_is_registered_under_the_name_of_its_entry_point(install):
    install("roundthings", "oval = 'oval itself'", shapes="ellipse = roundthings:oval")
    registry = shapes()
    assert registry.names() == ["square", "ellipse"]
    assert registry.get("ellipse") == "oval itself"


def test_a_module_may_register_objects_itself(install):
    source = "from shapes_of_test import SHAPES\nSHAPES.register('arc')('arc itself')"
    folder = install("arcs", source, shapes="any = arcs")
    (folder / "shapes_of_test.py").write_text(
        "from foveate.registry import Registry\nSHAPES = Registry('shape', group='foveate.shapes')"
    )
    from shapes_of_test import SHAPES

    assert SHAPES.names() == ["arc"]


@pytest.mark.parametrize(
    ("source", "entry", "cause"),
    [
        ("1 / 0", "ellipse = broken:oval", "division by zero"),
        ("", "ellipse = broken:oval", "no attribute 'oval'"),
        ("", "ellipse = nothere:oval", "No module named 'nothere'"),
        ("oval = 1", "square = broken:oval", "shape 'square' is registered twice"),
        ("oval = 'no'", "ellipse = broken:oval", "shapes must not be 'no'"),
    ],
)
def test_a_broken_plugin_is_reported_and_left_out(install, source, entry, cause):
    def check(item):
        if item == "no":
            raise FoveateError("shapes must not be 'no'")

    install("broken", source, shapes=entry)
    install("whole", "line = 'line itself'", shapes="line = whole:line")
    registry = shapes(check=check)
    with pytest.warns(PluginWarning, match="of package 'broken' could not be loaded") as caught:
        names = registry.names()
    assert names == ["square", "line"]
    assert cause in str(caught[0].message)
    assert len(caught) == 1
    assert registry.names() == names  # reported once


def test_a_package_adds_a_paradigm_a_data_set_and_a_study(install):
    folder = install(
        "mypackage",
        PARADIGM + DATASET + STUDY,
        paradigms="mine = mypackage:Mine",
        datasets="mine = mypackage:make",
        studies="mine = mypackage:Study",
    )
    install("broken", "1 / 0", paradigms="odd = broken:Odd")
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r})\n"
        "from foveate.charts.palette import label\n"
        "from foveate.cli.app import main\n"
        "for kind in ('paradigms', 'datasets', 'experiments'): main(['list', kind])\n"
        "print(label('mine'))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    listed = [line.split(maxsplit=1)[1] for line in answer.stdout.splitlines() if "mine " in line]
    assert listed == [
        "A paradigm of another package.",
        "Bags of another package.",
        "A study of another package.",
    ]
    assert answer.stdout.splitlines()[-1] == "My paradigm"
    problems = answer.stderr.splitlines()
    assert problems == [
        "foveate: paradigm 'odd' of package 'broken' could not be loaded and is left out: "
        "division by zero"
    ]
