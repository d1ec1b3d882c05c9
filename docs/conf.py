"""Configuration of the documentation site: ``make docs`` builds it without network access."""

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import foveate
from sphinx.application import Sphinx

HERE = Path(__file__).parent
MATHJAX = "mathjax@3.2.2"

project = "foveate"
author = "The foveate authors"
copyright = "The foveate authors"
version = release = foveate.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
exclude_patterns = ["_build", "_vendor"]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
nitpicky = False

myst_enable_extensions = ["dollarmath", "amsmath", "attrs_inline"]
myst_heading_anchors = 3
nb_execution_mode = "cache"  # the code of a tutorial runs when it has changed
nb_execution_cache_path = str(HERE / "_build" / "executed")
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_show_tb = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False

html_theme = "pydata_sphinx_theme"
html_title = "foveate"
html_show_sourcelink = False
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
}
suppress_warnings = ["misc.highlighting_failure"]  # CSV and JSON lines have no lexer


def copy_mathjax(target: Path) -> bool:
    """Copy the single-file MathJax of the npm package, cached in ``_vendor``; False without npm."""
    cached = HERE / "_vendor" / "tex-svg.js"
    if not cached.exists():
        npm = shutil.which("npm")
        if npm is None:
            return False
        cached.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([npm, "pack", MATHJAX], cwd=folder, capture_output=True)
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


def escape_stars(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Escape the star of shapes such as (n, m, *), which reStructuredText reads as emphasis."""
    lines[:] = [line.replace(", *)", ", \\*)").replace("(*, ", "(\\*, ") for line in lines]


def setup(app: Sphinx) -> None:
    """Connect the hook of docstrings."""
    app.connect("autodoc-process-docstring", escape_stars)


# Without npm equations are shown as TeX; nothing is ever loaded from a CDN.
html_static_path = ["_build/mathjax"] if copy_mathjax(HERE / "_build" / "mathjax") else []
mathjax_path = "tex-svg.js"
