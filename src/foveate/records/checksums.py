"""Checksums inside the files of a run: SHA-256 in JSON, NPZ and safetensors, verified when read.

Each file carries its own checksum, so that one atomic write stores both. Other programs read the
files as before: JSON has a key ``checksum``, NPZ an archive comment, safetensors an entry of its
metadata. Files of older versions have none and are read unverified.
"""

import hashlib
import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from foveate.errors import FoveateError

__all__ = [
    "advice",
    "has_checksum",
    "read_json",
    "seal_json",
    "seal_npz",
    "seal_safetensors",
    "verify_json",
    "verify_npz",
    "verify_safetensors",
]

KEY = "checksum"
COMMENT = b"foveate-sha256:"
TRAILER = len(COMMENT) + 64
END = b"PK\5\6"  # begins the last record of a ZIP archive, 22 bytes and a comment
ADVICE = {
    "checkpoint.safetensors": "delete it, and 'foveate resume' computes the part from its start",
    "record.npz": "delete its folder, and 'foveate resume' computes this part again",
    "weights.safetensors": "delete its folder, and 'foveate resume' computes this part again",
    "preparation.safetensors": "'foveate resume' writes it again from the data",
    "gallery.npz": "delete it, and 'foveate resume' writes it again",
    "training_summary.json": "delete it, and 'foveate resume' writes it again from the data",
    "trust.json": "'foveate trust' on the run writes it again",
    "model_card.json": "delete it, and 'foveate trust' on the run writes it again",
    "findings.json": "'foveate resume' writes it again from the records",
    "split.json": "restore it from a copy: nothing else tells test bags from training bags",
    "folds.json": "restore it from a copy: nothing else tells which bags a part was trained on",
    "manifest.json": "restore it from a copy, or, if it was edited on purpose, delete its entry "
    "'checksum'",
}


def advice(path: Path) -> str:
    """What to do about a damaged file of a run; empty if nothing is known."""
    return f"; {ADVICE[path.name]}" if path.name in ADVICE else ""


def _mismatch(path: Path) -> FoveateError:
    return FoveateError(f"{path} is damaged: its checksum does not match{advice(path)}")


def seal_json(
    content: Mapping[str, Any], indent: int | None = None, *, allow_nan: bool = True
) -> bytes:
    """JSON with the checksum of its other entries.

    Example:
        >>> verify_json(Path("a.json"), json.loads(seal_json({"a": [1, 2.5]})))
        {'a': [1, 2.5]}
    """
    plain = json.loads(json.dumps(content, allow_nan=allow_nan))
    sealed = {**plain, KEY: _digest(_canonical(plain))}
    return (json.dumps(sealed, indent=indent, ensure_ascii=False) + "\n").encode()


def verify_json(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a JSON file without the checksum, which must match if there is one.

    An entry with a similar name is a checksum whose name was damaged.
    """
    plain = {name: value for name, value in content.items() if name != KEY}
    sealed = KEY in content or bool(get_close_matches(KEY, plain))
    if sealed and content.get(KEY) != _digest(_canonical(plain)):
        raise _mismatch(path)
    return plain


def read_json(path: Path) -> dict[str, Any]:
    """The entries of a JSON file of a run; an error that names it if it is damaged."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:  # no JSON, or no UTF-8
        raise FoveateError(f"{path} is damaged: {error}{advice(path)}") from None
    if not isinstance(content, dict):
        raise FoveateError(f"{path} is damaged: it holds no object{advice(path)}")
    return verify_json(path, content)


def seal_npz(content: bytes) -> bytes:
    """An NPZ file with its checksum as the comment of the archive."""
    comment = COMMENT + _digest(content).encode()
    return content[:-2] + len(comment).to_bytes(2, "little") + comment


def verify_npz(path: Path, content: bytes) -> None:
    """Raise if an NPZ file is cut off or has a checksum that does not match."""
    end = content.rfind(END)
    comment = int.from_bytes(content[end + 20 : end + 22], "little")
    if end < 0 or len(content) != end + 22 + comment:
        raise FoveateError(f"{path} is damaged: it is not a complete NPZ file{advice(path)}")
    if comment:  # older versions write none, so that any other comment is a damaged checksum
        sealed_content = content[: -TRAILER - 2] + b"\0\0"
        named = content[-TRAILER:].startswith(COMMENT)
        if not named or _digest(sealed_content).encode() != content[-64:]:
            raise _mismatch(path)


def seal_safetensors(content: bytes) -> bytes:
    """A safetensors file with its checksum in the metadata of its header."""
    header, data = _parts(content)
    header.pop("__metadata__", None)
    header["__metadata__"] = {"sha256": _digest(_canonical(header), data)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, data])


def verify_safetensors(path: Path, content: bytes) -> None:
    """Raise if a safetensors file has a checksum that does not match."""
    header, data = _parts(content)
    metadata = header.pop("__metadata__", None)  # older versions write none
    if metadata is None:
        return
    stored = metadata.get("sha256") if isinstance(metadata, dict) else None
    if stored != _digest(_canonical(header), data):
        raise _mismatch(path)


def has_checksum(path: Path) -> bool:
    """Whether a file of a run carries a checksum."""
    content = path.read_bytes()
    if path.suffix == ".npz":
        return content[-TRAILER:].startswith(COMMENT)
    if path.suffix == ".safetensors":
        return "sha256" in _parts(content)[0].get("__metadata__", {})
    try:
        return path.suffix == ".json" and KEY in json.loads(content.decode("utf-8"))
    except ValueError:  # damaged: no JSON, or no UTF-8
        return False


def _parts(content: bytes) -> tuple[dict[str, Any], memoryview]:
    """Header and data of a safetensors file."""
    length = int.from_bytes(content[:8], "little")
    if length > len(content):
        raise ValueError("the header is cut off")
    header = json.loads(content[8 : 8 + length])
    if not isinstance(header, dict) or not isinstance(header.get("__metadata__", {}), dict):
        raise ValueError("the header is no object")
    return header, memoryview(content)[8 + length :]


def _canonical(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _digest(*parts: bytes | memoryview) -> str:
    result = hashlib.sha256()
    for part in parts:
        result.update(part)
    return result.hexdigest()
