"""Configuration of the documentation site: ``make docs`` builds it without network access."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

import foveate
from foveate.registry import Registry

HERE = Path(__file__).parent
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ |= {"COLUMNS": "108", "OMP_NUM_THREADS": "1"}  # of cells that run commands
MATHJAX = "mathjax@3.2.2"

project = "foveate"
author = "The foveate authors"
copyright = "The foveate authors"
version = release = foveate.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
exclude_patterns = ["_build", "_ipython", "_vendor"]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
nitpicky = False

myst_enable_extensions = ["dollarmath", "amsmath", "attrs_inline"]
myst_heading_anchors = 3
# The code of a page runs when it has changed; "off" builds the pages without outputs.
nb_execution_mode = os.environ.get("FOVEATE_DOCS_EXECUTION", "cache")
nb_execution_in_temp = True
nb_merge_streams = True
nb_output_stderr = "remove"  # progress
nb_execution_cache_path = str(HERE / "_build" / "executed")
nb_execution_timeout = 600  # of a cell; on an idle machine every page takes less than two minutes
nb_execution_raise_on_error = True
nb_execution_show_tb = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False

WIDE = ["gallery", "gallery-claims", "numbers", "proofs", "results", "which-paradigm"]
WIDE += [f"tutorials/{path.stem}" for path in (HERE / "tutorials").glob("*.md")]

html_theme = "pydata_sphinx_theme"
html_title = "foveate"
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {"**": ["page-toc"]} | {page: [] for page in WIDE},
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
}
suppress_warnings = [
    "misc.highlighting_failure",  # CSV and JSON lines have no lexer
    "myst-nb.lexer",  # cells that were not executed have no language
]


def copy_mathjax(target: Path) -> bool:
    """Copy the single-file MathJax of the npm package, cached in ``_vendor``; False without npm."""
    cached = HERE / "_vendor" / "tex-svg.js"
    if not cached.exists():
        npm = shutil.which("npm")
        if npm is None:
            return False
        cached.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            command = [npm, "pack", MATHJAX]
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
            archives = list(Path(folder).glob("*.tgz"))
            if done.returncode or not archives:
                return False
            with tarfile.open(archives[0]) as archive:
                source = archive.extractfile("package/es5/tex-svg.js")
                assert source is not None
                cached.write_bytes(source.read())
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(cached, target / "tex-svg.js")
    return True


def prepare_kernels() -> None:
    """Let the kernels that run the pages start with the files in ``_ipython``."""
    folder = HERE / "_build" / "ipython"
    startup = folder / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    for path in (HERE / "_ipython").glob("*.py"):
        shutil.copy(path, startup)
    os.environ["IPYTHONDIR"] = str(folder)


def escape_stars(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Escape the star of shapes such as (n, m, *), which reStructuredText reads as emphasis."""
    lines[:] = [line.replace(", *)", ", \\*)").replace("(*, ", "(\\*, ") for line in lines]


def describe_registries(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Describe what a registry holds in place of what a registry is."""
    if isinstance(obj, Registry):
        variable, first = name.rpartition(".")[2], obj.names()[:3]
        lines[:] = [
            f"Every {obj.kind} by name, a :class:`foveate.registry.Registry`: ``get(name)`` gives "
            "one, ``names()`` lists them, the decorator ``register(name)`` adds one.",
            "",
            ".. rubric:: Example",
            "",
            f">>> from foveate import {variable}",
            f">>> {variable}.names()[:3]",
            repr(list(first)),
            "",
        ]


def describe_settings(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """List the fields of settings as parameters, above the example."""
    if isinstance(obj, type) and issubclass(obj, BaseModel):
        documented = ModuleAnalyzer.for_module(obj.__module__).find_attr_docs()
        fields = [
            f":param {key}: {' '.join(documented[obj.__name__, key])}" for key in obj.model_fields
        ]
        example = next((k for k, line in enumerate(lines) if "Example" in line), len(lines))
        lines[example:example] = [*fields, ""]


def plain_settings(
    app: object, what: str, name: str, obj: object, options: object, signature: str, returns: str
) -> tuple[str, str] | None:
    """Leave the validators out of the signatures of settings."""
    if isinstance(obj, type) and issubclass(obj, BaseModel):
        fields = obj.model_fields.items()
        given = [f"{key}={f.get_default(call_default_factory=True)!r}" for key, f in fields]
        return f"(*, {', '.join(given)})", ""
    return None


def setup(app: Sphinx) -> None:
    """Connect the hooks of docstrings and signatures."""
    app.connect("autodoc-process-docstring", describe_registries)
    app.connect("autodoc-process-docstring", describe_settings)
    app.connect("autodoc-process-docstring", escape_stars)
    app.connect("autodoc-process-signature", plain_settings)


prepare_kernels()
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Without npm equations are shown as TeX; nothing is ever loaded from a CDN.
if copy_mathjax(HERE / "_build" / "mathjax"):
    html_static_path.append("_build/mathjax")
mathjax_path = "tex-svg.js"
