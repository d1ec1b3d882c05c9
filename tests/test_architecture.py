"""Rules of the package structure: import order, cycles, what each package may depend on."""

import ast
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import pytest

from .source_tree import INSIDE, MODULES, ROOT, TREES, imported, package

# A package may import packages in the same line or in a line above, none below.
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
    {"cli", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(LADDER) for name in names}

NO_TORCH = ("metrics", "charts", "report")


@pytest.mark.parametrize("module", INSIDE)
def test_imports_follow_the_ladder(module):
    assert package(module) in LEVEL, f"{module} is not in LADDER"
    names = [name for name in imported(TREES[module]) if name.startswith("foveate.")]
    above = [name for name in names if LEVEL[package(name)] > LEVEL[package(module)]]
    assert not above, f"{module} may not import {', '.join(above)}"


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """The nodes of one cycle; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_import_cycles_between_modules():
    graph = {
        name: imported(TREES[name], functions=False, types=False) & INSIDE.keys() - {name}
        for name in INSIDE
    }
    assert cycle(graph) == []
    assert "foveate.records.record" in graph["foveate.records.runs"]


def siblings(edges: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Edges between modules, lifted to the packages in which their paths first differ."""
    graph: dict[str, set[str]] = {}
    for a, b in edges:
        parts = list(zip(a.split("."), b.split("."), strict=False))
        index = next((i for i, (x, y) in enumerate(parts) if x != y), None)
        if index is not None:
            first, second = (".".join(name.split(".")[: index + 1]) for name in (a, b))
            graph.setdefault(first, set()).add(second)
    return graph


def is_package(name: str) -> bool:
    return MODULES[name].name == "__init__.py"


def package_graph() -> dict[str, set[str]]:
    """Which package imports which sibling, function bodies included."""
    graph = siblings(
        (name, other)
        for name in INSIDE
        for other in imported(TREES[name], types=False) & INSIDE.keys()
    )
    return {
        name: {other for other in others if is_package(name) or is_package(other)}
        for name, others in graph.items()
    }


def test_no_import_cycles_between_packages():
    graph = package_graph()
    assert cycle(graph) == []
    assert "foveate.records" in graph["foveate.training"]


def test_cycles_are_detected():
    assert set(cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}
    graph = siblings([("f.a.x", "f.b"), ("f.b.y", "f.a"), ("f.a.x", "f.a.z")])
    assert graph == {"f.a": {"f.b"}, "f.b": {"f.a"}, "f.a.x": {"f.a.z"}}
    assert set(cycle(graph)) == {"f.a", "f.b"}


def test_imports_in_functions_and_type_blocks_are_detected():
    tree = ast.parse(
        "import os.path\n"
        "def f():\n    from foveate.models import focus\n"
        "if TYPE_CHECKING:\n    import torch\n"
    )
    assert imported(tree) == {"os.path", "foveate.models", "foveate.models.focus", "torch"}
    assert imported(tree, functions=False, types=False) == {"os.path"}


def test_ladder_names_all_packages():
    assert {package(module) for module in INSIDE} == LEVEL.keys()


def test_design_page_draws_the_ladder():
    text = (ROOT.parents[1] / "docs" / "design.md").read_text()
    drawn = text.partition("a test enforces it:")[2].strip().partition("\n\n")[0].rstrip(".")
    rungs = [{word.strip() for word in rung.split(",")} for rung in drawn.split("→")]
    assert rungs == LADDER


@pytest.mark.parametrize("name", ["utils", "util", "helpers", "base", "common", "misc", "tools"])
def test_no_modules_without_a_subject(name):
    assert not [module for module in INSIDE if module.split(".")[-1] == name]


def modules_in(*packages: str) -> list[str]:
    return [name for name in INSIDE if package(name) in packages]


@pytest.mark.parametrize("module", modules_in(*NO_TORCH))
def test_metrics_charts_and_report_need_no_torch(module):
    assert not {name.split(".")[0] for name in imported(TREES[module])} & {"torch", "sklearn"}


@pytest.mark.parametrize("module", modules_in("dynamics"))
def test_dynamics_needs_no_torch(module):
    assert "torch" not in {name.split(".")[0] for name in imported(TREES[module])}


@pytest.mark.parametrize("module", modules_in("report"))
def test_report_loads_no_bags_and_trains_nothing(module):
    names = {package(name) for name in imported(TREES[module]) if name.startswith("foveate.")}
    assert not names & {"bags", "attention", "data", "models", "training"}


@pytest.mark.parametrize("module", modules_in("attention"))
def test_paradigms_do_not_import_models(module):
    assert not [n for n in imported(TREES[module]) if n.startswith("foveate.models")]


def test_rungs_are_disjoint():
    assert all(not a & b for a, b in pairwise(LADDER))
    assert len(LEVEL) == sum(map(len, LADDER))


@pytest.mark.parametrize("module", [name for name in INSIDE if package(name) != "studies"])
def test_no_study_is_imported_by_name_outside_studies(module):
    folders = {path.parent.name for path in (ROOT / "studies").glob("*/__init__.py")}
    named = [
        name
        for name in imported(TREES[module])
        if name.startswith("foveate.studies.") and name.split(".")[2] in folders
    ]
    assert not named


def reads_kind(tree: ast.AST) -> bool:
    """Whether code asks for the kind of a run, by its manifest or by ``Run.is_a``."""
    return any(
        (isinstance(node, ast.Subscript) and ast.unparse(node).endswith("manifest['kind']"))
        or (isinstance(node, ast.Attribute) and node.attr == "is_a")
        for node in ast.walk(tree)
    )


def test_only_the_job_contract_looks_up_the_kind_of_a_run():
    """Everything else calls methods of the job; tables name the kind, the lab asks for a fit."""
    assert {module for module in INSIDE if reads_kind(TREES[module])} == {
        "foveate.cli.tables",
        "foveate.jobs.job",
        "foveate.lab.server.fits",
        "foveate.lab.server.runs",
        "foveate.records.runs",
    }


def test_readers_of_the_kind_are_detected():
    assert reads_kind(ast.parse("run.manifest['kind'] == 'fit'"))
    assert reads_kind(ast.parse("if run.is_a('fit'): pass"))
    assert not reads_kind(ast.parse("job.kind"))


@pytest.mark.parametrize("module", [name for name in INSIDE if package(name) != "bags"])
def test_only_bags_distinguishes_the_forms_of_segments(module):
    calls = [
        node
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
    ]
    assert not [call for call in calls if "Mosaics" in ast.unparse(call.args[1])]
