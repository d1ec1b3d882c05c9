"""``foveate explain`` for a text classifier of the transformers library."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.cli.app import this_command
from foveate.report.progress import progress_of

if TYPE_CHECKING:
    from foveate.trust.segment_maps import MapKind

__all__ = ["explain_texts"]


def explain_texts(
    folder: Path,
    data: Path,
    out: Path,
    page: Path | None,
    shown: int,
    kind: "MapKind",
    columns: dict[str, Any],
) -> None:
    """Write attention and signed evidence of every word, and a page.

    Args:
        folder: The classifier, as ``save_pretrained`` wrote it.
        data: Texts, with labels or without.
        out: The table.
        page: The page; none unless given.
        shown: How many texts are on the page.
        kind: What ranks the words.
        columns: What the columns of the texts are.
    """
    from foveate.io import read_bags
    from foveate.report.pages.explain import write_explain_page
    from foveate.userdata.gallery import gallery_bags
    from foveate.userdata.predict import Answer, segments_table, write_table
    from foveate.userdata.text_classifier import load_text_classifier, texts_of

    collection = read_bags(data, **columns)
    texts = texts_of(collection)
    model = load_text_classifier(folder, collection)
    with progress_of(quiet=True) as report:
        explained = model.explain(texts, partial(report, "explaining"))
    answers = Answer(collection.bag, explained, explained.p)
    write_table(out, segments_table(model, collection, answers, kind=kind))
    print(f"{len(texts)} texts, {model.name}, ranked by {kind}: {out}")
    if page is None:
        return
    rows = range(min(shown, len(texts)))
    write_explain_page(
        page,
        gallery_bags(model, collection, collection.bag, explained, rows, kind),
        model.classes,
        paradigm=model.name,
        total=len(texts),
        source=data.name,
        command=this_command(),
        examined_by=f"foveate trust --model {folder} --data {data}",
    )
    print(f"page: {page}")
