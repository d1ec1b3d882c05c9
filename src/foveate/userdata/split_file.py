"""The split of a run, stored in its folder."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch

from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.records.checksums import seal_json, verify_json
from foveate.records.record import write_atomically
from foveate.userdata.split import METHOD, PARTS, Split, split_bags

__all__ = ["held_out", "keep_split", "resumed_split", "stored_split", "trained_on"]

SPLIT_FILE = "split.json"
OLD_METHOD = "scikit-learn"  # up to version 0.1.0; its draw depends on the installed version


def keep_split(split: Split, ids: Sequence[str], folder: Path) -> None:
    """Write names and rows of the bags of each part into the folder of a run."""
    rows = split.as_rows()
    names = {part: [ids[i] for i in chosen] for part, chosen in rows.items()}
    content = {"how": split.how, "method": split.method, **names, "rows": rows}
    write_atomically(folder / SPLIT_FILE, seal_json(content, indent=1))


def stored_split(folder: Path, collection: Collection) -> Split | None:
    """The split in the folder of a run, checked against its bags; None if there is none.

    Args:
        folder: The run directory.
        collection: The bags that the run was fitted on.
    """
    path = folder / SPLIT_FILE
    try:
        content = verify_json(path, json.loads(path.read_text("utf-8")))
        rows = {part: [int(row) for row in content["rows"][part]] for part in PARTS}
        names = {part: [collection.ids[row] for row in rows[part]] for part in PARTS}
    except FileNotFoundError:
        return None
    except FoveateError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise FoveateError(f"{path} is damaged: {type(error).__name__} {error}") from None
    every = sorted(row for part in rows.values() for row in part)
    if len(set(every)) != len(every) or any(row < 0 for row in every):
        raise FoveateError(f"{path} is damaged: a bag must be in one part only")
    if any(names[part] != content.get(part) for part in PARTS):
        raise FoveateError(f"{path} names other bags than {collection.source} has")
    train, validation, test = (torch.tensor(rows[part], dtype=torch.long) for part in PARTS)
    method = str(content.get("method", OLD_METHOD))
    return Split(train, validation, test, str(content.get("how", "")), method)


def resumed_split(folder: Path, collection: Collection, seed: int = 0) -> Split:
    """The split of a run that is resumed: the stored one, never another.

    Args:
        folder: The run directory.
        collection: The bags that the run was fitted on.
        seed: Seed of the draw.
    """
    stored = stored_split(folder, collection)
    if stored is None:
        begun = [*folder.glob("*/record.npz"), *folder.glob("*/checkpoint.*")]
        if begun:
            raise FoveateError(
                f"{folder / SPLIT_FILE} is missing although {begun[0].parent.name} is trained: "
                "which bags it was trained on is unknown, so start a new run"
            )
        return split_bags(collection, seed)
    if stored.method == METHOD and stored.as_rows() != split_bags(collection, seed).as_rows():
        raise FoveateError(
            f"{folder / SPLIT_FILE} differs from the split that seed {seed} draws, so test bags "
            "may have been trained on: restore the file or start a new run"
        )
    return stored


def held_out(collection: Collection, folder: Path) -> Collection:
    """The test bags of a run, from the bags that it was fitted on.

    By their rows: bags of different parts may have one name.
    """
    stored = stored_split(folder, collection)
    if stored is None:
        raise FoveateError(f"there is no file {folder / SPLIT_FILE}")
    return collection.take(stored.test)


def trained_on(collection: Collection, folder: Path) -> Collection:
    """The training and validation bags of a run, from the bags that it was fitted on."""
    stored = stored_split(folder, collection)
    if stored is None:
        raise FoveateError(f"there is no file {folder / SPLIT_FILE}")
    return collection.take(torch.cat([stored.train, stored.validation]))
