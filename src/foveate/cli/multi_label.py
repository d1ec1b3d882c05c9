"""What the commands predict and explain do with multi-label bags."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.errors import FoveateError
from foveate.jobs.job import job_class
from foveate.records.runs import open_run
from foveate.report.progress import progress_of

if TYPE_CHECKING:
    from foveate.io.collection import Collection
    from foveate.trust.segment_maps import MapKind
    from foveate.userdata.fitted import FittedModel

__all__ = ["is_multi_label", "write_labels_predictions", "write_labels_segments"]


def is_multi_label(path: Path) -> bool:
    """Whether a run directory, or the name of one, is of multi-label bags."""
    return job_class(open_run(path)).per_label


def write_labels_predictions(run: Path, data: Path, out: Path, output: dict[str, Any]) -> None:
    """Predict all labels of new bags and write a table.

    Args:
        run: A multi-label run.
        data: New bags.
        out: The table.
        output: Flags that name columns.
    """
    from foveate.userdata.multi_label import labels_table, read_labels
    from foveate.userdata.predict import write_table

    with progress_of(quiet=True) as report:
        models, collection = _loaded(run, data, output, report)
        answers = read_labels(models, collection, report)
    write_table(out, labels_table(models, collection, answers))
    print(f"{len(collection)} bags, {len(models)} labels: {out}")


def write_labels_segments(
    run: Path, data: Path, out: Path, output: dict[str, Any], kind: "MapKind"
) -> None:
    """Write the evidence of every segment of new bags for all labels.

    Args:
        run: A multi-label run.
        data: New bags.
        out: The table.
        output: Flags that name columns.
        kind: Which map is the evidence.
    """
    from foveate.userdata.multi_label import labels_segments_table, read_labels
    from foveate.userdata.predict import write_table

    with progress_of(quiet=True) as report:
        models, collection = _loaded(run, data, output, report)
        answers = read_labels(models, collection, report, with_evidence=True)
    write_table(out, labels_segments_table(models, collection, answers, kind))
    print(f"{len(collection)} bags, {len(models)} labels, {kind}: {out}")


def _loaded(
    run: Path, data: Path, output: dict[str, Any], report: Any
) -> "tuple[dict[str, FittedModel], Collection]":
    """The models of all labels, and new bags; their labels are not read."""
    from foveate.io.check import require_sound
    from foveate.userdata.multi_label import load_labels
    from foveate.userdata.source import Origin

    opened, models = load_labels(run)
    preparation = next(iter(models.values())).preparation
    columns = (opened.manifest["data"]["origin"] or {"columns": {}})["columns"]
    features = [name.partition("[")[0] for name in preparation.columns]
    new = Origin(data, {**columns, **output})
    collection = new.read(labelled=False, report=report, features=features)
    if not len(collection):
        raise FoveateError(f"{data} has no bags")
    require_sound(collection, learning=False)
    return models, collection
