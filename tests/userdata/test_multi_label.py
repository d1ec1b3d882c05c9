"""Multi-label bags: reading, shared folds, decisions per label, predictions, verdicts."""

import csv
import json
import random

import numpy as np
import pytest

from foveate.cli import main
from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.jobs.lifecycle import resume_job, start_job
from foveate.jobs.multi_label import MultiLabelJob
from foveate.records.record import load_arrays
from foveate.records.runs import open_run
from foveate.userdata.fold_draw import draw_folds
from foveate.userdata.folds import load_folds
from foveate.userdata.multi_label import label_runs
from foveate.userdata.settings import FitSettings
from foveate.userdata.source import Origin
from foveate.userdata.thresholds import choose_threshold

QUICK = {"folds": 3, "seeds": 1, "epochs": 8, "batch": 16, "lr": 0.05, "paradigms": ("max",)}


def _write(folder, n=48):
    """Bags of 3 to 5 segments; "cat" shifts the first column of one, "dog" the second."""
    chance = random.Random(0)
    flags, lists, new = [], [], []
    for i in range(n):
        cat, dog = chance.random() < 0.5, chance.random() < 0.4
        rows = [[chance.gauss(0, 1), chance.gauss(0, 1)] for _ in range(chance.randint(3, 5))]
        rows[0][0] += 6 * cat
        rows[1][1] -= 6 * dog
        named = ";".join(name for name, there in (("dog", dog), ("cat", cat)) if there)
        flags += [[f"b{i}", int(cat), int(dog), *row] for row in rows]
        lists += [[f"b{i}", named, *row] for row in rows]
        new += [[f"b{i}", *row] for row in rows]
    for name, head, rows in (
        ("flags.csv", ["bag", "cat", "dog", "x", "y"], flags),
        ("lists.csv", ["bag", "tags", "x", "y"], lists),
        ("new.csv", ["bag", "x", "y"], new),
    ):
        with open(folder / name, "w", newline="") as file:
            csv.writer(file).writerows([head, *rows])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables of the same bags: a column per label, a column of lists, and without labels."""
    path = tmp_path_factory.mktemp("labels")
    _write(path)
    return path


@pytest.fixture(scope="module")
def run(folder):
    """A finished multi-label run."""
    origin = Origin(folder / "flags.csv", {"labels": ("cat", "dog")})
    job = MultiLabelJob(FitSettings(**QUICK), origin.read(labelled=True), origin)
    return start_job(job, out=folder / "run")


def test_columns_of_flags_and_a_column_of_lists_are_the_same_bags(folder):
    flags = read_bags(folder / "flags.csv", labels=("cat", "dog"))
    lists = read_bags(folder / "lists.csv", labels=("tags",))
    assert flags.label_names == lists.label_names == ("cat", "dog")
    assert flags.labels.equal(lists.labels)
    assert flags.columns == lists.columns == ("x", "y")
    assert flags.multi_label
    assert not flags.of_label("cat").multi_label


def test_folds_balance_every_label():
    chance = np.random.default_rng(0)
    labels = (chance.random((300, 4)) < (0.5, 0.2, 0.1, 0.05)).astype(int)
    fold = draw_folds(labels, None, 5, seed=0)
    for column in labels.T:
        counts = np.bincount(fold, weights=column, minlength=5)
        assert counts.max() - counts.min() <= 4
    assert np.ptp(np.bincount(fold)) <= 6


def test_labels_share_folds_and_thresholds_come_from_other_folds(run):
    shared = load_folds(run.path)
    for name, own in label_runs(run).items():
        assert (load_folds(own.path).fold == shared.fold).all()
        arrays = load_arrays(own.path / "out_of_fold.npz")
        record = run.record(f"label{run.manifest['labels'].index(name) + 1}")
        p, y, fold = arrays["p/mixture"][:, 1], arrays["y"], shared.fold[0]
        for k in range(3):
            here = fold == k
            value = choose_threshold(p[~here], y[~here], "f1")
            assert (record.final["called"][here] == (p[here] >= value)).all()
    assert run.manifest["overall"]["macro_auroc"] > 0.85
    has = np.stack([r.final["y"] for r in run.records().values()], 1)
    called = np.stack([r.final["called"] for r in run.records().values()], 1)
    assert run.manifest["overall"]["hamming_loss"] == pytest.approx((has != called).mean())


def test_resuming_fits_only_missing_labels(run, folder):
    before = {name: own.manifest["created"] for name, own in label_runs(run).items()}
    record = run.path / "label2" / "record.npz"
    values = record.read_bytes()
    record.unlink()
    run.update(status="running")
    again = resume_job(open_run(run.path))
    assert again.manifest["overall"] == run.manifest["overall"]
    assert {name: own.manifest["created"] for name, own in label_runs(again).items()} == before
    record.write_bytes(values)


def test_predictions_and_evidence_of_new_bags(run, folder, capsys):
    out = folder / "answers.csv"
    main(["predict", str(run.path), str(folder / "new.csv"), "--out", str(out)])
    with open(out) as file:
        rows = list(csv.DictReader(file))
    thresholds = {
        name: run.manifest["scores"][name]["threshold"]["value"] for name in ("cat", "dog")
    }
    for row in rows:
        called = [name for name in ("cat", "dog") if float(row[f"p_{name}"]) >= thresholds[name]]
        assert row["predicted"] == "|".join(called)
    segments = folder / "segments.csv"
    main(["explain", str(run.path), str(folder / "new.csv"), "--out", str(segments)])
    with open(segments) as file:
        table = list(csv.DictReader(file))
    truth = read_bags(folder / "flags.csv", labels=("cat", "dog"))
    hits = []
    for i, name in enumerate(truth.ids):
        own = [float(row["evidence_cat"]) for row in table if row["bag"] == name]
        hits += [int(np.argmax(own)) == 0] if truth.labels[i, 0] else []
    assert np.mean(hits) > 0.9
    with pytest.raises(SystemExit):
        main(["export", str(run.path), "--onnx", str(folder / "model.onnx")])
    assert "RUN/label1/fit" in capsys.readouterr().err


def test_every_label_gets_a_verdict_with_the_others_explained_away(run, capsys, monkeypatch):
    from foveate.trust import auditor

    seen = []
    original = auditor.explained
    monkeypatch.setattr(auditor, "explained", lambda *a: seen.append(a[0]) or original(*a))
    main(["trust", str(run.path), "--json"])
    verdicts = json.loads(capsys.readouterr().out)
    assert set(verdicts) == {"cat", "dog"}
    truth = read_bags(run.path.parent / "flags.csv", labels=("cat", "dog")).labels.numpy()
    assert [labels.shape[1] for labels in seen] == [1, 1]
    assert (seen[0][:, 0] == truth[:, 1]).all()
    assert (seen[1][:, 0] == truth[:, 0]).all()
    page = (run.path / "report.html").read_text()
    assert verdicts["cat"] in page
    assert 'href="label1/fit/report.html"' in page


def test_a_label_of_too_few_bags_is_refused(folder):
    bags = read_bags(folder / "flags.csv", labels=("cat", "dog"))
    bags.labels[2:, 1] = False
    bags.labels[:2, 1] = True
    with pytest.raises(FoveateError, match=r"label 'dog': 3 folds need 3 bags of every class"):
        start_job(MultiLabelJob(FitSettings(**QUICK), bags), out=folder / "few")
    with pytest.raises(FoveateError, match="multi-label bags are fitted in folds"):
        start_job(MultiLabelJob(FitSettings(folds=1), bags), out=folder / "one")


def test_label_and_labels_exclude_each_other(folder):
    with pytest.raises(FoveateError, match="one label or several"):
        read_bags(folder / "flags.csv", label="cat", labels=("dog",))
