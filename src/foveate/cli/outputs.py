"""Checks of output files: none replaces an input, or a file of another program."""

import re
from collections.abc import Iterable
from pathlib import Path

from foveate.errors import FoveateError

__all__ = ["check_outputs"]

MARKS = {
    ".html": b'<meta name="generator" content="foveate">',
    ".svg": b'class="marks"',
    ".onnx": b"temperature",
    ".npz": b"manifest.npy",
}
"""What pages, charts, exported models and encoded features of this program contain."""
LINKS = re.compile(rb"((\d+-\d+( \d+-\d+)*)?\n)+")  # alignments, as ``align`` writes them
TABLES = ({"bag", "predicted", "top_segment"}, {"bag", "segment", "attention", "rank"})
"""Columns that tell a table of predictions, or of evidence, from a table of bags."""


def check_outputs(
    *outputs: Path | None, inputs: Iterable[Path | None] = (), overwrite: bool = False
) -> None:
    """Raise, before any work is done, for files that cannot or must not be written.

    Args:
        outputs: Files that the command is going to write.
        inputs: Files and folders that it reads.
        overwrite: Whether the user allows that existing files are replaced.
    """
    read = [path for path in inputs if path is not None]
    for path in outputs:
        if path is not None:
            _check(path, read, overwrite)


def _check(path: Path, inputs: list[Path], overwrite: bool) -> None:
    try:
        if not path.absolute().parent.is_dir():
            raise FoveateError(f"cannot write {path}: there is no folder {path.parent}")
        if path.is_dir():
            raise FoveateError(f"cannot write {path}: it is a folder")
        exists = path.exists() or path.is_symlink()
    except OSError as error:
        raise FoveateError(f"cannot write {str(path)[:80]}…: {error.strerror}") from None
    if not exists or overwrite:
        return
    for source in inputs:
        if _is_same(path, source):
            raise FoveateError(
                f"cannot write {path}: it is the input {source}; choose another name, or give "
                "--overwrite to replace it"
            )
    if not _is_foveate_output(path):
        raise FoveateError(
            f"cannot write {path}: it exists and was not made by this command; choose another "
            "name, or give --overwrite to replace it"
        )


def _is_same(path: Path, source: Path) -> bool:
    """Whether two paths are one file, by resolved path or inode."""
    if not source.exists() or not path.exists():
        return False
    return path.resolve() == source.resolve() or path.samefile(source)


def _is_foveate_output(path: Path) -> bool:
    """Whether a file looks like the output of an earlier call of foveate."""
    try:
        if path.suffix.lower() == ".csv":
            with path.open("rb") as file:
                names = file.readline(1 << 16).decode().strip().replace('"', "").split(",")
            return any(columns <= set(names) for columns in TABLES)
        if path.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            names = pq.read_schema(path).names
            return any(columns <= set(names) for columns in TABLES)
        content = path.read_bytes()
        if path.suffix.lower() in MARKS:
            return MARKS[path.suffix.lower()] in content
        return bool(content) and LINKS.fullmatch(content) is not None
    except (OSError, ValueError):
        return False
