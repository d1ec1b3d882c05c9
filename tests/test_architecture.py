"""Who may import whom, what a module may be called, and what an import may cost."""

import ast
import importlib
import json
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import foveate

ROOT = Path(foveate.__file__).parent

# Each may import what stands on its own line or on a line above, nothing below.
LADDER = [
    {"errors", "registry", "randomness", "papers", "settings", "types"},
    {"bags", "records"},
    {"attention", "metrics", "dynamics", "io", "charts"},
    {"models"},
    {"data"},
    {"text"},
    {"training"},
    {"trust"},
    {"userdata"},
    {"report"},
    {"jobs"},
    {"studies"},
    {"lab"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LADDER) for name in names}

FILES = {
    ".".join(("foveate", *path.relative_to(ROOT).with_suffix("").parts)): path
    for path in sorted(ROOT.rglob("*.py"))
}
MODULES = {name.removesuffix(".__init__"): path for name, path in FILES.items()}
INSIDE = {name: path for name, path in MODULES.items() if name != "foveate"}


def imported(path, *, everywhere=True):
    """Names of all modules a file imports, also inside functions unless told otherwise."""
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if everywhere else tree.body
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            found.add(node.module)
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & MODULES.keys()
    return found


def part(module):
    """The module or package right under foveate."""
    return module.split(".")[1]


@pytest.mark.parametrize("module", INSIDE)
def test_imports_go_one_way(module):
    assert part(module) in LEVEL, f"{module} has no place on the ladder"
    own = [name for name in imported(INSIDE[module]) if name.startswith("foveate.")]
    above = [name for name in own if LEVEL[part(name)] > LEVEL[part(module)]]
    assert not above, f"{module} may not import {', '.join(above)}"


def circle(graph):
    """Modules that import each other in a circle; none where there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_circles():
    graph = {
        name: {other for other in imported(path, everywhere=False) if other in INSIDE}
        for name, path in INSIDE.items()
    }
    assert circle(graph) == []
    assert "foveate.records.record" in graph["foveate.records.runs"]


def test_a_circle_is_seen():
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


def test_the_ladder_names_what_there_is():
    assert {part(module) for module in INSIDE} == LEVEL.keys()


def test_the_design_draws_the_same_ladder():
    text = (ROOT.parents[1] / "docs" / "design.md").read_text()
    drawn = text.partition("a test enforces it:")[2].partition("\n## ")[0].rstrip(" .\n")
    rungs = [{word.strip() for word in rung.split(",")} for rung in drawn.split("→")]
    assert rungs == LADDER


def test_the_walk_sees_imports_wherever_they_stand(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("import os.path\ndef f():\n    from foveate.models import focus\n")
    assert imported(file) == {"os.path", "foveate.models", "foveate.models.focus"}
    assert imported(file, everywhere=False) == {"os.path"}


@pytest.mark.parametrize("name", ["utils", "util", "helpers", "base", "common", "misc", "tools"])
def test_no_drawers_for_odds_and_ends(name):
    assert not [module for module in INSIDE if module.split(".")[-1] == name]


LIGHT = ("metrics", "charts", "report")
HEAVY = ("torch", "sklearn", "altair", "pandas", "pyarrow", "scipy.stats")


@pytest.mark.parametrize(
    "code",
    [
        "import foveate",
        "import foveate; dir(foveate); foveate.__version__",
        "import foveate.cli",
        "from foveate.cli import main; main(['--help'])",
        "import foveate; foveate.Record; foveate.Plan; foveate.summarise; foveate.open_run",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_used(code):
    report = (
        f"import json, sys; print('\\n' + json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    assert json.loads(answer.stdout.splitlines()[-1]) == []


@pytest.mark.parametrize("name", foveate.CONTENTS)
def test_the_table_of_contents_leads_somewhere(name):
    value = getattr(foveate, name)
    assert value is getattr(importlib.import_module(foveate.CONTENTS[name]), name)
    assert name in importlib.import_module(foveate.CONTENTS[name]).__all__


def test_the_table_of_contents_is_what_is_exported():
    assert set(foveate.__all__) == {*foveate.CONTENTS, "__version__"}
    assert dir(foveate) == sorted(foveate.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'fitt'"):
        _ = foveate.fitt


def test_checkers_see_the_same_contents_as_users():
    tree = ast.parse((ROOT / "__init__.py").read_text())
    (guard,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module
        for node in guard.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == foveate.CONTENTS


@pytest.mark.parametrize("module", INSIDE)
def test_modules_say_what_is_theirs(module):
    loaded = importlib.import_module(module)
    assert loaded.__doc__, f"{module} says nothing of itself"
    if len(ast.parse(INSIDE[module].read_text()).body) == 1:
        return  # a package that only says what it is
    assert loaded.__all__, f"{module} has no __all__"
    assert len(set(loaded.__all__)) == len(loaded.__all__)
    for name in loaded.__all__:
        assert hasattr(loaded, name), f"{module}.{name} is not there"


@pytest.mark.parametrize("module", [name for name in INSIDE if part(name) in LIGHT])
def test_what_reads_records_needs_no_torch(module):
    assert not [n for n in imported(INSIDE[module]) if n.split(".")[0] in ("torch", "sklearn")]


@pytest.mark.parametrize("module", [name for name in INSIDE if part(name) == "dynamics"])
def test_flows_need_no_torch(module):
    assert "torch" not in {name.split(".")[0] for name in imported(INSIDE[module])}


@pytest.mark.parametrize("module", [name for name in INSIDE if part(name) == "report"])
def test_a_report_loads_no_bags_and_trains_nothing(module):
    own = {part(name) for name in imported(INSIDE[module]) if name.startswith("foveate.")}
    assert not own & {"bag", "data", "features", "models", "paradigms", "stack", "optim", "probes",
                      "evidence", "lexical", "train", "steps", "engine", "estimator"}  # fmt: skip


@pytest.mark.parametrize("module", [name for name in INSIDE if part(name) == "paradigms"])
def test_a_paradigm_never_sees_a_model(module):
    assert not [name for name in imported(INSIDE[module]) if name.startswith("foveate.models")]
