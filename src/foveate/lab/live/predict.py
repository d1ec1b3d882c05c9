"""New bags in a worker: read by a fitted model, and compared with its training bags."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.errors import FoveateError
from foveate.lab.advice import without_flags
from foveate.lab.live.fit import limit_memory
from foveate.lab.live.progress import Progress
from foveate.lab.live.worker_channel import WorkerChannel
from foveate.lab.requests import PredictJob

if TYPE_CHECKING:
    from foveate.io.collection import Collection
    from foveate.userdata.fitted import FittedModel

__all__ = ["predict_uploaded_bags", "prediction_rows"]

MAX_ROWS = 5000  # bags whose predictions are sent to the page
READING = "reading"


def predict_uploaded_bags(channel: WorkerChannel, request: dict[str, Any]) -> None:
    """Predict the bags of an uploaded file, and say how they differ from the training bags.

    Args:
        channel: Where commands come from and messages go.
        request: A :class:`~foveate.lab.requests.PredictJob`.
    """
    from foveate.userdata.ensemble import load_fitted
    from foveate.userdata.predict import read_new_bags
    from foveate.userdata.shift import compare, load_summary

    job = PredictJob(**request)
    channel.send("setup", view={"kind": "predict", "classes": []}, seeds=[0], epochs=1)
    progress = Progress(channel, [READING])

    def report(_part: str, done: int, total: int) -> None:
        progress.report(READING, done, total)

    limit_memory()
    fitted = load_fitted(job.folder, job.paradigm)
    try:
        collection = read_new_bags(fitted, Path(job.path), report=report)
    except FoveateError as error:
        raise FoveateError(without_flags(str(error).replace(job.path, job.name))) from None
    summary = load_summary(fitted.run.path)
    shift = summary and compare(summary, collection, fitted.preparation.vocabulary)
    rows = prediction_rows(fitted, collection, shift.unusual if shift else None, report)
    channel.send("result", total=len(collection), rows=rows[:MAX_ROWS],
                 warnings=list(shift.warnings) if shift else [], compared=shift is not None,
                 unusual=sum(bool(words) for words in shift.unusual) if shift else 0)  # fmt: skip


def prediction_rows(
    fitted: "FittedModel", collection: "Collection", unusual: Any, report: Any = None
) -> list[dict[str, Any]]:
    """The table of predictions of ``foveate predict`` as a dictionary for each bag.

    Args:
        fitted: The models.
        collection: New bags.
        unusual: What is unusual in each bag, or None.
        report: Called as ``report("reading", done, total)``.
    """
    from foveate.userdata.predict import answer, bags_table

    answers = answer(fitted, collection, report, with_evidence=False)
    rows: list[dict[str, Any]] = bags_table(fitted, collection, answers, unusual).to_pylist()
    return rows
