"""Files that were dropped on the lab: kept while somebody needs them.

A file is needed while its worker reads or fits it, and as long as a run names it as where its bags
came from: ``foveate resume`` and ``foveate trust`` read it again. It goes when its worker has ended
and left no run that names it. What outlived its lab, or the run that named it, goes when the next
lab opens, unless it is so young that another lab in the same folder may be at it.
"""

import time
from contextlib import suppress
from pathlib import Path

from foveate.errors import FoveateError
from foveate.lab.server.catalog import runs_here
from foveate.records.runs import runs_folder

__all__ = ["discard", "files_folder", "tidy"]

FOLDER = "lab-files"  # in the folder of runs, so that a run finds its bags again
LONGEST = 2 * 3600.0  # seconds that a worker may be at a file; OwnBags.minutes allows no more


def files_folder() -> Path:
    """Where dropped files lie, made if need be."""
    place = runs_folder() / FOLDER
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FoveateError(f"cannot make the folder {place}: {error.strerror}") from None
    return place


def discard(path: Path) -> None:
    """Remove a file whose worker has ended, unless a run names it."""
    with suppress(OSError):  # a folder that is gone, or no longer ours, needs no tidying
        if path.resolve() not in _named():
            path.unlink(missing_ok=True)


def tidy() -> None:
    """Remove what labs of before have left and no run names."""
    with suppress(OSError):
        files = [path for path in (runs_folder() / FOLDER).glob("*") if path.is_file()]
        for path in files:
            if time.time() - path.stat().st_mtime > LONGEST:
                discard(path)


def _named() -> set[Path]:
    """All files that runs name as where their bags came from."""
    data = (run.manifest.get("data") for run in runs_here())
    origins = (own.get("origin") for own in data if isinstance(own, dict))
    return {Path(str(own["path"])) for own in origins if isinstance(own, dict) and "path" in own}
