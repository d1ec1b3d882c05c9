"""Races and their runs: what is printed, what is left behind, how they go on."""

import contextlib
import io
import json
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from foveate.attention.maps import MAPS
from foveate.attention.paradigms import PARADIGMS
from foveate.cli import main
from foveate.metrics.intervals import mean_interval
from foveate.records.runs import list_runs, open_run

from .typed import SOFT, TINY, call, contents, succeed

FIVE = ["soft", "hard", "lvml", "hybrid", "witness"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A race of the four on error mode 1: its directory and what was printed."""
    folder = tmp_path_factory.mktemp("finished") / "race"
    code, out, err = call("race", "error-mode-1", *TINY, "--out", folder)
    assert code == 0, err
    return folder, out, err


@pytest.fixture
def race(finished, tmp_path):
    """A copy of that run, to be damaged."""
    return Path(shutil.copytree(finished[0], tmp_path / "copy"))


def test_a_race_prints_a_table_and_leaves_a_run(finished):
    folder, out, err = finished
    lines = out.splitlines()
    assert lines[0].strip() == "error-mode-1, m = 9, 2 seeds"
    for heading in ("Accuracy", "FT", "SAIF", "CPU s", "classifier calls"):
        assert heading in lines[2]
    rows = [line.split("│")[1:-1] for line in lines if line.startswith("│")]
    assert [row[0].strip() for row in rows] == FIVE
    for (name, record), row in zip(open_run(folder).records().items(), rows, strict=True):
        interval = mean_interval(100 * record.last("accuracy"), within=(0, 100))
        text = f"{interval.mean:.1f} [{interval.low:.1f}, {interval.high:.1f}]"
        assert row[1].strip() == text, name
        assert row[5].strip() == f"{np.mean(record.meta['classifier_calls']):,.0f}"
    assert lines[-1] == f"report: {folder / 'report.html'}"
    assert err.splitlines() == [f"{name}: 2 of 2 done" for name in FIVE]
    expected = {"manifest.json", "gallery.npz", "report.html", ".lock"}
    expected |= {
        f"{name}/{file}" for name in FIVE for file in ("record.npz", "weights.safetensors")
    }
    assert contents(folder).keys() == expected
    assert open_run(folder).done


def test_the_table_fits_a_terminal_of_eighty_columns(race, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    from foveate.report.terminal.race import print_race

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_race(open_run(race))
    printed = out.getvalue()
    assert "…" not in printed
    for word in (*FIVE, "Accuracy", "SAIF", "classifier calls", "epochs"):
        assert word in printed
    for record in open_run(race).records().values():
        interval = mean_interval(100 * record.last("ft"), within=(0, 100))
        assert f"[{interval.low:.1f}, {interval.high:.1f}]" in printed


def test_names_with_brackets_are_printed_as_they_are(quick):
    odd = quick.rename(quick.parent / "a[b]c")
    assert "a[b]c" in succeed("runs", odd.parent)
    from foveate.report.terminal.race import print_race

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_race(open_run(odd))
    assert out.getvalue().splitlines()[-1] == f"report: {odd / 'report.html'}"


def test_json_has_the_promised_keys_and_the_numbers_of_the_records(workdir):
    out = succeed("race", "digits", *TINY, "--m", "4", "--json")
    answer = json.loads(out)
    (run,) = list_runs()
    assert list(answer) == ["data", "m", "seeds", "run", "paradigms"]
    assert answer["data"] == "digits"
    assert (answer["m"], answer["seeds"]) == (4, 2)
    assert Path(answer["run"]).resolve() == run.path.resolve()
    assert (run.path / "report.html").exists()
    assert list(answer["paradigms"]) == FIVE
    for name, record in run.records().items():
        numbers = answer["paradigms"][name]
        shares = ["accuracy", "ft", "saif"]
        assert list(numbers) == [*shares, "cpu_seconds", "classifier_calls"]
        for share in shares:
            mean, low, high = (numbers[share][k] for k in ("mean", "low", "high"))
            assert len(numbers[share]) == 3
            assert 0 <= low <= mean <= high <= 100
            assert mean == pytest.approx(100 * record.values[share][-1].mean())
        assert numbers["classifier_calls"] == np.mean(record.meta["classifier_calls"])
        assert numbers["cpu_seconds"] == pytest.approx(record.meta["cpu_seconds"] / 2)
        correct = record.final["log_p"].argmax(-1) == record.final["y"]
        assert numbers["accuracy"]["mean"] == pytest.approx(100 * correct.mean())
    calls = {k: v["classifier_calls"] for k, v in answer["paradigms"].items()}
    assert calls == {"soft": 100, "hard": 400, "lvml": 400, "hybrid": 100, "witness": 350}


def test_the_command_in_the_manifest_repeats_the_race(workdir, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["foveate", "race", "error-mode-1", *SOFT, "--lr", ".02"])
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main()
        (first,) = list_runs()
        monkeypatch.setattr(sys, "argv", shlex.split(first.manifest["command"]))
        main()
    second, again = list_runs()
    assert again.path == first.path
    one, other = first.record("soft"), second.record("soft")
    assert one.final.keys() == other.final.keys()
    for name, value in one.final.items():
        assert value.tobytes() == other.final[name].tobytes(), name


def test_resuming_a_finished_run_is_harmless(race):
    before = contents(race)
    answer = json.loads(succeed("resume", race, "--json"))
    after = contents(race)
    assert list(answer["paradigms"]) == FIVE
    assert before.keys() == after.keys()
    changed = {name for name in before if before[name] != after[name]}
    assert changed <= {"manifest.json", "report.html"}  # the time it took


def test_resuming_a_stopped_run_equals_an_uninterrupted_run(finished, race):
    whole = contents(race)
    for name in ("lvml", "hybrid"):
        shutil.rmtree(race / name)
    (race / "gallery.npz").unlink()
    (race / "report.html").unlink()
    open_run(race).update(status="running", resolved={})
    assert "hybrid" in succeed("resume", race)
    resumed = contents(race)
    assert resumed.keys() == whole.keys()
    for name in FIVE:
        weights = f"{name}/weights.safetensors"
        assert resumed[weights] == whole[weights]
        record, other = open_run(race).record(name), open_run(finished[0]).record(name)
        for part in ("values", "final"):
            for key, value in getattr(record, part).items():
                assert value.tobytes() == getattr(other, part)[key].tobytes(), (name, key)
    assert resumed["gallery.npz"] == whole["gallery.npz"]
    assert open_run(race).manifest["resolved"] == open_run(finished[0]).manifest["resolved"]


def test_runs_are_listed_newest_first(workdir, quick, monkeypatch):
    assert succeed("runs") == "no runs in runs\n"
    runs = workdir / "runs"
    for name, day in (("old", "01"), ("new", "02")):
        shutil.copytree(quick, runs / name)
        open_run(runs / name).update(created=f"2001-01-{day}T00:00:00+00:00")
    (runs / "broken").mkdir()
    (runs / "broken" / "manifest.json").write_text("{")
    rows = [line for line in succeed("runs").splitlines() if line.startswith("│")]
    assert [row.split("│")[1].strip() for row in rows] == ["new", "old"]
    assert "soft" in rows[0]
    assert "2001-01-02 00:00" in rows[0]
    assert "done" in rows[0]
    assert "copy" in succeed("runs", workdir)
    monkeypatch.setenv("FOVEATE_RUNS", str(workdir))
    assert "copy" in succeed("runs")


def test_a_report_is_rebuilt_or_compares_several(workdir, quick):
    (quick / "report.html").unlink()
    assert succeed("report", quick) == f"{quick / 'report.html'}\n"
    assert "error-mode-1" in (quick / "report.html").read_text()
    shutil.copytree(quick, workdir / "other")
    assert succeed("report", quick, "other") == "report.html\n"
    both = (workdir / "report.html").read_text()
    assert "other" in both
    assert "copy" in both


def test_figures_come_as_svg_and_png(workdir, quick):
    flags = ["--out", workdir / "page.html", "--figures", workdir / "figures"]
    lines = succeed("report", quick, *flags).splitlines()
    assert lines[0] == str(workdir / "page.html")
    assert "error-mode-1" in (workdir / "page.html").read_text()
    files = [Path(line) for line in lines[1:]]
    assert {path.suffix for path in files} == {".svg", ".png"}
    assert len(files) == len(set(files))
    assert sorted(files) == sorted((workdir / "figures").iterdir())
    for path in files:
        head = path.read_bytes()[:8]
        assert head == b"\x89PNG\r\n\x1a\n" if path.suffix == ".png" else head.startswith(b"<svg")
    stems = {s: sorted(p.stem for p in files if p.suffix == s) for s in (".svg", ".png")}
    assert stems[".svg"] == stems[".png"]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("datasets", ["digits", "mnist", "cifar10", "cifar100", "error-mode-1"]),
        ("paradigms", PARADIGMS.names()),
        ("maps", MAPS.names()),
    ],
)
def test_lists_give_each_name_a_line(kind, names):
    rows = dict(line.split(maxsplit=1) for line in succeed("list", kind).splitlines())
    assert set(names) <= rows.keys()
    assert all(len(about) > 10 for about in rows.values())


def test_experiments_are_listed():
    code, _, err = call("list", "experiments")
    assert (code, err) == (0, "")


def test_a_toml_file_says_the_same_as_flags_and_flags_win(workdir):
    (workdir / "race.toml").write_text(
        'data = "error-mode-2"\nseeds = 2\nn = 50\nn-test = 40\nepochs = 3\n'
        'paradigms = ["soft"]\nlr = 0.5\nswitch = 0.25\n'
    )
    answer = json.loads(succeed("race", "--config", "race.toml", "--epochs", "2", "--json"))
    assert answer["data"] == "error-mode-2"
    assert list(answer["paradigms"]) == ["soft"]
    config = open_run(answer["run"]).manifest["config"]
    assert {k: config[k] for k in ("seeds", "n", "n_test", "epochs", "lr", "switch")} == {
        "seeds": 2,
        "n": 50,
        "n_test": 40,
        "epochs": 2,
        "lr": 0.5,
        "switch": 0.25,
    }
    named = json.loads(succeed("race", "error-mode-1", "--config", "race.toml", "--json"))
    assert named["data"] == "error-mode-1"  # the name on the command line wins too


def test_equal_compute_sets_the_epochs_of_each_paradigm(workdir):
    flags = ["--seeds", "1", "--n", "20", "--n-test", "10", "--epochs", "20", "--switch", "0.5"]
    answer = json.loads(succeed("race", "error-mode-1", *flags, "--equal-compute", "--json"))
    run = open_run(answer["run"])
    assert answer["paradigms"]["soft"]["ft"]["low"] is None  # one seed has no interval
    m, f, g = 9, 2, 2 * 3  # multiplications of the linear pair for one segment
    budget = 20 * (m * f + g)
    epochs = {name: part["epochs"] for name, part in run.manifest["resolved"].items()}
    assert epochs["soft"] == 20
    assert epochs["hard"] == epochs["lvml"] == budget // (m * f + m * g)
    soft = round(0.5 * epochs["hybrid"])
    assert 20 > epochs["hybrid"] > epochs["hard"]
    spent = epochs["hybrid"] * m * f + (soft + (epochs["hybrid"] - soft) * m) * g
    assert spent <= budget
    for name, record in run.records().items():
        assert record.meta["epochs_run"] == epochs[name]


def test_maps_and_regulariser_reach_the_training(workdir):
    flags = ["--map", "sparsemax", "--entropy", "0.1", "--net", "mlp", "--layer", "last"]
    answer = json.loads(succeed("race", "error-mode-1", *SOFT, *flags, "--json"))
    run = open_run(answer["run"])
    assert (run.record("soft").final["alpha"] == 0).any()  # softmax would leave none
    config = run.manifest["config"]
    assert [config[k] for k in ("map", "entropy", "net", "layer")] == [
        "sparsemax",
        0.1,
        "mlp",
        "last",
    ]
