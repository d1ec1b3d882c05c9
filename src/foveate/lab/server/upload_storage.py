"""Files that were uploaded to the lab: stored as long as a job or a run needs them.

A file is needed while its job reads or fits it, and as long as a run names it as the origin of its
bags: ``foveate resume`` and ``foveate trust`` read it again. It is removed when its job has ended
without such a run. Files of earlier labs, or of runs that were deleted, are removed when the next
lab starts, unless they are so young that another lab in the same folder may use them.
"""

import time
from contextlib import suppress
from pathlib import Path

from foveate.errors import FoveateError
from foveate.lab.server.catalog import all_runs
from foveate.records.runs import runs_folder

__all__ = ["remove_stale_files", "remove_unreferenced", "uploads_folder"]

FOLDER = "lab-files"  # in the runs folder, so that a run finds its bags again
STALE_SECONDS = 24 * 3600.0


def uploads_folder() -> Path:
    """The folder of uploaded files, created if needed."""
    folder = runs_folder() / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FoveateError(f"cannot make the folder {folder}: {error.strerror}") from None
    return folder


def remove_unreferenced(path: Path) -> None:
    """Remove a file whose job has ended, unless a run names it."""
    with suppress(OSError):  # a folder that is gone, or not ours any more, needs no cleaning
        if path.resolve() not in _referenced():
            path.unlink(missing_ok=True)


def remove_stale_files() -> None:
    """Remove files that earlier labs left and no run names."""
    with suppress(OSError):
        files = [path for path in (runs_folder() / FOLDER).glob("*") if path.is_file()]
        for path in files:
            if time.time() - path.stat().st_mtime > STALE_SECONDS:
                remove_unreferenced(path)


def _referenced() -> set[Path]:
    """All files that runs name as the origin of their bags."""
    data = (run.manifest.get("data") for run in all_runs())
    origins = (entry.get("origin") for entry in data if isinstance(entry, dict))
    return {Path(str(o["path"])) for o in origins if isinstance(o, dict) and "path" in o}
