"""The folds of a run, stored in its folder."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.records.checksums import seal_json, verify_json
from foveate.records.record import write_atomically
from foveate.userdata.folds import METHOD, SHARED, Folds, draw_cross_fit
from foveate.userdata.settings import FitSettings

__all__ = ["FOLDS_FILE", "load_folds", "resumed_folds", "save_folds"]

FOLDS_FILE = "folds.json"


def save_folds(folds: Folds, folder: Path, ids: tuple[str, ...]) -> None:
    """Write the folds, and the names of their bags, into the folder of a run."""
    content: dict[str, Any] = {
        "how": folds.how,
        "method": folds.method,
        "bags": [ids[row] for row in folds.rows],
        "test": [ids[row] for row in folds.test],
        "rows": folds.rows.tolist(),
        "test_rows": folds.test.tolist(),
        "folds": folds.fold.tolist(),
        "inner": folds.inner.tolist(),
    }
    text = seal_json(content)
    write_atomically(folder / FOLDS_FILE, lambda file: file.write(text))


def load_folds(folder: Path) -> Folds | None:
    """Read what :func:`save_folds` wrote; None if there is no such file."""
    path = folder / FOLDS_FILE
    try:
        content = verify_json(path, json.loads(path.read_text("utf-8")))
        names = ("rows", "folds", "inner", "test_rows")
        rows, fold, inner, test = (np.array(content[name], dtype=np.int64) for name in names)
    except FileNotFoundError:
        return None
    except FoveateError:
        raise
    except (ValueError, TypeError, KeyError) as error:
        raise FoveateError(f"{path} is damaged: {type(error).__name__} {error}") from None
    return Folds(rows, fold, inner, test, str(content["how"]), str(content.get("method", "")))


def resumed_folds(folder: Path, collection: Collection, settings: FitSettings) -> Folds:
    """The folds of a run that is resumed: the stored ones, never others.

    Args:
        folder: The run directory.
        collection: The bags that the run was fitted on.
        settings: Those of the run.
    """
    stored = load_folds(folder)
    if stored is not None and stored.method == SHARED:
        _must_name_bags_of(folder / FOLDS_FILE, collection)
        return stored
    path = folder / FOLDS_FILE
    if stored is None:
        begun = [*folder.glob("*/record.npz"), *folder.glob("*/checkpoint.*")]
        if begun:
            raise FoveateError(
                f"{path} is missing although {begun[0].parent.name} is trained: which bags it was "
                "trained on is unknown, so start a new run"
            )
        return draw_cross_fit(collection, settings)
    _must_name_bags_of(path, collection)
    if stored.method == METHOD and not stored.equals(draw_cross_fit(collection, settings)):
        raise FoveateError(
            f"{path} differs from the folds that seed {settings.split_seed} draws, so held-out "
            "bags may have been trained on: restore the file or start a new run"
        )
    return stored


def _must_name_bags_of(path: Path, collection: Collection) -> None:
    """Raise unless the bags in a file of folds are those of the collection."""
    content, ids = json.loads(path.read_text("utf-8")), collection.ids
    for rows, names in (("rows", "bags"), ("test_rows", "test")):
        if len(content[rows]) != len(content[names]):
            raise FoveateError(f"{path} is damaged: it has {len(content[rows])} {rows} but "
                               f"{len(content[names])} {names}")  # fmt: skip
        for row, name in zip(content[rows], content[names], strict=True):
            if not 0 <= row < len(ids) or ids[row] != name:
                raise FoveateError(f"{path} names other bags than {collection.source} has")
