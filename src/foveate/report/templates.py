"""Templates: autoescaped, strict, with the one style sheet inlined."""

from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["rendered"]

HERE = Path(__file__).parent


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
