"""Rules of the source tree: import order, cycles, names, sizes, annotations, cost of an import."""

import ast
import doctest
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

import foveate

ROOT = Path(foveate.__file__).parent

# A package may import packages in the same line or in a line above, none below.
LADDER = [
    {"errors", "registry", "randomness", "devices", "papers", "settings", "types"},
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

FILES = {
    ".".join(("foveate", *path.relative_to(ROOT).with_suffix("").parts)): path
    for path in sorted(ROOT.rglob("*.py"))
}
MODULES = {name.removesuffix(".__init__"): path for name, path in FILES.items()}
INSIDE = {name: path for name, path in MODULES.items() if name != "foveate"}
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}

MAX_COLUMNS = 110  # of a line of JavaScript or CSS
MAX_LINES = 50  # of a function's body, without its docstring


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def nodes(tree: ast.AST, *, functions: bool = True, types: bool = True) -> Iterator[ast.AST]:
    """All nodes of a tree, optionally without function bodies and TYPE_CHECKING blocks."""
    for child in ast.iter_child_nodes(tree):
        if not types and is_type_checking(child):
            continue
        yield child
        if functions or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from nodes(child, functions=functions, types=types)


def imported(tree: ast.AST, *, functions: bool = True, types: bool = True) -> set[str]:
    """Names of all imported modules."""
    names = set()
    for node in nodes(tree, functions=functions, types=types):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names} & MODULES.keys()
    return names


def package(module: str) -> str:
    """The module or package directly below foveate."""
    return module.split(".")[1]


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


def functions(module: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = TREES[module]
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function's body without its docstring."""
    body = function.body[ast.get_docstring(function) is not None :]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_functions_are_short():
    lengths = {f"{m}.{f.name}": body_lines(f) for m in MODULES for f in functions(m)}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_body_lines_exclude_the_docstring():
    (function,) = ast.parse('def f():\n    """A\n\n    B."""\n    a = 1\n    return a\n').body
    assert body_lines(function) == 2


def test_lines_of_scripts_and_style_sheets_are_short():
    files = [path for kind in ("*.js", "*.css") for path in sorted(ROOT.rglob(kind))]
    assert files
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if len(line) > MAX_COLUMNS
    ]
    assert long == []


def unannotated(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Arguments without annotation, and "return" if the result has none."""
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    names = [a.arg for a in arguments if a is not None and a.annotation is None]
    return [n for n in names if n not in ("self", "cls")] + ["return"] * (function.returns is None)


def test_arguments_and_results_are_annotated():
    missing = {f"{m}.{f.name}": unannotated(f) for m in MODULES for f in functions(m)}
    assert {name: names for name, names in missing.items() if names} == {}


NO_TORCH = ("metrics", "charts", "report")
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


@pytest.mark.parametrize("module", [name for name in INSIDE if package(name) != "bags"])
def test_only_bags_distinguishes_the_forms_of_segments(module):
    calls = [
        node
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
    ]
    assert not [call for call in calls if "Mosaics" in ast.unparse(call.args[1])]


# Wording of early versions, and the standard term to use instead.
PHRASES = {
    "way back": "backward pass",
    "ran away": "diverged",
    "runs away": "diverges",
    "fell silent": "dead focus network, constant attention scores",
    "own word": "without calibration",
    "not more to express": "the effect in plain terms",
    "foretell": "predict",
    "foretold": "predicted",
    "the fate of": "the outcome of",
    "in silence": "without a warning",
    "blow up": "diverge",
}
NAMES = {"told", "said", "heard", "sight", "glance", "foresee", "astray", "lesson", "exam", "tap"}
NAMES |= {"desk", "film", "pile", "foresight", "speaker"}


def prose_files() -> list[Path]:
    root = ROOT.parents[1]
    kinds = [("src", "*.py"), ("src", "*.js"), ("src", "*.html"), ("docs", "*.md")]
    kinds += [("tools", "*.py"), ("benchmarks", "*.py")]
    files = [path for folder, kind in kinds for path in sorted((root / folder).rglob(kind))]
    stored = ("bundled", "papers")  # results of earlier versions, quoted as they were written
    return [path for path in files if not {*path.relative_to(root).parts} & {*stored}]


@pytest.mark.parametrize("phrase", PHRASES)
def test_prose_uses_standard_terms(phrase):
    words = re.compile(r"\b" + r"\s+".join(phrase.split()) + r"(s|ed)?\b", re.IGNORECASE)
    files = [str(path) for path in prose_files() if words.search(path.read_text("utf-8"))]
    assert not files, f"write '{PHRASES[phrase]}' instead of '{phrase}'"


def defined_names(tree: ast.AST) -> set[str]:
    """Names of functions, classes, arguments and variables."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
    return names


@pytest.mark.parametrize("module", INSIDE)
def test_names_are_standard_terms(module):
    banned = {name.strip("_").lower() for name in defined_names(TREES[module])} & NAMES
    assert not banned, f"{module} defines {', '.join(sorted(banned))}: name the content"


def test_defined_names_are_detected():
    tree = ast.parse("class A:\n    def f(self, said):\n        self.told, x = 1, said\n")
    assert defined_names(tree) == {"A", "f", "self", "said", "told", "x"}
