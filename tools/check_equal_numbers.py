"""Check that a refactoring changes no number: run a fixed set of small jobs and digest the results.

Usage::

    python tools/check_equal_numbers.py before.json          # with the old code
    python tools/check_equal_numbers.py after.json           # with the new code
    python tools/check_equal_numbers.py --compare before.json after.json

Every job is a ``foveate`` command in a temporary directory. The digest has one entry for every
array in an NPZ or safetensors file, for every number in a JSON document, and for every written
table. Times, versions, paths and commit hashes are left out. Run directories are then interrupted
(the last part loses its record) and resumed; both states are in the digest.
"""

import argparse
import csv
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

Digest = dict[str, str]

VOLATILE = {"seconds", "cpu_seconds", "spent", "created", "versions", "commit", "command", "run"}
VOLATILE |= {"path", "origin", "source", "out", "page"}  # paths of the temporary directory
RACE = ["--seeds=2", "--epochs=6", "--n=120", "--n-test=60", "--m=5"]
OPTIONS = ["--seeds=2", "--epochs=8", "--n=100", "--n-test=50", "--map=sparsemax", "--entropy=.01"]
OPTIONS += ["--paradigms=soft,em,random,direct,logit,hard-sampled"]
FIT = ["--folds=1", "--seeds=2", "--epochs=6", "--bag=recording", "--label=fault", "--group=pump"]
COLUMNS = ["--relevance=heard", "--places=start,end"]
JOBS: dict[str, list[list[str]]] = {
    "race": [["race", "digits", *RACE, "--out", "race", "--json"]],
    "race-options": [
        ["race", "error-mode-1", *OPTIONS, "--out", "race-options", "--json"],
    ],
    "race-trust": [["trust", "race", "--json"]],
    "fit": [["fit", "recordings.csv", *FIT, *COLUMNS, "--out", "fit", "--json"]],
    "trust": [["trust", "fit", "--absent=healthy", "--json"]],
    "predict": [["predict", "fit", "new.csv", "--out", "answers.csv"]],
    "explain": [["explain", "fit", "new.csv", "--out", "windows.csv"]],
    "error-modes": [["run", "error-modes", "--scale=smoke", "--out", "error-modes", "--json"]],
    "fixed-focus": [
        ["run", "fixed-focus", "--scale=smoke", "--out", "fixed-focus", "--json"],
    ],
    "flow": [["flow", "vr23", "--m=5", "--classes=4", "--until=50", "--switch=20", "--json"]],
    "align": [["align", "de.txt", "en.txt", "--out", "links.txt", "--symmetrise=grow"]],
    "align-attention": [
        ["align", "de.txt", "en.txt", "--out", "attention.txt", "--method=attention", "--steps=20"]
    ],
    "read": [["read", "texts.csv", "--steps=20", "--out", "texts.html"]],
    "diagnose": [["diagnose", "texts.csv", "--json"]],
}
WRITTEN = {
    "predict": "answers.csv",
    "explain": "windows.csv",
    "align": "links.txt",
    "align-attention": "attention.txt",
}
RUNS = ("race", "race-options", "fit", "error-modes", "fixed-focus")


def main() -> None:
    """Digest the jobs into a file, or compare two such files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--compare", action="store_true")
    args = parser.parse_args()
    if args.compare:
        before, after = (json.loads(path.read_text()) for path in args.files)
        sys.exit(compare(before, after))
    digest = digest_jobs()
    args.files[0].write_text(json.dumps(digest, indent=1, sort_keys=True) + "\n")
    print(f"{len(digest)} entries: {args.files[0]}")


def compare(before: Digest, after: Digest) -> int:
    """Print every difference; the number of differences decides the exit code."""
    different = [key for key in sorted(before | after) if before.get(key) != after.get(key)]
    for key in different:
        print(f"{key}: {before.get(key, 'missing')} -> {after.get(key, 'missing')}")
    print(f"{len(different)} of {len(before | after)} entries differ")
    return int(bool(different))


def digest_jobs() -> Digest:
    """Run every job in a new directory, then interrupt and resume every run."""
    digest: Digest = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder)
        for job, commands in JOBS.items():
            for command in commands:
                print(f"{job}: foveate {' '.join(command)}", flush=True)
                printed = foveate(command, folder)
                digest |= {f"{job}/{key}": value for key, value in output_entries(printed)}
            if job in WRITTEN:
                digest[f"{job}/{WRITTEN[job]}"] = short_hash((folder / WRITTEN[job]).read_bytes())
        for run in RUNS:
            digest |= {f"run {key}": value for key, value in run_entries(folder / run, folder)}
        for run in RUNS:
            print(f"{run}: interrupted and resumed", flush=True)
            interrupt(folder / run)
            foveate(["resume", run, "--json"], folder)
            digest |= {f"resumed {key}": value for key, value in run_entries(folder / run, folder)}
    return digest


def foveate(command: list[str], folder: Path) -> str:
    """Run a command; a failure ends the check."""
    done = subprocess.run(
        [sys.executable, "-c", "from foveate.cli import main; main()", *command],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"foveate {' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def interrupt(run: Path) -> None:
    """Delete the last part's record and mark the run as running."""
    manifest = json.loads((run / "manifest.json").read_text())
    manifest.pop("checksum", None)
    (run / manifest["parts"][-1] / "record.npz").unlink()
    (run / "manifest.json").write_text(json.dumps(manifest | {"status": "running"}))


def output_entries(printed: str) -> Iterator[tuple[str, str]]:
    """Entries of what a command printed: a JSON document, else the numbers in the text."""
    try:
        yield from json_entries(json.loads(printed), "output")
    except ValueError:
        numbers = re.findall(r"-?\d+\.\d+", printed)
        yield "output", ", ".join(numbers)


def run_entries(run: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Entries of every array and every number in a run directory."""
    for path in sorted(run.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                for key in sorted(arrays.files):
                    yield from array_entries(arrays[key], f"{name}:{key}")
        elif path.suffix == ".safetensors":
            for key, array in sorted(load_file(path).items()):
                yield from array_entries(array, f"{name}:{key}")
        elif path.suffix == ".json":
            yield from json_entries(json.loads(path.read_text()), name)


def array_entries(array: Any, name: str) -> Iterator[tuple[str, str]]:
    """One entry of an array; the metadata of a record is stored as JSON bytes."""
    if name.endswith(":meta"):
        yield from json_entries(json.loads(array.tobytes()), name)
    else:
        yield name, f"{array.dtype}{list(array.shape)} {short_hash(np.ascontiguousarray(array))}"


def json_entries(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """One entry for every number and every list of numbers."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in VOLATILE:
                yield from json_entries(inner, f"{name}.{key}")
    elif isinstance(value, list) and any(isinstance(v, dict | list) for v in value):
        for index, inner in enumerate(value):
            yield from json_entries(inner, f"{name}[{index}]")
    elif isinstance(value, list):
        yield name, short_hash(json.dumps([v for v in value if not isinstance(v, str)]).encode())
    elif not isinstance(value, str):
        yield name, repr(value)


def short_hash(data: Any) -> str:
    """A short SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def write_inputs(folder: Path) -> None:
    """Recordings as in the guide, labelled texts, and sentence pairs, from a fixed seed."""
    generator = random.Random(0)
    write_recordings(folder, generator)
    words = [f"w{k}" for k in range(30)]
    with (folder / "texts.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text", "label"])
        for i in range(200):
            text = generator.choices(words, k=generator.randint(5, 12))
            text[generator.randrange(len(text))] = ("awful", "great")[i % 2]
            table.writerow([" ".join(text), ("bad", "good")[i % 2]])
    pairs = [generator.choices(range(30), k=generator.randint(3, 9)) for _ in range(150)]
    (folder / "de.txt").write_text("".join(" ".join(f"d{k}" for k in s) + "\n" for s in pairs))
    flipped = [sorted(s, key=lambda k: (k % 3, k)) for s in pairs]
    (folder / "en.txt").write_text("".join(" ".join(f"e{k}" for k in s) + "\n" for s in flipped))


def write_recordings(folder: Path, generator: random.Random) -> None:
    """Pump recordings whose fault is audible in one window: labelled ones, and new ones."""
    names = ["recording", "fault", "pump", "start", "end", "a", "b", "c", "heard"]
    with (
        (folder / "recordings.csv").open("w", newline="") as old,
        (folder / "new.csv").open("w", newline="") as new,
    ):
        tables = csv.writer(old), csv.writer(new)
        tables[0].writerow(names)
        tables[1].writerow([name for name in names if name not in ("fault", "heard")])
        for i in range(140):
            fault = ("bearing", "leak", "healthy")[i % 3]
            length = generator.randint(4, 7)
            position = generator.randrange(length)
            for k in range(length):
                a, b, c = (generator.gauss(0, 1) for _ in range(3))
                audible = k == position and fault != "healthy"
                shift = 3 * audible * (1 if fault == "bearing" else -1)
                row = [k, k + 1, round(a + shift, 3), round(b, 3), round(c, 3)]
                if i < 120:
                    known = int(audible) if i % 4 == 0 else ""
                    tables[0].writerow([f"r{i}", fault, f"pump {i % 40}", *row, known])
                else:
                    tables[1].writerow([f"n{i}", f"pump {i}", *row])


if __name__ == "__main__":
    main()
