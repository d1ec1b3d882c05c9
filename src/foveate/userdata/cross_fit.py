"""Cross-fitting: every bag is predicted by models that were not trained on it.

The same folds give early stopping (on inner validation bags), out-of-fold predictions,
temperatures, the weights of the mixture, and the ensemble that predicts new bags. Scales and
vocabularies are learnt from all development bags, without their labels.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.metrics.calibration import calibrated
from foveate.metrics.faults import diverged, divergence
from foveate.records.record import Record, save_arrays, save_checkpoint
from foveate.records.runs import Run
from foveate.types import Array, PartProgress, StepProgress
from foveate.userdata.assessment import OutOfFold, assess, score_lists
from foveate.userdata.baselines import BASELINES, cross_fit_baselines
from foveate.userdata.ensemble import BASELINE_PART, open_ensemble, part_name
from foveate.userdata.fitted import WEIGHTS
from foveate.userdata.fold_training import FoldTask, train_fold
from foveate.userdata.folds import Folds, draw_cross_fit, resumed_folds, save_folds
from foveate.userdata.gallery import pick_gallery_bags, save_gallery
from foveate.userdata.procedure import CHECKPOINT, Procedure, collection_sizes, prepare_bags
from foveate.userdata.scores import mean_probability
from foveate.userdata.settings import FitSettings
from foveate.userdata.shift import TrainingSummary

__all__ = ["CrossFit"]

OUT_OF_FOLD = "out_of_fold.npz"


class CrossFit(Procedure):
    """Folds of the development bags; every paradigm in every fold is a part of the run.

    ``folds`` are those of another run that this one shares; drawn, or read from the folder, unless
    given.
    """

    rule = (
        "the mixture of all paradigms, logistic regressions of pooled segments and, of small data, "
        "boosted trees of them, weighed by out-of-fold log loss; the weights and temperatures "
        "behind each number were fitted on other folds"
    )

    def __init__(
        self,
        collection: Collection,
        settings: FitSettings,
        folder: Path | None = None,
        progress: PartProgress | None = None,
        folds: Folds | None = None,
    ) -> None:
        self.collection, self.settings = collection, settings
        if settings.threshold != "none" and len(collection.classes) != 2:
            raise FoveateError(
                f"--threshold is for two classes, {collection.source} has {len(collection.classes)}"
            )
        if folds is None and folder is not None:
            folds = resumed_folds(folder, collection, settings)
        self.folds: Folds = draw_cross_fit(collection, settings) if folds is None else folds
        rows = torch.from_numpy(self.folds.rows)
        self.preparation, whole = prepare_bags(collection, settings, rows, progress)
        self.bags, self.test = whole.take(rows), whole.take(torch.from_numpy(self.folds.test))

    @property
    def parts(self) -> list[str]:
        names = self.settings.paradigms
        return [part_name(n, r, k) for n in names for r, k in self.folds.parts] + [BASELINE_PART]

    def save_division(self, folder: Path) -> None:
        save_folds(self.folds, folder, self.collection.ids)
        rows = torch.from_numpy(self.folds.rows)
        TrainingSummary.of(self.collection, rows, rows, self.preparation.vocabulary).save(folder)

    def sizes(self) -> dict[str, Any]:
        parts = {"development": self.bags} | ({"test": self.test} if len(self.test) else {})
        return collection_sizes(self.collection, self.preparation, self.folds.how, parts)

    def run_part(self, name: str, folder: Path, progress: StepProgress) -> Record:
        if name == BASELINE_PART:
            return self._run_baselines(folder, progress)
        paradigm, repeat, fold = next(
            (n, r, k)
            for n in self.settings.paradigms
            for r, k in self.folds.parts
            if part_name(n, r, k) == name
        )
        record = self._train(paradigm, repeat, fold, folder / name / CHECKPOINT, progress)
        save_checkpoint(folder / name / WEIGHTS, record.trained.tensors(), {"part": name})
        return record

    def _train(
        self, paradigm: str, repeat: int, fold: int, checkpoint: Path, progress: StepProgress
    ) -> Record:
        """Train one paradigm without a fold, and predict the fold."""
        settings, folds, y = self.settings, self.folds, self.bags.y.numpy()
        rows = folds.held_out(repeat, fold)
        inner = folds.validation(repeat, fold, y, settings.seeds) if settings.patience else None
        task = FoldTask(
            paradigm,
            self.bags.take(torch.from_numpy(folds.training(repeat, fold))),
            self.bags.take(torch.from_numpy(rows)),
            inner,
            [_member_seed(settings.seeds, s, repeat, fold) for s in range(settings.seeds)],
            self.preparation,
        )
        record = train_fold(task, settings, checkpoint, progress)
        final = {name: record.final[name] for name in ("log_p", "y", "s", "losses")}
        if "mask" in record.final:
            final["mask"] = record.final["mask"]
        final["rows"] = rows
        return replace(record, final=final, meta={**record.meta, "paradigm": paradigm})

    def _run_baselines(self, folder: Path, progress: StepProgress) -> Record:
        p, test, stored = cross_fit_baselines(
            self.bags, self.test, self.preparation, self.folds, progress
        )
        save_checkpoint(folder / BASELINE_PART / WEIGHTS, stored, {"part": BASELINE_PART})
        final = {**p, **{f"test {name}": value for name, value in test.items()}}
        return Record(np.zeros(1), {}, final, {"seeds": [], "baselines": list(p)})

    def finish(self, run: Run) -> dict[str, Any]:
        """Score every paradigm, the baselines and the mixture; write the gallery."""
        records = run.records()
        out_of_fold = OutOfFold(
            self._out_of_fold(records), self.bags.y.numpy(), self.folds.fold[0], _groups(self.bags)
        )
        entries, arrays = assess(out_of_fold, self.settings)
        entries["resolved"] = self._resolved(records)
        arrays |= {"rows": self.folds.rows, "fold": self.folds.fold}
        save_arrays(run.path / OUT_OF_FOLD, arrays)
        self._add_test_scores(Run(run.path, {**run.manifest, **entries}), records, entries)
        if not (run.path / "gallery.npz").exists():
            self._save_gallery(Run(run.path, {**run.manifest, **entries}))
        return entries

    def _out_of_fold(self, records: Mapping[str, Record]) -> dict[str, Array]:
        """Out-of-fold probabilities (n, C) of every paradigm and baseline, mean over repeats."""
        n, classes = len(self.bags), len(self.preparation.classes)
        result: dict[str, Array] = {}
        lost: dict[str, Record] = {}
        for name in self.settings.paradigms:
            total = np.zeros((n, classes))
            for repeat, fold in self.folds.parts:
                record = records[part_name(name, repeat, fold)]
                if diverged(record):
                    lost[name] = record
                    break
                total[record.final["rows"]] += mean_probability(record.final["log_p"])
            else:
                result[name] = total / total.sum(1, keepdims=True)
        if not result:
            raise FoveateError(divergence(lost))
        baselines = records[BASELINE_PART]
        return result | {name: baselines.final[name] for name in baselines.meta["baselines"]}

    def _resolved(self, records: Mapping[str, Record]) -> dict[str, Any]:
        """What every paradigm was trained with; epochs are those of its longest fold."""
        result = {}
        for name in self.settings.paradigms:
            fold_records = [records[part_name(name, r, k)] for r, k in self.folds.parts]
            result[name] = {
                "epochs": max(record.meta["epochs_run"] for record in fold_records),
                "lr": self.settings.lr,
                "parameters": fold_records[0].meta["parameters"],
                "early stopping": all(record.meta["early_stopping"] for record in fold_records),
            }
            rates = [
                record.meta["searched"] for record in fold_records if "searched" in record.meta
            ]
            result[name] |= {"searched": rates} if rates else {}
        return result

    def _add_test_scores(
        self, run: Run, records: Mapping[str, Record], entries: dict[str, Any]
    ) -> None:
        """Score the ensembles on the test part, if there is one."""
        if not len(self.test):
            return
        y, group = self.test.y.numpy(), _groups(self.test)
        for name, entry in entries["scores"].items():
            if name in BASELINES:
                raw = records[BASELINE_PART].final[f"test {name}"]
                p = calibrated(raw, entry["temperature"])
            else:
                model = open_ensemble(run, name)
                p = model.probabilities(model.explain(self.test, with_evidence=False))
            entry["test"] = score_lists(p, y, group)

    def _save_gallery(self, run: Run) -> None:
        """Test bags, or bags of the first fold as read by models that were not trained on them."""
        if len(self.test):
            rows, bag, model = self.folds.test, self.test, open_ensemble(run)
        else:
            held_out = self.folds.held_out(0, 0)
            rows, bag = self.folds.rows[held_out], self.bags.take(torch.from_numpy(held_out))
            model = open_ensemble(run, folds=[(0, 0)])
        bags = pick_gallery_bags(model, self.collection.take(torch.from_numpy(rows)), bag)
        save_gallery(run.path / "gallery.npz", bags)


def _member_seed(seeds: int, member: int, repeat: int, fold: int) -> int:
    """A different seed for every member of every fold: an ensemble gains from variety."""
    return member + seeds * (fold + 1000 * repeat)


def _groups(bag: Bag) -> Array | None:
    return None if bag.group is None else bag.group.numpy()
