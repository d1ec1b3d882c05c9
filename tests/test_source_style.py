"""Rules of the source text: length of functions and lines, annotations, standard terms."""

import ast
import re
from pathlib import Path

import pytest

from .source_tree import INSIDE, MODULES, ROOT, TREES

MAX_COLUMNS = 110  # of a line of JavaScript or CSS
MAX_LINES = 50  # of a function's body, without its docstring


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
    inputs = function.args
    arguments = [*inputs.posonlyargs, *inputs.args, *inputs.kwonlyargs, inputs.vararg, inputs.kwarg]
    names = [a.arg for a in arguments if a is not None and a.annotation is None]
    return [n for n in names if n not in ("self", "cls")] + ["return"] * (function.returns is None)


def test_arguments_and_results_are_annotated():
    missing = {f"{m}.{f.name}": unannotated(f) for m in MODULES for f in functions(m)}
    assert {name: names for name, names in missing.items() if names} == {}


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
NAMES |= {"desk", "film", "pile", "foresight", "speaker", "judged", "everyone", "paints", "audible"}
NAMES |= {"fore", "thing", "things", "stuff", "took", "somebody", "everybody", "found", "there"}
NAMES |= {"look", "judge", "meant", "each", "given", "these", "those", "alive", "stays"}


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
