"""One process per run, and the temporary files that killed processes leave behind."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from foveate.errors import FoveateError

__all__ = [
    "LOCK",
    "leftovers",
    "lock_run",
    "lock_temporary",
    "remove_abandoned",
    "remove_leftovers",
]

LOCK = ".lock"
TEMPORARY = re.compile(r"\.(.+)\.[a-z0-9_]{8}")  # as tempfile names the neighbours of a file


@contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Hold the lock of a run directory, and remove what killed writes left there.

    The operating system releases the lock when the process ends, however it ends.

    Args:
        folder: The run directory.
    """
    try:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise FoveateError(f"cannot write in {folder}: {error.strerror}") from None
    try:
        _acquire(handle, folder)
        try:
            remove_leftovers(folder)
            yield
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _acquire(handle: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(handle, 32, 0).decode(errors="replace").strip()
        raise FoveateError(
            f"{folder} is being computed by another process ({owner or 'unknown'}): wait for it, "
            "or stop it first"
        ) from None
    except OSError:  # a file system without locks
        return
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"process {os.getpid()}".encode(), 0)


def lock_temporary(handle: int) -> None:
    """Mark a temporary file or folder as being written, until its process ends or closes it.

    Args:
        handle: Its descriptor.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):  # a system or file system without locks
        return


def _is_being_written(path: Path) -> bool:
    """Whether a live process holds the lock of a temporary file or folder."""
    try:
        import fcntl

        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (ImportError, OSError):
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def remove_abandoned(path: Path) -> None:
    """Remove what killed processes left of earlier attempts to write ``path``.

    Args:
        path: A file or folder that is about to be written.
    """
    try:
        names = [name for name in os.listdir(path.parent) if name.startswith(f".{path.name}.")]
    except OSError:  # a folder that may be written but not read
        return
    for name in names:
        match, locked_path = TEMPORARY.fullmatch(name), path.parent / name
        if match and match[1] == path.name and not _is_being_written(locked_path):
            with suppress(OSError):
                _remove(locked_path)


def leftovers(folder: Path) -> list[Path]:
    """Temporary files and folders that killed writes left in a run directory."""
    inside = [folder, *(path for path in folder.iterdir() if path.is_dir())]
    return sorted(
        path
        for parent in inside
        for path in parent.iterdir()
        if TEMPORARY.fullmatch(path.name) and not _is_being_written(path)
    )


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove what :func:`leftovers` lists."""
    removed = leftovers(folder)
    for path in removed:
        try:
            _remove(path)
        except OSError as error:
            raise FoveateError(f"cannot remove {path}: {error.strerror}") from None
    return removed


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
