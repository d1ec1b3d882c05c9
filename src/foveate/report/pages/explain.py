"""The page of ``foveate explain``: bags with what a fitted model looks at and reads there."""

from collections.abc import Sequence

from foveate.charts.palette import AGAINST, FOR, label
from foveate.errors import FoveateError
from foveate.report.drawing.bag_panels import bag_view
from foveate.report.rendering import page_writer, render_page
from foveate.userdata.gallery import GalleryBag

__all__ = ["explain_page", "write_explain_page"]


def explain_page(
    bags: Sequence[GalleryBag],
    classes: Sequence[str],
    *,
    paradigm: str,
    total: int,
    source: str,
    columns: Sequence[str] = (),
    command: str = "",
) -> str:
    """Bags with attention and signed evidence per class.

    Args:
        bags: What to show, one at least.
        classes: Names of the classes.
        paradigm: How the model was trained and is read.
        total: How many bags were read.
        source: Where they come from.
        columns: Names of a segment's numbers.
        command: The command that repeats it.
    """
    if not bags:
        raise FoveateError("a page of bags needs a bag")
    views = [bag_view(bag, classes, columns, f"bag-{k}") for k, bag in enumerate(bags)]
    shown = f"The first {len(bags)} of {total} bags" if len(bags) < total else f"{total} bags"
    return render_page(
        "explain.html",
        title=f"What a fitted model looks at in {source}",
        lead=f"{shown}, read by a model trained with {label(paradigm)} attention: where it looks, "
        "and for which class each segment speaks.",
        bags=views,
        kind="features" if "ranked" in views[0] else bags[0].kind,
        classes=list(classes),
        relevant=any(bag.z is not None for bag in bags),
        command=command,
        for_=FOR,
        against=AGAINST,
    )


write_explain_page = page_writer(explain_page)
