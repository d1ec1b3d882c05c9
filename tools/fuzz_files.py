"""Valid files of every layout that foveate reads, and ways to damage them."""

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr
from PIL import Image

from foveate.data.features.image_sources import find_pictures
from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.io.check import problems
from foveate.io.description import describe
from foveate.metrics.alignment import read_pharaoh
from foveate.text.corpora.user_files import read_pairs, read_texts
from foveate.userdata.source import fingerprint

__all__ = ["CHANGES", "LAYOUTS", "Layout", "damage", "write_csv"]

UNUSUAL_CELLS = [
    b"NA",
    b"nan",
    b"inf",
    b"-1e999",
    b"1,5",
    b'"',
    b"\xff\xfe",
    b"\0",
    b"[]",
    b"{}",
    b"5%",
    b"\n\n",
]
N = 12


def rows() -> list[dict[str, object]]:
    """Rows of a table of bags."""
    generator = np.random.default_rng(0)
    return [
        {"bag": f"b{i // 3}", "label": "uv"[i // 3 % 2], "a": float(generator.normal()), "b": i}
        for i in range(3 * N)
    ]


def write_csv(folder: Path) -> Path:
    """A table with commas."""
    lines = ["bag,label,a,b", *(",".join(map(str, row.values())) for row in rows())]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    return folder / "t.csv"


def write_jsonl(folder: Path) -> Path:
    """A table of JSON lines."""
    (folder / "t.jsonl").write_text("\n".join(json.dumps(row) for row in rows()))
    return folder / "t.jsonl"


def write_parquet(folder: Path) -> Path:
    """A Parquet table."""
    pq.write_table(pa.Table.from_pylist(rows()), folder / "t.parquet")
    return folder / "t.parquet"


def write_vectors(folder: Path) -> Path:
    """A Parquet table with a column of lists of numbers."""
    table = pa.Table.from_pylist([{**row, "v": [row["a"], row["b"], 1.0]} for row in rows()])
    pq.write_table(table, folder / "v.parquet", row_group_size=10)
    return folder / "v.parquet"


def write_zarr(folder: Path) -> Path:
    """A Zarr store per bag, with a table of labels."""
    root = folder / "zarr"
    generator = np.random.default_rng(0)
    for i in range(4):
        group = zarr.open_group(str(root / f"s{i}.zarr"), mode="w")
        group["features"] = generator.normal(size=(3, 2))
    lines = [f"s{i},{'uv'[i % 2]}" for i in range(4)]
    (root / "labels.csv").write_text("slide_id,label\n" + "\n".join(lines) + "\n")
    return root


def write_npz(folder: Path) -> Path:
    """Padded arrays."""
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(N, 3, 2)), np.arange(N) % 2
    np.savez(folder / "t.npz", x=x, y=y, mask=np.ones((N, 3), bool), ids=np.arange(N).astype(str))
    return folder / "t.npz"


def write_npy(folder: Path) -> Path:
    """A file per bag."""
    root = folder / "npy"
    for part in ("features", "labels"):
        (root / part).mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    for i in range(N):
        np.save(root / "features" / f"{i}.npy", generator.normal(size=(3, 2)))
        np.save(root / "labels" / f"{i}.npy", np.array(i % 2))
    return root


def write_hdf5(folder: Path) -> Path:
    """An HDF5 file per bag, with a table of labels."""
    root = folder / "hdf5"
    root.mkdir(exist_ok=True)
    generator = np.random.default_rng(0)
    for i in range(4):
        with h5py.File(root / f"s{i}.h5", "w") as file:
            file["features"], file["coords"] = (
                generator.normal(size=(3, 2)),
                np.arange(6).reshape(3, 2),
            )
    lines = [f"s{i},{'uv'[i % 2]}" for i in range(4)]
    (root / "labels.csv").write_text("slide_id,label\n" + "\n".join(lines) + "\n")
    return root


def write_eraser(folder: Path) -> Path:
    """Annotated documents."""
    span = [[{"start_token": 1, "end_token": 2}]]
    lines = [
        {
            "annotation_id": f"r{i}",
            "classification": "uv"[i % 2],
            "document": "a b c",
            "evidences": span,
        }
        for i in range(N)
    ]
    (folder / "e.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder / "e.jsonl"


def write_texts(folder: Path) -> Path:
    """Labelled texts."""
    lines = [f"a word{i % 3} b,{'uv'[i % 2]}" for i in range(N)]
    (folder / "texts.csv").write_text("\n".join(["text,label", *lines]))
    return folder / "texts.csv"


def write_pairs(folder: Path) -> Path:
    """Sentence pairs."""
    lines = [json.dumps({"source": f"a b{i % 3}", "target": f"c{i % 3} d"}) for i in range(N)]
    (folder / "pairs.jsonl").write_text("\n".join(lines))
    return folder / "pairs.jsonl"


def write_links(folder: Path) -> Path:
    """Word alignments in Pharaoh format."""
    (folder / "links.txt").write_text("0-0 1-1\n0-1 2-0\n\n1-0\n")
    return folder / "links.txt"


def write_tiles(folder: Path) -> Path:
    """Images to be cut into tiles, in a folder per class."""
    generator = np.random.default_rng(0)
    for i in range(4):
        label = folder / "tiles" / "uv"[i % 2]
        label.mkdir(parents=True, exist_ok=True)
        pixels = generator.integers(0, 255, (8, 8, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(label / f"{i}.png")
    return folder / "tiles"


def write_images(folder: Path) -> Path:
    """Images for an encoder."""
    pixels = np.random.default_rng(0).integers(0, 255, (N, 8, 8, 3)).astype(np.uint8)
    np.savez(folder / "images.npz", X=pixels, y=np.arange(N) % 2)
    return folder / "images.npz"


def _bags(path: Path) -> str:
    bags = read_bags(path, **({"tiles": 4} if path.name == "tiles" else {}))
    return str((describe(bags), [str(problem) for problem in problems(bags)]))


def _contents(path: Path, gigabytes: str) -> str:
    """Everything that a fit uses of bags, with a limit of memory; the error if they are refused."""
    os.environ["FOVEATE_MEMORY"] = gigabytes
    try:
        bags = read_bags(path)
        return str((fingerprint(bags), bags.columns, [str(p) for p in problems(bags)]))
    except FoveateError as error:
        return f"refused: {error}"
    finally:
        del os.environ["FOVEATE_MEMORY"]


def _streamed(path: Path) -> str:
    """Bags through a mapped file, refused or as they are read into memory."""
    with tempfile.TemporaryDirectory() as cache:
        before = os.environ.get("FOVEATE_CACHE")
        os.environ["FOVEATE_CACHE"] = cache
        try:
            mapped, loaded = (_contents(path, gigabytes) for gigabytes in ("1e-9", "1"))
        finally:
            del os.environ["FOVEATE_CACHE"]
            os.environ.update({} if before is None else {"FOVEATE_CACHE": before})
    if mapped.startswith("refused"):
        raise FoveateError(mapped)
    if mapped != loaded:
        raise AssertionError(f"numbers differ: {mapped} from a mapped file, {loaded} in memory")
    return loaded


def _texts(path: Path) -> str:
    texts = read_texts(path)
    return str((texts.vocabulary.words, texts.classes, texts.y_train.tolist()))


def _pairs(path: Path) -> str:
    pairs = read_pairs(path)
    return str((pairs.source_vocabulary.words, pairs.target_vocabulary.words, len(pairs.train)))


def _images(path: Path) -> str:
    pictures = find_pictures(str(path), None)
    return str([int(image.sum()) for image in pictures.read(0)])


@dataclass(frozen=True)
class Layout:
    """A kind of input.

    Args:
        write: Writes a valid file or folder.
        read: Reads it; the answer as text.
    """

    write: Callable[[Path], Path]
    read: Callable[[Path], str] = _bags


LAYOUTS = {
    "csv": Layout(write_csv),
    "jsonl": Layout(write_jsonl),
    "parquet": Layout(write_parquet),
    "npz": Layout(write_npz),
    "npy": Layout(write_npy),
    "hdf5": Layout(write_hdf5),
    "eraser": Layout(write_eraser),
    "tiles": Layout(write_tiles),
    "texts": Layout(write_texts, _texts),
    "pairs": Layout(write_pairs, _pairs),
    "links": Layout(write_links, lambda path: str(read_pharaoh(path))),
    "images": Layout(write_images, _images),
    "parquet, mapped": Layout(write_vectors, _streamed),
    "npy, mapped": Layout(write_npy, _streamed),
    "hdf5, mapped": Layout(write_hdf5, _streamed),
    "zarr, mapped": Layout(write_zarr, _streamed),
}


def damage(content: bytes, generator: np.random.Generator) -> bytes:
    """Flip bits, cut, repeat, or insert odd values."""
    data = bytearray(content)
    kind = int(generator.integers(5))
    at = int(generator.integers(max(1, len(data))))
    if kind == 0:
        for position in generator.integers(max(1, len(data)), size=int(generator.integers(1, 6))):
            data[position] ^= 1 << int(generator.integers(8))
    elif kind == 1:
        del data[at:]
    elif kind == 2:
        data[at:at] = data[at : at + int(generator.integers(1, 40))]
    elif kind == 3:
        data[at:at] = UNUSUAL_CELLS[int(generator.integers(len(UNUSUAL_CELLS)))]
    else:
        cells = bytes(data).split(b",")
        cells[int(generator.integers(len(cells)))] = UNUSUAL_CELLS[
            int(generator.integers(len(UNUSUAL_CELLS)))
        ]
        data = bytearray(b",".join(cells))
    return bytes(data)


SHAPES = [(), (0,), (3,), (3, 2), (1, 3, 2), (0, 2), (2, 2, 2, 2), (12,), (12, 3), (12, 3, 2)]
KINDS = ["f2", "f8", "i1", "u8", "S3", "?"]


def _array(generator: np.random.Generator, kinds: list[str] = KINDS) -> np.ndarray:
    """Small whole numbers of a random type and shape."""
    shape = SHAPES[int(generator.integers(len(SHAPES)))]
    kind = kinds[int(generator.integers(len(kinds)))]
    return generator.integers(0, 4, shape).astype(kind)


def change_hdf5(path: Path, generator: np.random.Generator) -> None:
    """A valid HDF5 file whose arrays have other types and shapes."""
    with h5py.File(path, "w") as file:
        for name in ("features", "coords", "relevance")[: int(generator.integers(1, 4))]:
            file[name] = _array(generator)


def change_npz(path: Path, generator: np.random.Generator) -> None:
    """A valid NPZ file with one array left out, and two of other types and shapes."""
    names = ["bag", "coords", "group", "ids", "known", "mask", "offsets", "relevance", "split", "x",
             "X", "y"]  # fmt: skip
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    if generator.random() < 0.3:
        del arrays[str(generator.choice(list(arrays)))]
    for name in generator.choice(names, 2):
        arrays[str(name)] = _array(generator, [*KINDS, "U2", "c8", "M8[D]"])
    np.savez(path, **arrays)


def change_parquet(path: Path, generator: np.random.Generator) -> None:
    """A valid Parquet file in which one or two columns have other types."""
    table = pq.read_table(path)
    whole = [int(value) for value in generator.integers(0, 4, len(table))]
    others: list[pa.Array] = [
        pa.array(whole, pa.decimal128(9, 2)),
        pa.array(whole, pa.date32()),
        pa.array(whole, pa.timestamp("ns", "UTC")),
        pa.array([str(value) for value in whole]).dictionary_encode(),
        pa.array([[value] * value for value in whole]),
        pa.array([[value, None] for value in whole]),
        pa.array([[[value]] for value in whole]),
        pa.array([{"a": value} for value in whole]),
        pa.array([bytes([128 + value]) for value in whole]),
        pa.array([value > 1 for value in whole]),
        pa.array([value * 2**61 + 1 for value in whole], pa.uint64()),
        pa.array([None] * len(whole)),
        pa.array([None if value else 0.5 for value in whole], pa.float16()),
        pa.array(["", "NA", "1,5", "5%"][: len(whole)] * (len(whole) // 4)),
    ]
    for _ in range(int(generator.integers(1, 3))):
        column = int(generator.integers(table.num_columns))
        values = others[int(generator.integers(len(others)))]
        table = table.set_column(column, table.column_names[column], values)
    pq.write_table(table, path)


CHANGES = {".h5": change_hdf5, ".npz": change_npz, ".parquet": change_parquet}
"""By the suffix of a file, how it becomes another valid file."""
