"""Templates: autoescaped, strict, with the one style sheet inlined."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

from foveate.records.record import write_atomically

__all__ = ["rendered", "to_file"]

HERE = Path(__file__).parent / "templates"
Given = ParamSpec("Given")


@cache
def _environment() -> Any:
    """The jinja2 environment of all pages."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def rendered(template: str, **values: Any) -> str:
    """A page as text; ``style`` is the style sheet."""
    from markupsafe import Markup

    style = Markup((HERE / "style.css").read_text("utf-8"))
    page: str = _environment().get_template(template).render(style=style, **values)
    return page


def to_file(page: Callable[Given, str]) -> Callable[Concatenate[Path, Given], Path]:
    """The function that writes a page to a path, whole or not at all; the page needs no network.

    Args:
        page: Gives the page as text; what it is given stands behind the path.

    Example:
        >>> from tempfile import mkdtemp
        >>> write_sum = to_file(lambda a, b: f"<p>{a + b}</p>")
        >>> write_sum(Path(mkdtemp()) / "sum.html", 2, 3).read_text()
        '<p>5</p>'
    """

    def write(path: Path, /, *args: Given.args, **given: Given.kwargs) -> Path:
        content = page(*args, **given).encode()
        write_atomically(path, lambda file: file.write(content))
        return path

    write.__doc__ = f"Write :func:`{page.__name__}` to a path, whole or not at all."
    return write
