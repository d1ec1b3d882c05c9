"""Rendering of Jinja templates with the style sheet inlined."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

from foveate.records.record import write_atomically

__all__ = ["page_writer", "render_page"]

TEMPLATES = Path(__file__).parent / "templates"
Params = ParamSpec("Params")


@cache
def _environment() -> Any:
    """The jinja2 environment of all pages."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_page(template: str, **values: Any) -> str:
    """Render a template to HTML; ``style`` holds the style sheet."""
    from markupsafe import Markup

    style = Markup((TEMPLATES / "style.css").read_text("utf-8"))
    page: str = _environment().get_template(template).render(style=style, **values)
    return page


def page_writer(page: Callable[Params, str]) -> Callable[Concatenate[Path, Params], Path]:
    """Make a function that writes a page to a path atomically.

    Args:
        page: Returns the page as text; the writer takes a path and the same arguments.

    Example:
        >>> from tempfile import mkdtemp
        >>> write_sum = page_writer(lambda a, b: f"<p>{a + b}</p>")
        >>> write_sum(Path(mkdtemp()) / "sum.html", 2, 3).read_text()
        '<p>5</p>'
    """

    def write(path: Path, /, *args: Params.args, **kwargs: Params.kwargs) -> Path:
        write_atomically(path, page(*args, **kwargs).encode())
        return path

    write.__doc__ = f"Write :func:`{page.__name__}` to a path atomically."
    return write
