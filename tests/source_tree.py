"""The modules of the source tree as syntax trees, for the tests of its structure."""

import ast
from collections.abc import Iterator
from pathlib import Path

import foveate

ROOT = Path(foveate.__file__).parent

FILES = {
    ".".join(("foveate", *path.relative_to(ROOT).with_suffix("").parts)): path
    for path in sorted(ROOT.rglob("*.py"))
}
MODULES = {name.removesuffix(".__init__"): path for name, path in FILES.items()}
INSIDE = {name: path for name, path in MODULES.items() if name != "foveate"}
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}


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
