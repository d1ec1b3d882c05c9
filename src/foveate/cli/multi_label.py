"""What the commands fit, predict, explain and trust do with multi-label bags."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.errors import FoveateError
from foveate.jobs.run_verdicts import examine_run, main_paradigm
from foveate.records.runs import Run, open_run
from foveate.report.progress import progress_of
from foveate.report.trust_files import DeclaredEvidence

if TYPE_CHECKING:
    from foveate.io.collection import Collection
    from foveate.trust.segment_maps import MapKind
    from foveate.userdata.fitted import FittedModel

__all__ = ["examine_labels", "is_multi_label", "write_labels_predictions", "write_labels_segments"]


def is_multi_label(path: Path) -> bool:
    """Whether a run directory, or the name of one, is of multi-label bags."""
    from foveate.userdata.multi_label import KIND

    return open_run(path).is_a(KIND)


def examine_labels(
    run: Run,
    command: str,
    declared: DeclaredEvidence = DeclaredEvidence(),  # noqa: B008
) -> Run:
    """The verdict on the attention of every label, the other labels explained away.

    Args:
        run: A finished multi-label run.
        command: The command that repeats it.
        declared: What the user declared.

    Returns:
        The run with its verdicts, and with a page that shows them.
    """
    from foveate.report.pages.multi_label import write_labels_page
    from foveate.userdata.multi_label import label_runs

    verdicts = {}
    for name, label_run in label_runs(run).items():
        main = main_paradigm(label_run)
        with progress_of(quiet=True) as report:
            results = examine_run(label_run, declared, command, report, paradigm=main)
        evidence = results.examinations[0]
        has = next(entry for entry in evidence["by_class"] if entry["name"] == "yes")
        verdicts[name] = has["verdict"]["grade"]
    updated = run.update(verdicts=verdicts)
    write_labels_page(updated, run.path / "report.html")
    return updated


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
