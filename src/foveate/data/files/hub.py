"""Location of the files of a data set: a local folder, or the Hugging Face hub."""

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from foveate.errors import FoveateError

__all__ = ["is_available", "locate", "missing"]


def locate(name: str, hub_id: str) -> Path:
    """The folder ``$FOVEATE_DATA/<name>`` if there is one, else a download from the hub.

    Args:
        name: Name of the data set and of its folder.
        hub_id: Its public id on the hub.
    """
    root = os.environ.get("FOVEATE_DATA")
    if root and (folder := Path(root) / name).is_dir():
        return folder
    try:
        return _download(hub_id)
    except Exception as error:  # a missing package, no network, an error of a proxy
        reason = type(error).__name__
        raise FoveateError(
            f"the files of '{name}' are not here: set FOVEATE_DATA to a folder that holds {name}/ "
            f"with its Parquet files, or install foveate[hub] and be online to fetch {hub_id} "
            f"({reason})"
        ) from None


def is_available(name: str, hub_id: str) -> bool:
    """Whether the files of a data set are in ``$FOVEATE_DATA`` or can be downloaded."""
    try:
        return locate(name, hub_id).is_dir()
    except FoveateError:
        return False


def missing(files: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Why the files of data sets are not available; none of those that are.

    Args:
        files: Arguments of :func:`locate` by any key.
    """
    reasons = {}
    for key, (name, hub_id) in files.items():
        try:
            locate(name, hub_id)
        except FoveateError as error:
            reasons[key] = str(error)
    return reasons


@cache
def _download(hub_id: str) -> Path:
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(hub_id, repo_type="dataset", allow_patterns=["*.parquet", "*.jsonl"])
    )
