"""Diverged trainings are named wherever their numbers are shown."""

import json

import numpy as np
import pytest

from foveate import FocusClassifier
from foveate.cli import main
from foveate.errors import FoveateError
from foveate.metrics.faults import dead_focus, dead_focus_warning, diverged, divergence, faults
from foveate.records.record import Record
from foveate.records.runs import open_run
from foveate.report.terminal.race import race_numbers

RUNAWAY = ("--lr", "1e12", "--optimizer", "sgd", "--epochs", "3", "--seeds", "2")


def record(*lost, lr=0.5, seeds=(3, 4, 5)):
    log_p = np.zeros((len(seeds), 2, 3))
    for seed in lost:
        log_p[seeds.index(seed), 1, 2] = np.nan
    s = np.random.default_rng(0).normal(size=(len(seeds), 2, 4))
    meta = {"seeds": list(seeds), "plan": {"lr": lr}}
    return Record(np.zeros(1), {}, {"log_p": log_p, "s": s}, meta)


def test_one_answer_that_is_no_number_is_enough():
    assert diverged(record()) == []
    assert diverged(record(4)) == [4]
    assert divergence({"soft": record(), "hard": record()}) == ""


def test_the_sentence_counts_seeds_and_names_the_lowest_rate():
    records = {"soft": record(4), "hard": record(), "lvml": record(3, 4, 5, lr=(0.1, 0.2, 0.3))}
    assert divergence(records) == (
        "training diverged for soft (1 of 3 seeds), lvml (3 of 3 seeds): their predictions "
        "are not numbers; a learning rate below 0.1 may help"
    )


def test_a_focus_is_dead_where_all_segments_there_are_have_one_score():
    healthy = record()
    healthy.final["s"][1] = 7.0
    healthy.final["s"][2] = 7.0 + 1e-9 * healthy.final["s"][2]  # rounding
    assert dead_focus(healthy) == [4, 5]
    healthy.final["s"][1, 0, 3] = 7.1
    assert dead_focus(healthy) == [5]
    healthy.final["mask"] = np.ones((3, 2, 4), bool)
    healthy.final["mask"][:, 0, 3] = False  # padding is no segment
    assert dead_focus(healthy) == [4, 5]
    assert dead_focus_warning({"soft": healthy, "hard": record()}).startswith(
        "the focus network is dead for soft (2 of 3 seeds): every segment has the same score"
    )
    assert dead_focus_warning({"hard": record()}) == ""
    healthy.final["log_p"][0] = np.nan
    assert [sentence.split(":")[0] for sentence in faults({"soft": healthy})] == [
        "training diverged for soft (1 of 3 seeds)",
        "the focus network is dead for soft (2 of 3 seeds)",
    ]


def test_a_dead_focus_is_named_by_a_race_and_its_report(tmp_path, capsys):
    """As the published networks, which have no biases, can come to have: put on disk by hand."""
    run = tmp_path / "run"
    inputs = ["--epochs", "1", "--seeds", "2", "--n", "60", "--m", "4", "--paradigms", "soft"]
    main(["race", "digits", *inputs, "--out", str(run)])
    assert "warning" not in capsys.readouterr().out
    dead = Record.load(run / "soft" / "record.npz")
    dead.final["s"][1] = 0.0
    dead.save(run / "soft" / "record.npz")
    main(["resume", str(run)])
    sentence = "the focus network is dead for {} (1 of 2 seeds)"
    assert f"warning: {sentence.format('soft')}" in capsys.readouterr().out
    assert f"Read with care: {sentence.format('Soft')}" in (run / "report.html").read_text()
    assert race_numbers(open_run(run))["paradigms"]["soft"]["silent"] == [1]


def test_a_diverged_race_is_reported_in_table_numbers_and_report(tmp_path, capsys):
    run = tmp_path / "run"
    main(["race", "digits", *RUNAWAY, "--paradigms", "soft,lvml", "--out", str(run)])
    sentence = "training diverged for soft (2 of 2 seeds), lvml (2 of 2 seeds)"
    assert f"warning: {sentence}" in capsys.readouterr().out
    page = (run / "report.html").read_text()
    assert "training diverged for Soft (2 of 2 seeds), LVML (2 of 2 seeds)" in page
    main(["race", "digits", *RUNAWAY, "--paradigms", "soft", "--out", str(run) + "2", "--json"])
    numbers = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert numbers["paradigms"]["soft"]["diverged"] == [0, 1]
    with pytest.raises(SystemExit, match="2"):
        main(["trust", str(run)])
    assert sentence in capsys.readouterr().err


@pytest.fixture
def table(tmp_path):
    """Sixty bags of two classes, four segments each."""
    rng, path = np.random.default_rng(0), tmp_path / "own.csv"
    rows = ["bag,label,a,b"]
    for i in range(60):
        for v in rng.normal(size=(4, 2)):
            rows.append(f"{i},{'ab'[i % 2]},{v[0]},{v[1]}")
    path.write_text("\n".join(rows))
    return path


def test_a_fit_compares_what_is_sound(table, tmp_path, capsys):
    inputs = [
        "--folds",
        "1",
        "--lr",
        "1e30",
        "--seeds",
        "2",
        "--epochs",
        "5",
        "--out",
        str(tmp_path / "run"),
    ]
    with pytest.raises(SystemExit, match="2"):
        main(["fit", str(table), "--paradigms", "soft,hard", *inputs])
    assert "training diverged for soft (2 of 2 seeds), hard" in capsys.readouterr().err


def test_a_diverged_paradigm_is_left_out_of_a_fit(table, tmp_path, capsys):
    """One of two: its record is spoilt on disk, and the fit goes on from there."""
    run = tmp_path / "run"
    inputs = [
        "--folds",
        "1",
        "--paradigms",
        "soft,lvml",
        "--seeds",
        "2",
        "--epochs",
        "2",
        "--out",
        str(run),
    ]
    main(["fit", str(table), *inputs])
    spoilt = Record.load(run / "soft" / "record.npz")
    spoilt.final["log_p"][0] = np.nan
    spoilt.save(run / "soft" / "record.npz")
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["checksum"]
    (run / "manifest.json").write_text(json.dumps(manifest | {"status": "running"}))
    capsys.readouterr()
    main(["resume", str(run)])
    out, page = capsys.readouterr().out, (run / "report.html").read_text()
    assert "warning: not compared, for training diverged for soft (1 of 2 seeds)" in out
    assert "Not compared: training diverged for Soft (1 of 2 seeds)" in page
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["chosen"] == "lvml"
    assert list(manifest["scores"]) == ["lvml"]


def test_the_estimator_refuses_to_end_with_answers_that_are_no_numbers():
    rng = np.random.default_rng(0)
    bags, y = [rng.normal(size=(4, 2)) for _ in range(20)], np.arange(20) % 2
    with pytest.raises(FoveateError, match=r"diverged for hybrid \(1 of 1 seeds\).* below 1e\+30"):
        FocusClassifier(lr=1e30, epochs=5, seeds=1).fit(bags, y)
