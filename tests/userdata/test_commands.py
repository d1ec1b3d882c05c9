"""The commands as a user calls them, on files."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foveate.cli import main
from foveate.records.runs import open_run

from .made import NAMES, numbers

QUICK = ["--epochs=6", "--folds=1", "--seeds=2", "--lr=0.02", "--batch=16", "--paradigms=soft,hard"]


def written(path: Path, *, label: str | None = "label", seed: int = 0, n: int = 60) -> Path:
    """A long table with one row a segment."""
    collection = numbers(n, seed=seed)
    bag = collection.bag
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["bag", *([label] if label else []), *NAMES])
        for i, name in enumerate(collection.ids):
            labels = [collection.classes[int(bag.y[i])]] if label else []
            for row in bag.x.index[i][bag.mask[i]].tolist():
                out.writerow([name, *labels, *bag.x.bank[row].tolist()])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with data, and a fit made by the command line."""
    workdir = tmp_path_factory.mktemp("commands")
    written(workdir / "data.csv", label="diagnosis")
    written(workdir / "new.csv", label=None, seed=7, n=8)
    main(
        [
            "fit",
            str(workdir / "data.csv"),
            "--label",
            "diagnosis",
            "--out",
            str(workdir / "run"),
            *QUICK,
        ]
    )
    return workdir


def test_a_fit_leaves_a_run_and_a_report(folder):
    run = open_run(folder / "run")
    assert run.done
    assert run.manifest["data"]["origin"]["columns"] == {"label": "diagnosis"}
    page = (folder / "run/report.html").read_text()
    for words in (
        "Fit of data.csv",
        "(chosen)",
        "Gallery of",
        "true class no, predicted no",
    ):
        assert words in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_the_table_and_the_numbers(folder, capsys):
    main(["resume", str(folder / "run"), "--json"])
    printed = json.loads(capsys.readouterr().out)
    run = open_run(folder / "run")
    assert printed["chosen"] == run.manifest["chosen"]
    assert printed["scores"] == run.manifest["scores"]
    main(["resume", str(folder / "run")])
    assert "is chosen: the paradigm with the highest balanced accuracy" in capsys.readouterr().out
    main(["report", str(folder / "run"), "--out", str(folder / "again.html")])
    assert (folder / "again.html").read_text() == (folder / "run/report.html").read_text()


def test_new_bags_need_no_labels(folder, capsys):
    main(["predict", str(folder / "run"), str(folder / "new.csv"), "--out", str(folder / "p.csv")])
    with (folder / "p.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert "label" not in rows[0]
    for row in rows:
        assert float(row["p_no"]) + float(row["p_yes"]) == pytest.approx(1)
    main(["predict", str(folder / "run"), str(folder / "data.csv"), "--out", str(folder / "p.csv")])
    with (folder / "p.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert np.mean([row["label"] == row["predicted"] for row in rows]) > 0.8


def test_explanations_come_as_table_and_page(folder):
    page = folder / "e.html"
    main(["explain", str(folder / "run"), str(folder / "new.csv"), "--out", str(folder / "e.csv"),
          "--page", str(page), "--shown", "3"])  # fmt: skip
    with (folder / "e.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["bag"] for row in rows} == set(numbers(8, seed=7).ids)
    assert "The first 3 of 8 bags" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fit", "nothing.csv", "--out", "r"], "there is nothing at nothing.csv"),
        (["fit", "data.csv", "--out", "r"], "has no column 'label'"),
        (["fit", "data.csv", "--label", "diagnosis", "--out", "run"], "run is not empty"),
        (["fit", "data.csv", "--label", "diagnosis", "--out", "r", "--seeds", "0"], "seeds: "),
        (["fit", "data.csv", "--label", "diagnosis", "--out", "r", "--map", "sofmax"], "softmax"),
        (["predict", "run", "new.csv", "--out", "p.txt"], "written as .csv or .parquet"),
        (["predict", "run", "new.csv", "--out", "none/p.csv"], "there is no folder none"),
        (["predict", "gone", "new.csv", "--out", "q.csv"], "no run directory gone"),
        (["predict", "run", "new.csv", "--paradigm", "em", "--out", "q.csv"], "no paradigm 'em'"),
        (["predict", "run", "new.csv", "--label", "x", "--out", "q.csv"], "no column 'x'"),
        (["predict", "run", "odd.csv", "--out", "q.csv"], "'maybe' is none of the classes no, yes"),
        (
            ["predict", "run", "wide.csv", "--out", "q.csv"],
            "lacks the column 'c1'|has a column 'w'",
        ),
        (["explain", "run", "new.csv", "--out", "q.csv", "--shown", "0"], "at least 1, got 0"),
        (["export", "run", "--onnx", "none/m.onnx"], "there is no folder none"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_no_files(
    folder, arguments, sentence, capsys, monkeypatch
):
    import re

    monkeypatch.chdir(folder)
    (folder / "odd.csv").write_text("bag,diagnosis,c0,c1,c2\na,maybe,1,2,3\n")
    (folder / "wide.csv").write_text("bag,c0,w,c2\na,1,2,3\n")
    before = sorted(folder.rglob("*"))
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert re.search(sentence, message), message
    assert sorted(folder.rglob("*")) == before


def test_killed_and_resumed_equals_uninterrupted(folder):
    flags = ["fit", "data.csv", "--label=diagnosis", *QUICK[1:], "--epochs=40"]
    flags.append("--save-seconds=0")
    code = "from foveate.cli import main; main()"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}

    def foveate(*arguments):
        return subprocess.Popen(
            [sys.executable, "-c", code, *arguments], cwd=folder, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    main([flags[0], str(folder / "data.csv"), *flags[2:], "--out", str(folder / "whole")])
    doomed = foveate(*flags, "--out", "killed")
    checkpoint = folder / "killed/hard/checkpoint.safetensors"
    while not checkpoint.exists():  # on a busy machine the start alone takes minutes
        assert doomed.poll() is None, "the fit ended before it could be killed"
        time.sleep(0.005)
    doomed.send_signal(signal.SIGKILL)
    doomed.communicate()
    assert open_run(folder / "killed").manifest["status"] == "running"
    main(["resume", str(folder / "killed"), "--json"])
    first, second = (open_run(folder / name) for name in ("whole", "killed"))
    assert first.manifest["scores"] == second.manifest["scores"]
    for name in ("soft", "hard"):
        weights = [(r.path / name / "weights.safetensors").read_bytes() for r in (first, second)]
        assert weights[0] == weights[1]


def test_a_folder_of_images_is_the_same_wherever_it_is_seen_from(tmp_path, monkeypatch, capsys):
    chance = np.random.default_rng(0)
    for i in range(60):
        name = ("red", "blue")[i % 2]
        pixels = chance.integers(60, 90, size=(8, 8, 3)).astype(np.uint8)
        pixels[:4, :4, 2 * (i % 2)] = 250
        (tmp_path / "photos" / name).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(tmp_path / "photos" / name / f"{i}.png")
    monkeypatch.chdir(tmp_path)
    main(["fit", "photos", "--tiles=4", "--encoder=none", "--out=run", *QUICK])
    main(["explain", "run", "photos/red", "--out=tiles.csv"])
    main(["predict", "run", "photos/red", "--out=answers.csv"])  # tiles.csv is not in its way
    assert (tmp_path / "answers.csv").read_text().count("red") > 25
    monkeypatch.chdir("/")
    capsys.readouterr()
    main(["trust", str(tmp_path / "run"), "--json"])  # the bags are found again, and are the same
    assert [one["bags"] for one in json.loads(capsys.readouterr().out)] == [12, 12]
