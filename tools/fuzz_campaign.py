"""Fuzz the readers of a user's files: no traceback, no hang, the same answer twice.

Valid files of every layout are damaged at random (bits, cuts, repeats, odd values) and read. A
damaged file may be read or refused by a FoveateError; anything else is a failure. Prints figures;
the exit code is 1 after a failure.

    python tools/fuzz_campaign.py                   # 2,000 files
    python tools/fuzz_campaign.py --files 100000    # a full campaign
"""

import argparse
import json
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.io.check import describe, problems

LONGEST = 20  # seconds; more is a hang
ODD = [
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
N = 8


def rows() -> list[dict[str, object]]:
    """Rows of a table of bags."""
    chance = np.random.default_rng(0)
    return [
        {"bag": f"b{i // 3}", "label": "uv"[i // 3 % 2], "a": float(chance.normal()), "b": i}
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


def write_npz(folder: Path) -> Path:
    """Padded arrays."""
    chance = np.random.default_rng(0)
    x, y = chance.normal(size=(N, 3, 2)), np.arange(N) % 2
    np.savez(folder / "t.npz", x=x, y=y, mask=np.ones((N, 3), bool), ids=np.arange(N).astype(str))
    return folder / "t.npz"


def write_npy(folder: Path) -> Path:
    """A file per bag."""
    root = folder / "npy"
    for part in ("features", "labels"):
        (root / part).mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(0)
    for i in range(N):
        np.save(root / "features" / f"{i}.npy", chance.normal(size=(3, 2)))
        np.save(root / "labels" / f"{i}.npy", np.array(i % 2))
    return root


def write_hdf5(folder: Path) -> Path:
    """An HDF5 file per bag, with a table of labels."""
    root = folder / "hdf5"
    root.mkdir(exist_ok=True)
    chance = np.random.default_rng(0)
    for i in range(4):
        with h5py.File(root / f"s{i}.h5", "w") as file:
            file["features"], file["coords"] = (
                chance.normal(size=(3, 2)),
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


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
    "npz": write_npz,
    "npy": write_npy,
    "hdf5": write_hdf5,
    "eraser": write_eraser,
}


def damage(content: bytes, chance: np.random.Generator) -> bytes:
    """Flip bits, cut, repeat, or insert odd values."""
    data = bytearray(content)
    kind = int(chance.integers(5))
    at = int(chance.integers(max(1, len(data))))
    if kind == 0:
        for place in chance.integers(max(1, len(data)), size=int(chance.integers(1, 6))):
            data[place] ^= 1 << int(chance.integers(8))
    elif kind == 1:
        del data[at:]
    elif kind == 2:
        data[at:at] = data[at : at + int(chance.integers(1, 40))]
    elif kind == 3:
        data[at:at] = ODD[int(chance.integers(len(ODD)))]
    else:
        cells = bytes(data).split(b",")
        cells[int(chance.integers(len(cells)))] = ODD[int(chance.integers(len(ODD)))]
        data = bytearray(b",".join(cells))
    return bytes(data)


def change_hdf5(path: Path, chance: np.random.Generator) -> None:
    """A valid HDF5 file whose arrays have other types and shapes."""
    shapes = [(), (0,), (3,), (3, 2), (1, 3, 2), (0, 2), (2, 2, 2, 2)]
    kinds = ["f2", "f8", "i1", "u8", "S3", "?"]
    with h5py.File(path, "w") as file:
        for name in ("features", "coords", "relevance")[: int(chance.integers(1, 4))]:
            shape = shapes[int(chance.integers(len(shapes)))]
            file[name] = np.zeros(shape, kinds[int(chance.integers(len(kinds)))])


def outcome(path: Path) -> str:
    """Read and check bags twice: read, refused, traceback, hang or different."""
    signal.alarm(LONGEST)
    try:
        answers = []
        for _ in range(2):
            bags = read_bags(path)
            answers.append((str(describe(bags)), [str(p) for p in problems(bags)]))
        return "read" if answers[0] == answers[1] else "different"
    except FoveateError:
        return "refused"
    except TimeoutError:
        return "hang"
    except Exception:
        traceback.print_exc()
        return "traceback"
    finally:
        signal.alarm(0)


def _hang(*_: object) -> None:
    raise TimeoutError


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; 1 if a file was neither read nor refused."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--files", type=int, default=2000, help="damaged files over all layouts")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGALRM, _hang)
    total: Counter[str] = Counter()
    for name, write in LAYOUTS.items():
        chance = np.random.default_rng([given.seed, *name.encode()])
        counts: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as folder:
            path = write(Path(folder))
            if outcome(path) != "read":
                raise SystemExit(f"the valid {name} file is not read")
            files = [path] if path.is_file() else sorted(f for f in path.rglob("*") if f.is_file())
            for _ in range(max(1, given.files // len(LAYOUTS))):
                file = files[int(chance.integers(len(files)))]
                copy = Path(folder) / "whole"
                shutil.copy(file, copy)
                if file.suffix == ".h5" and chance.random() < 0.5:
                    change_hdf5(file, chance)
                else:
                    file.write_bytes(damage(file.read_bytes(), chance))
                counts[outcome(path)] += 1
                shutil.copy(copy, file)
        print(f"{name}: {dict(counts)}", flush=True)
        total += counts
    print(f"{sum(total.values())} files: {dict(total)}")
    return int(bool(set(total) - {"read", "refused"}))


if __name__ == "__main__":
    sys.exit(main())
