"""Features in progress: parts in a folder, saved one by one, concatenated at the end."""

import json
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from foveate.data.files.feature_files import Moments
from foveate.errors import FoveateError
from foveate.records.checksums import seal_npz
from foveate.records.locking import remove_abandoned
from foveate.records.record import load_arrays, write_atomically
from foveate.types import Array

__all__ = ["Parts"]


ROWS = 32  # features in double precision at a time: a grid has tens of thousands an image


class Parts:
    """The finished parts of a file to be written; parts of another request are thrown away.

    Args:
        out: The file.
        manifest: The request, as JSON stores it.
    """

    def __init__(self, out: Path, manifest: Mapping[str, Any]) -> None:
        self.out, self.folder = out, _parts_folder(out)
        self.text = json.dumps(manifest).encode()
        self.sizes: list[int] = []
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FoveateError(f"cannot make the folder {self.folder}: {error.strerror}") from None
        note = self.folder / "manifest.json"
        if not note.exists() or note.read_bytes() != self.text:
            _clear(self.folder)
            write_atomically(note, lambda file: file.write(self.text))
        while (size := self._size(len(self.sizes))) is not None:
            self.sizes.append(size)

    @property
    def rows(self) -> int:
        """How many images are encoded."""
        return sum(self.sizes)

    def add(self, x: Array, image: Array) -> None:
        """Save the next part, atomically.

        Args:
            x: Features, shape (n, …).
            image: Digests of the images, shape (n, 16).
        """
        path = self._path(len(self.sizes))
        buffer = BytesIO()
        np.savez(buffer, X=x, image=image)
        write_atomically(path, seal_npz(buffer.getvalue()))
        self.sizes.append(len(x))

    def join(self, labels: Mapping[str, Array]) -> None:
        """Write the file, with one part in memory at a time, and remove the parts.

        Args:
            labels: Further arrays of the file; ``test`` is true for rows that are not for training.
        """
        write_atomically(self.out, lambda file: self._write(file, labels))
        self.discard(self.out)

    @classmethod
    def discard(cls, out: Path) -> None:
        """Remove the parts of a file that is complete.

        Args:
            out: The file.
        """
        folder = _parts_folder(out)
        _clear(folder)
        with suppress(OSError):  # there is none, or it has files that are not parts
            folder.rmdir()

    def _write(self, file: IO[bytes], labels: Mapping[str, Array]) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            with _member(archive, "X") as member:
                image, mean, std = self._features(member, labels.get("test"))
            text = np.frombuffer(self.text, np.uint8)
            arrays = {**labels, "image": image, "mean": mean, "std": std, "manifest": text}
            for name, value in arrays.items():
                with _member(archive, name) as member:
                    np.lib.format.write_array(member, value, allow_pickle=False)

    def _features(self, member: IO[bytes], test: Array | None) -> tuple[Array, Array, Array]:
        """Write X; return the digests of all images, and mean and deviation of training rows."""
        moments, digests, start = Moments(), [], 0
        for number in range(len(self.sizes)):
            part = load_arrays(self._path(number))
            x = part["X"]
            if number == 0:
                form = np.lib.format.dtype_to_descr(x.dtype)
                header = {"descr": form, "fortran_order": False, "shape": (self.rows, *x.shape[1:])}
                np.lib.format.write_array_header_1_0(member, header)
            member.write(np.ascontiguousarray(x).tobytes())
            digests.append(part["image"])
            train = x if test is None else x[~test[start : start + len(x)]]
            for k in range(0, len(train), ROWS):
                moments.add(train[k : k + ROWS].astype(np.float64))
            start += len(x)
        return np.concatenate(digests), *moments.mean_and_std()

    def _path(self, number: int) -> Path:
        return self.folder / f"part-{number:06d}.npz"

    def _size(self, number: int) -> int | None:
        try:
            return len(load_arrays(self._path(number))["X"])
        except (FoveateError, KeyError):
            return None


def _parts_folder(out: Path) -> Path:
    return out.with_name(f"{out.name}.parts")


def _clear(folder: Path) -> None:
    for file in [*folder.glob("part-*.npz"), folder / "manifest.json"]:
        remove_abandoned(file)
        file.unlink(missing_ok=True)


def _member(archive: zipfile.ZipFile, name: str) -> Any:
    """A member without a date, so that equal contents are equal bytes."""
    return archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True)
