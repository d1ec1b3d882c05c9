"""A cross-fitted ensemble of bags from Python, without a run directory that stays."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from foveate.io.collection import Collection
from foveate.records.record import load_arrays
from foveate.records.runs import Run
from foveate.types import Array
from foveate.userdata.cross_fit import OUT_OF_FOLD, CrossFit
from foveate.userdata.ensemble import open_ensemble
from foveate.userdata.fitted import PREPARATION, FittedModel
from foveate.userdata.folds import Folds
from foveate.userdata.settings import FitSettings

__all__ = ["CrossFitted", "cross_fit"]


class CrossFitted(NamedTuple):
    """An ensemble in memory.

    Args:
        model: What predicts and explains new bags.
        p: Out-of-fold probabilities of that model, calibrated on other folds, shape (n, C).
    """

    model: FittedModel
    p: Array


def cross_fit(
    collection: Collection,
    settings: FitSettings,
    name: str | None = None,
    folds: Folds | None = None,
) -> CrossFitted:
    """Cross-fit labelled bags as ``foveate fit`` does.

    Args:
        collection: Labelled bags.
        settings: How to fit.
        name: Which paradigm predicts; the mixture unless given.
        folds: Folds to use; drawn unless given.
    """
    procedure = CrossFit(collection, settings, folds=folds)
    with TemporaryDirectory(prefix="foveate-") as temporary:
        folder = Path(temporary)
        procedure.preparation.save(folder / PREPARATION)
        procedure.save_division(folder)
        for part in procedure.parts:
            (folder / part).mkdir()
            record = procedure.run_part(part, folder, lambda *_: None)
            record.save(folder / part / "record.npz")
        manifest = {
            "kind": "fit",
            "status": "done",
            "parts": procedure.parts,
            "config": settings.model_dump(),
            "seeds": list(range(settings.seeds)),
            "classes": list(collection.classes),
        }
        entries = procedure.finish(Run(folder, manifest))
        model = open_ensemble(Run(folder, {**manifest, **entries}), name)
        p = load_arrays(folder / OUT_OF_FOLD)[f"p/{model.name}"]
    return CrossFitted(model, p)
