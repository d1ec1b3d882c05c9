"""Commands with random flags, random TOML files, and commands on damaged run directories."""

import io
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

from fault_campaign import digest, run_in_child, without_times
from fault_injection import Plan, inject
from foveate.charts import render
from foveate.cli import main as foveate
from foveate.cli.app import app
from fuzz_files import damage, write_csv, write_pairs, write_texts

__all__ = ["FUZZED", "call", "fuzz_flags", "fuzz_run", "fuzz_toml", "workspace"]

TRAINING = ["--paradigms", "soft", "--seeds", "1", "--epochs", "1"]
RACE = ["race", "error-mode-1", *TRAINING, "--n", "20", "--n-test", "9", "--batch", "10"]
FIT = ["fit", "t.csv", *TRAINING, "--folds", "1"]
RUNS = {"raced": RACE, "fitted": FIT, "studied": ["run", "word-counts", "--scale", "smoke"]}
TWO = ["--paradigms", "soft,hard", "--save-seconds", "0"]
INTERRUPTED = {"raced-in-part": [*RACE, *TWO], "fitted-in-part": [*FIT, *TWO]}
"""Commands that are killed when one of two parts is finished and the other has a checkpoint."""
COMMANDS = {
    "race": [*RACE, "--out", "new"],
    "fit": [*FIT, "--out", "new"],
    "check": ["check", "t.csv"],
    "predict": ["predict", "fitted", "t.csv", "--out", "new.csv"],
    "explain": ["explain", "fitted", "t.csv", "--out", "new.csv"],
    "flow": ["flow"],
    "list": ["list", "maps"],
    "runs": ["runs"],
    "report": ["report", "raced", "--out", "new.html"],
    "resume": ["resume", "raced"],
    "doctor": ["doctor", "fitted"],
    "diagnose": ["diagnose", "texts.csv"],
    "align": ["align", "source.txt", "target.txt", "--out", "new.txt"],
    "run": ["run", "word-counts", "--scale", "smoke", "--out", "new"],
}
BLANK = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"></svg>'
DISTRIBUTED = {"--workers", "--cluster"}  # start processes, or wait for others
VALUES = ["", "0", "-1", "1", "2", "3.7", "nan", "inf", "-inf", "1e-9", "abc", "a,b", ",", "soft",
          "../x", "/nonexistent/x", "t.csv", "x" * 300, "\u200b", "é", "--", "-", "[]", "{}", "1;2",
          "0x10", "true", "None", "*", "a=b", "=", "'", '"', "\n", "%s", "{0}", "$HOME", "a b",
          "5%"]  # fmt: skip
SETTINGS = ["n", "n_test", "epochs", "seeds", "batch", "paradigms", "data", "lr", "m", "map",
            "optimiser", "width", "depth", "n-test", "unknown", "Seeds", "a.b"]  # fmt: skip
TOML_VALUES = ["1", "-1", "0", "1.5", "nan", "inf", "true", '""', '"soft"', '"soft,hard"', "[]",
               "[1, 2]", '["soft"]', "{}", "{a = 1}", "1979-05-27", "'''x'''", "0x1f", "1_000", "=",
               "[[]]", "\x00", "é"]  # fmt: skip


@contextmanager
def workspace() -> Iterator[Path]:
    """A temporary working directory with a table, texts, and finished runs of three kinds."""
    drawn = render.vl_convert.vegalite_to_svg
    render.vl_convert.vegalite_to_svg = lambda _spec: BLANK
    runs = os.environ.get("FOVEATE_RUNS")
    try:
        with tempfile.TemporaryDirectory() as name, chdir(name):
            folder = Path(name).resolve()
            os.environ["FOVEATE_RUNS"] = str(folder / "runs")
            for write in (write_csv, write_texts, write_pairs):
                write(folder)
            (folder / "source.txt").write_text("a b\na c\n")
            (folder / "target.txt").write_text("x y\nx z\n")
            for out, command in RUNS.items():
                code, text = call([*command, "--out", out])
                if code:
                    raise SystemExit(f"{command} ended with {code}: {text[-2000:]}")
            _interrupt(folder)
            yield folder
    finally:
        render.vl_convert.vegalite_to_svg = drawn
        os.environ.pop("FOVEATE_RUNS") if runs is None else os.environ.update(FOVEATE_RUNS=runs)


def _interrupt(folder: Path) -> None:
    """Runs that are killed between the parts: one is finished, one has a checkpoint."""
    for out, command in INTERRUPTED.items():
        for operation in range(20, 200, 4):
            shutil.rmtree(folder / out, ignore_errors=True)
            plan = Plan(folder / out, folder / "operations", operation)

            def work(plan: Plan = plan, words: list[str] = [*command, "--out", out]) -> None:  # noqa: B006
                inject(plan)
                foveate(words)

            if run_in_child(work, folder / "log.txt") != -signal.SIGKILL:
                raise SystemExit(f"{command} was not killed between its parts")
            plan.counter.unlink()
            names = ("record.npz", "checkpoint.safetensors")
            if [len(list((folder / out).glob(f"*/{name}"))) for name in names] == [1, 1]:
                break


def call(command: list[str]) -> tuple[int, str]:
    """Exit code and output of a command in this process; an exception is not caught."""
    text = io.StringIO()
    with redirect_stdout(text), redirect_stderr(text):
        try:
            foveate(command)
        except SystemExit as stop:
            return stop.code if isinstance(stop.code, int) else 1, text.getvalue()
    return 0, text.getvalue()


def _flags(command: str) -> list[str]:
    arguments = app[command].assemble_argument_collection()
    names = [name for argument in arguments for name in argument.names if name.startswith("--")]
    return sorted(set(names) - DISTRIBUTED)


def _clean(folder: Path) -> None:
    for path in folder.glob("new*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _classify_exit(code: int, text: str) -> str:
    if code not in (0, 2) or "Traceback" in text:
        return "traceback"
    return "accepted" if code == 0 else "refused"


def fuzz_flags(folder: Path, generator: np.random.Generator) -> tuple[str, str]:
    """A command with one or two random flags: the outcome, and the command."""
    name = str(generator.choice(list(COMMANDS)))
    command, flags = list(COMMANDS[name]), _flags(name)
    for _ in range(int(generator.integers(1, 3))):
        value = VALUES[int(generator.integers(len(VALUES)))]
        if flags and generator.random() < 0.8:
            command += [str(generator.choice(flags)), value]
        elif generator.random() < 0.5:
            command.insert(int(generator.integers(1, len(command) + 1)), value)
        else:
            del command[int(generator.integers(1, len(command) + 1)) :]
    if command[0] in ("race", "fit", "run") and "--out" not in command:
        command += ["--out", "new"]
    for flag in ("--n", "--epochs", "--n-test"):  # the defaults would train for long
        if command[0] == "race" and flag not in command:
            command += [flag, "9"]
    _clean(folder)
    return _classify_exit(*call(command)), str(command)


def fuzz_toml(folder: Path, generator: np.random.Generator) -> tuple[str, str]:
    """A race with a random TOML file: the outcome, and the content."""
    valid = 'n = 20\nn_test = 9\nepochs = 1\nbatch = 10\nparadigms = ["soft"]\nseeds = 1\n'
    if generator.random() < 0.5:
        content = damage(valid.encode(), generator)
    else:
        name = SETTINGS[int(generator.integers(len(SETTINGS)))]
        value = TOML_VALUES[int(generator.integers(len(TOML_VALUES)))]
        remaining = [line for line in valid.splitlines() if not line.startswith(f"{name} ")]
        content = "\n".join([*remaining, f"{name} = {value}"]).encode()
    (folder / "new.toml").write_bytes(content)
    sizes = ["--n", "20", "--n-test", "9", "--epochs", "1", "--seeds", "1"]
    keep = [k for k in range(0, len(sizes), 2) if generator.random() < 0.9 or k in (0, 4)]
    command = ["race", "error-mode-1", "--config", "new.toml", "--out", "new"]
    outcome = _classify_exit(*call(command + [word for k in keep for word in sizes[k : k + 2]]))
    _clean(folder)
    return outcome, repr(content)


RUN_COMMANDS = [
    ("fitted", ["predict", "new-run", "t.csv", "--out", "new.csv"]),
    ("fitted", ["explain", "new-run", "t.csv", "--out", "new.csv"]),
    *((run, ["report", "new-run", "--out", "new.html"]) for run in RUNS),
    *((run, ["resume", "new-run", "--json"]) for run in (*RUNS, *INTERRUPTED)),
]
_expected: dict[tuple[str, str], str] = {}


def _answer(folder: Path, text: str) -> str:
    """What a command wrote: its table, its page, or what it printed."""
    written = [folder / name for name in ("new.csv", "new.html") if (folder / name).exists()]
    if written:
        return written[0].read_text()
    printed = text.splitlines()[-1:]  # after the warnings
    return str(without_times(json.loads(printed[0]))) if printed else ""


def _same_numbers(run: Path, copy: Path) -> bool:
    """Whether every number, split, finding and verdict of a run can be read and is the same."""
    try:
        return digest(copy) == digest(run)
    except Exception:  # the content cannot be read, in one of many ways
        return False


def fuzz_doctor(folder: Path, generator: np.random.Generator) -> tuple[str, str]:
    """The doctor on a run with a damaged file: every number that differs is to be noticed."""
    runs = sorted({*RUNS, *INTERRUPTED})
    run, copy = runs[int(generator.integers(len(runs)))], folder / "new-run"
    _clean(folder)
    shutil.copytree(folder / run, copy)
    file = _damage_file(copy, generator)
    about = f"doctor of {run} with a damaged {file}"
    code, text = call(["doctor", "new-run"])
    outcome = _classify_exit(code, text)
    if outcome == "accepted" and not _same_numbers(folder / run, copy):
        return "silent difference", f"{about}\n{text}"
    return outcome, f"{about}\n{text if outcome == 'traceback' else ''}"


def _damage_file(run: Path, generator: np.random.Generator) -> Path:
    """Damage one file of a run; its path within the run."""
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.name != ".lock")
    file = files[int(generator.integers(len(files)))]
    file.write_bytes(damage(file.read_bytes(), generator))
    return file.relative_to(run)


def fuzz_run(folder: Path, generator: np.random.Generator) -> tuple[str, str]:
    """A command on a run with a damaged file: refused, equal, or a silent difference."""
    run, command = RUN_COMMANDS[int(generator.integers(len(RUN_COMMANDS)))]
    copy = folder / "new-run"
    if (run, command[0]) not in _expected:
        _clean(folder)
        shutil.copytree(folder / run, copy)
        _expected[run, command[0]] = _answer(folder, call(command)[1])
    _clean(folder)
    shutil.copytree(folder / run, copy)
    file = _damage_file(copy, generator)
    about = f"{command} of {run} with a damaged {file}"
    code, text = call(command)
    outcome = _classify_exit(code, text)
    if outcome == "accepted" and _answer(folder, text) != _expected[run, command[0]]:
        return "silent difference", f"{about}\n{text}"
    return outcome, f"{about}\n{text if outcome == 'traceback' else ''}"


FUZZED = {
    "flags": fuzz_flags,
    "toml": fuzz_toml,
    "run directories": fuzz_run,
    "doctor": fuzz_doctor,
}
