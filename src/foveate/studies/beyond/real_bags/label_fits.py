"""A set of multi-label bags: every label against the others, on folds that all labels share."""

from pathlib import Path

import numpy as np

from foveate.io.collection import Collection
from foveate.jobs.lifecycle import resume_job, start_job
from foveate.jobs.multi_label import MultiLabelJob
from foveate.records.record import load_arrays
from foveate.records.runs import Run, open_run
from foveate.studies.beyond.real_bags.scoring import score_values
from foveate.types import Array, StepProgress
from foveate.userdata.cross_fit import OUT_OF_FOLD
from foveate.userdata.multi_label import LabelScores, label_runs, overall_scores
from foveate.userdata.settings import FitSettings
from foveate.userdata.thresholds import cross_decide

__all__ = ["fit_labels", "label_values"]


def fit_labels(
    collection: Collection, settings: FitSettings, folder: Path, progress: StepProgress
) -> Run:
    """The multi-label fit in a folder: started, continued, or finished already."""

    def report(part: str, done: int, total: int) -> None:
        number = int(part.removeprefix("label")) - 1
        progress(number * total + done, len(collection.label_names) * total)

    if not (folder / "manifest.json").exists():
        return start_job(MultiLabelJob(settings, collection), out=folder, report=report)
    run = open_run(folder)
    if run.done:
        return run
    return resume_job(run, report, job=MultiLabelJob(settings, collection, run=run))


def label_values(run: Run) -> dict[str, Array]:
    """Of every model: AUC, accuracy and log loss, mean over labels; decisions about all labels.

    Decisions of a fold are at the thresholds that maximise F1 on the other folds.

    Args:
        run: A finished multi-label run.
    """
    scored: dict[str, list[Array]] = {}
    decided: dict[str, list[tuple[Array, Array]]] = {}
    for label_run in label_runs(run).values():
        arrays = load_arrays(label_run.path / OUT_OF_FOLD)
        y, fold = arrays["y"], arrays["fold"][0]
        for key, p in arrays.items():
            name = key.removeprefix("p/")
            if name == key:
                continue
            for entry, value in score_values(name, p, y):
                scored.setdefault(entry, []).append(value)
            called = cross_decide(p[:, 1], y, fold, "f1")
            decided.setdefault(name, []).append((y == 1, called))
    values = {entry: np.asarray(np.mean(numbers)) for entry, numbers in scored.items()}
    for name, pairs in decided.items():
        has, called = (np.stack(columns, 1) for columns in zip(*pairs, strict=True))
        overall = overall_scores(LabelScores(has, called))
        values |= {f"{name}/{measure}": np.array(value) for measure, value in overall.items()}
    return values
