"""The page of ``foveate explain``: bags with attention and evidence of a fitted model."""

from collections.abc import Sequence
from typing import Any

from foveate.charts.palette import AGAINST, FOR, label
from foveate.errors import FoveateError
from foveate.report.drawing.bag_panels import bag_view
from foveate.report.first_screen import bag_examples, confidence_examples
from foveate.report.next_steps import explain_steps
from foveate.report.rendering import page_writer, render_page
from foveate.report.sentences import count_of
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
    examined_by: str = "foveate trust RUN",
    note: str = "",
) -> str:
    """Bags with attention and signed evidence per class.

    Args:
        bags: The bags to draw, at least one.
        classes: Names of the classes.
        paradigm: The paradigm of the model.
        total: Number of bags that were predicted.
        source: Name of their file.
        columns: Names of a segment's features.
        command: The command that repeats it.
        examined_by: The command that examines the attention.
        note: A further sentence on what the map shows.
    """
    if not bags:
        raise FoveateError("the page of explanations needs at least one bag")
    views = [
        bag_view(bag, classes, columns, f"bag-{k}") | {"number": k} for k, bag in enumerate(bags)
    ]
    labelled = any(view["correct"] is not None for view in views)
    return render_page(
        "explain.html",
        title=f"Attention and evidence in {source}",
        lead=f"{_lead(views, total, paradigm)} {note}".strip(),
        examples=bag_examples(views) if labelled else confidence_examples(views),
        groups=_groups(views, classes),
        labelled=labelled,
        steps=explain_steps(labelled, examined_by),
        kind="features" if "ranked" in views[0] else bags[0].kind,
        classes=list(classes),
        relevant=any(bag.z is not None for bag in bags),
        map=bags[0].map,
        command=command,
        for_=FOR,
        against=AGAINST,
    )


def _lead(views: Sequence[Any], total: int, paradigm: str) -> str:
    """How many bags there are and how confident the model is."""
    drawn = f"The first {len(views)} of {total} bags" if len(views) < total else f"{total} bags"
    sure = sum(view["probabilities"][0][1] >= 0.9 for view in views)
    return (
        f"{drawn}, predicted by the {label(paradigm)} model: for {sure} of "
        f"{len(views)} the predicted class has a probability of at least 0.9."
    )


def _groups(views: Sequence[Any], classes: Sequence[str]) -> list[dict[str, Any]]:
    """The bags by predicted class, most confident first."""
    groups = []
    for name in classes:
        bags = [view for view in views if view["prediction"] == name]
        if not bags:
            continue
        bags.sort(key=lambda view: -view["probabilities"][0][1])
        known = [view["correct"] for view in bags if view["correct"] is not None]
        groups.append(
            {
                "name": name,
                "bags": bags,
                "mean": sum(view["probabilities"][0][1] for view in bags) / len(bags),
                "correct": count_of(sum(known), len(known)),
            }
        )
    return groups


write_explain_page = page_writer(explain_page)
