"""The job that fits multi-label bags: one cross-fitted fit per label, on the same folds.

The run directory is of kind "multi-label": ``folds.json`` (the folds of all labels) and a folder
per label, whose folder ``fit`` is a run of kind "fit" of its own.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from foveate.errors import FoveateError
from foveate.io.check import require_sound
from foveate.io.collection import Collection
from foveate.jobs.fit import BAGS, INPUTS, FitJob, resume_fit
from foveate.jobs.job import JOBS, Job
from foveate.jobs.lifecycle import start_job
from foveate.jobs.run_verdicts import examine_run, main_paradigm
from foveate.records.record import Record, load_arrays
from foveate.records.runs import Run, open_run
from foveate.report.trust_files import DeclaredEvidence
from foveate.types import PartProgress, StepProgress
from foveate.userdata.baselines import BASELINES
from foveate.userdata.cross_fit import OUT_OF_FOLD
from foveate.userdata.ensemble import MIXTURE
from foveate.userdata.folds import SHARED, Folds, draw_cross_fit, resumed_folds, save_folds
from foveate.userdata.multi_label import (
    FIT,
    KIND,
    LabelScores,
    f1_scores,
    label_folder,
    label_runs,
    overall_scores,
)
from foveate.userdata.settings import FitSettings
from foveate.userdata.source import Origin, fingerprint
from foveate.userdata.stored_collection import load_collection, save_collection
from foveate.userdata.thresholds import cross_decide

__all__ = ["MultiLabelJob"]

USUAL_RULE = "f1"  # of thresholds, where none is asked for


@JOBS.register(KIND)
class MultiLabelJob(Job):
    """One fit per label; all labels share their folds.

    Args:
        settings: How each label is fitted.
        collection: Multi-label bags; read from where the run's manifest says if None.
        origin: Where the bags were read from, so that the run can be resumed.
        run: The run, if there is one already.
    """

    per_label: ClassVar[bool] = True

    def __init__(
        self,
        settings: FitSettings,
        collection: Collection | None = None,
        origin: Origin | None = None,
        run: Run | None = None,
    ) -> None:
        if settings.folds == 1:
            raise FoveateError("multi-label bags are fitted in folds: set --folds to 2 or more")
        rule = USUAL_RULE if settings.threshold == "none" else settings.threshold
        decides = {} if settings.abstain is not None else {"threshold": rule}
        self.settings = settings.model_copy(update=decides)
        self.origin, self._run = origin, run
        self._bags, self._folds = collection, None if run is None else _stored_folds(run)

    @classmethod
    def reopen(cls, run: Run) -> Self:
        data = run.manifest["data"]
        origin = None
        if data["origin"] is not None:
            origin = Origin(run.path / data["origin"]["path"], data["origin"]["columns"])
        return cls(FitSettings(**run.manifest["config"]), origin=origin, run=run)

    @property
    def label(self) -> str:
        return Path(self._collection().source).name or "bags"

    def describe(self) -> dict[str, Any]:
        collection = self._collection()
        labels = collection.labels
        assert labels is not None
        counts = dict(zip(collection.label_names, labels.sum(0).tolist(), strict=True))
        return {
            "config": self.settings.model_dump(),
            "seeds": list(range(self.settings.seeds)),
            "labels": list(collection.label_names),
            "data": {
                "source": collection.source,
                "kind": collection.kind,
                "fingerprint": fingerprint(collection),
                "origin": None if self.origin is None else self.origin.as_json(),
            },
            "sizes": {
                "bags": len(collection),
                "bags of label": counts,
                "split": self._shared_folds().how,
            },
        }

    def parts(self) -> dict[str, tuple[str, ...]]:
        names = self._collection().label_names
        return {label_folder(k): () for k in range(len(names))}

    def check(self, progress: PartProgress | None) -> None:
        """Read the bags, draw the folds, and check the bags of every label."""
        del progress
        collection = self._collection()
        if not collection.multi_label:
            raise FoveateError(f"{collection.source} has no labels: name their columns by --labels")
        self._shared_folds()
        for name in collection.label_names:
            require_sound(collection.of_label(name))

    def write_inputs(self, folder: Path, *, for_workers: bool) -> tuple[str, ...]:
        collection = self._collection()
        save_folds(self._shared_folds(), folder, collection.ids)
        if not for_workers:
            return ()
        (folder / INPUTS).mkdir(exist_ok=True)
        save_collection(folder / INPUTS / BAGS, collection)
        return (INPUTS,)

    def run_part(self, name: str, folder: Path, progress: StepProgress) -> Record:
        """Fit one label; the record has its out-of-fold probabilities and decisions."""
        collection = self._collection()
        label = collection.label_names[list(self.parts()).index(name)]
        run = self._fitted(collection.of_label(label), label, folder / name / FIT, progress)
        arrays = load_arrays(run.path / OUT_OF_FOLD)
        p, y, fold = arrays[f"p/{MIXTURE}"][:, 1], arrays["y"], arrays["fold"][0]
        called = cross_decide(p, y, fold, self.settings.threshold)
        final = {"p": p, "y": y, "called": called.astype(np.int64), "rows": arrays["rows"]}
        return Record(np.zeros(1), {}, final, {"label": label, "seeds": run.manifest["seeds"]})

    def _fitted(
        self, collection: Collection, label: str, folder: Path, progress: StepProgress
    ) -> Run:
        """The fit of one label, started, continued or finished already."""
        done: dict[str, float] = {}
        folds = self._shared_folds()
        parts = len(self.settings.paradigms) * len(folds.parts) + 1

        def report(part: str, epoch: int, epochs: int) -> None:
            done[part] = epoch / max(1, epochs)
            progress(round(100 * sum(done.values()) / parts), 100)

        if (folder / "manifest.json").exists():
            run = open_run(folder)
            return run if run.done else resume_fit(run, report, collection)
        origin = None
        if self.origin is not None:
            path = self.origin.path.resolve()
            origin = Origin(path, {**self.origin.columns, "of_label": label})
        shared = replace(folds, method=SHARED)
        named = replace(collection, source=f"{collection.source}, label {label}")
        job = FitJob(self.settings, named, origin, folds=shared)
        return start_job(job, out=folder, report=report)

    def finish(self, run: Run) -> dict[str, Any]:
        """Scores of every label, and over all labels."""
        records = run.records()
        has = np.stack([record.final["y"] == 1 for record in records.values()], 1)
        called = np.stack([record.final["called"] == 1 for record in records.values()], 1)
        decided = LabelScores(has, called)
        label_f1 = f1_scores(decided)
        runs = label_runs(run)
        scores = {
            name: _label_entry(label_run, float(f1))
            for (name, label_run), f1 in zip(runs.items(), label_f1, strict=True)
        }
        areas = [entry["scores"]["auroc"][0] for entry in scores.values()]
        overall = {"macro_auroc": float(np.mean(areas)), **overall_scores(decided)}
        return {"scores": scores, "overall": overall}

    def results(self, run: Run) -> dict[str, Any]:
        entries = {name: run.manifest[name] for name in ("labels", "overall", "scores", "sizes")}
        return {"run": str(run.path), **entries, "verdicts": run.manifest.get("verdicts", {})}

    def write_report(self, run: Run, path: Path) -> Path:
        from foveate.report.pages.fit import write_fit_report
        from foveate.report.pages.multi_label import write_labels_page

        if run.done:
            for label_run in label_runs(run).values():
                write_fit_report(label_run, label_run.path / "report.html")
        return write_labels_page(run, path)

    def print_results(self, run: Run) -> None:
        from foveate.report.terminal.multi_label import print_labels

        print_labels(run)

    def lacks_verdict(self, run: Run) -> bool:
        return "verdicts" not in run.manifest

    def add_verdict(
        self, run: Run, declared: DeclaredEvidence, command: str, report: PartProgress
    ) -> Run:
        """The verdict on the attention of every label, the other labels explained away."""
        from foveate.report.pages.multi_label import write_labels_page

        verdicts = {}
        for name, label_run in label_runs(run).items():
            main = main_paradigm(label_run)
            evidence = examine_run(label_run, declared, command, report, paradigm=main)
            by_class = evidence.examinations[0]["by_class"]
            has = next(entry for entry in by_class if entry["name"] == "yes")
            verdicts[name] = has["verdict"]["grade"]
        updated = run.update(verdicts=verdicts)
        write_labels_page(updated, run.path / "report.html")
        return updated

    def _collection(self) -> Collection:
        if self._bags is None:
            self._bags = self._read_again()
        return self._bags

    def _read_again(self) -> Collection:
        assert self._run is not None
        stored = self._run.path / INPUTS / BAGS
        if stored.exists():
            return load_collection(stored)
        if self.origin is None:
            raise FoveateError(f"{self._run.name} was fitted from Python: it cannot be resumed")
        collection = self.origin.read(labelled=True)
        data = self._run.manifest["data"]
        if fingerprint(collection) != data["fingerprint"]:
            raise FoveateError(
                f"{data['source']} is not what it was when {self._run.name} was started"
            )
        return collection

    def _shared_folds(self) -> Folds:
        if self._folds is None:
            self._folds = draw_cross_fit(self._collection(), self.settings)
        elif self._run is not None:
            self._folds = resumed_folds(self._run.path, self._collection(), self.settings)
        return self._folds


def _stored_folds(run: Run) -> Folds | None:
    from foveate.userdata.folds import load_folds

    return load_folds(run.path)


def _label_entry(run: Run, f1: float) -> dict[str, Any]:
    """Scores of one label out of fold, and how it compares with baselines."""
    manifest = run.manifest
    scores = manifest["scores"]
    baselines: Sequence[str] = [name for name in scores if name in BASELINES]
    return {
        "scores": scores[MIXTURE]["out_of_fold"],
        "f1": f1,
        "baselines": {name: scores[name]["out_of_fold"]["auroc"][0] for name in baselines},
        "comparison": manifest["comparison"],
        "threshold": manifest.get("threshold"),
        "abstention": manifest.get("abstention"),
    }
