"""The commands as a user types them, in this process except where an import is what counts."""

import contextlib
import io
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from foveate.cli import COMMANDS, main
from foveate.maps import MAPS
from foveate.metrics.intervals import bootstrap
from foveate.paradigms import PARADIGMS
from foveate.runs import list_runs, open_run

TINY = ["--seeds", "2", "--epochs", "2", "--n", "50", "--n-test", "40"]
SOFT = [*TINY, "--paradigms", "soft"]
FIVE = ["soft", "hard", "lvml", "hybrid", "witness"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FOVEATE_RUNS", raising=False)
    monkeypatch.setenv("FOVEATE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def call(*arguments):
    """Exit code, output and error stream of a command."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(a) for a in arguments])
        except SystemExit as end:
            code = end.code or 0
    return code, out.getvalue(), err.getvalue()


def succeed(*arguments):
    code, out, err = call(*arguments)
    assert code == 0, err
    return out


def complain(*arguments):
    """The sentence of a command that must fail, and fail well."""
    code, out, err = call(*arguments)
    assert code == 2, (out, err)
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("foveate: ")
    assert "Traceback" not in err
    assert "pydantic" not in err
    return lines[0].removeprefix("foveate: ")


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


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


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small") / "race"
    assert call("race", "error-mode-1", *SOFT, "--out", folder)[0] == 0
    return folder


@pytest.fixture
def quick(small, tmp_path):
    """A copy of a race of soft attention alone, whose report is made sooner."""
    return Path(shutil.copytree(small, tmp_path / "copy"))


def test_a_race_prints_a_table_and_leaves_a_run(finished):
    folder, out, err = finished
    lines = out.splitlines()
    assert lines[0].strip() == "error-mode-1, m = 9, 2 seeds"
    for heading in ("accuracy", "FT", "SAIF", "CPU s", "classifier calls"):
        assert heading in lines[2]
    rows = [line.split("│")[1:-1] for line in lines if line.startswith("│")]
    assert [row[0].strip() for row in rows] == FIVE
    for (name, record), row in zip(open_run(folder).records().items(), rows, strict=True):
        interval = bootstrap(100 * record.last("accuracy"))
        shown = f"{interval.mean:.1f} [{interval.low:.1f}, {interval.high:.1f}]"
        assert row[1].strip() == shown, name
        assert row[5].strip() == f"{np.mean(record.meta['classifier_calls']):,.0f}"
    assert lines[-1] == f"report: {folder / 'report.html'}"
    assert err.splitlines() == [f"{name}: 2 of 2 done" for name in FIVE]
    expected = {"manifest.json", "gallery.npz", "report.html"}
    expected |= {
        f"{name}/{file}" for name in FIVE for file in ("record.npz", "weights.safetensors")
    }
    assert contents(folder).keys() == expected
    assert open_run(folder).done


def test_the_table_fits_a_terminal_of_eighty_columns(race, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    from foveate.tables import print_race

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_race(open_run(race))
    printed = out.getvalue()
    assert "…" not in printed
    for word in (*FIVE, "accuracy", "SAIF", "classifier calls", "epochs"):
        assert word in printed
    for record in open_run(race).records().values():
        interval = bootstrap(100 * record.last("ft"))
        assert f"[{interval.low:.1f}, {interval.high:.1f}]" in printed


def test_names_with_brackets_are_printed_as_they_are(quick):
    odd = quick.rename(quick.parent / "a[b]c")
    assert "a[b]c" in succeed("runs", odd.parent)
    from foveate.tables import print_race

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_race(open_run(odd))
    assert out.getvalue().splitlines()[-1] == f"report: {odd / 'report.html'}"


def test_json_has_the_promised_keys_and_the_numbers_of_the_records(here):
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
    assert calls == {"soft": 100, "hard": 400, "lvml": 400, "hybrid": 100, "witness": 250}


def test_the_command_in_the_manifest_repeats_the_race(here, monkeypatch):
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


def test_resuming_a_stopped_run_ends_as_if_it_never_had_been(finished, race):
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


def test_runs_are_listed_newest_first(here, quick, monkeypatch):
    assert succeed("runs") == "no runs in runs\n"
    runs = here / "runs"
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
    assert "copy" in succeed("runs", here)
    monkeypatch.setenv("FOVEATE_RUNS", str(here))
    assert "copy" in succeed("runs")


def test_a_report_is_rebuilt_or_compares_several(here, quick):
    (quick / "report.html").unlink()
    assert succeed("report", quick) == f"{quick / 'report.html'}\n"
    assert "error-mode-1" in (quick / "report.html").read_text()
    shutil.copytree(quick, here / "other")
    assert succeed("report", quick, "other") == "report.html\n"
    both = (here / "report.html").read_text()
    assert "other" in both
    assert "copy" in both


def test_figures_come_as_svg_and_png(here, quick):
    flags = ["--out", here / "page.html", "--figures", here / "figures"]
    lines = succeed("report", quick, *flags).splitlines()
    assert lines[0] == str(here / "page.html")
    assert "error-mode-1" in (here / "page.html").read_text()
    files = [Path(line) for line in lines[1:]]
    assert {path.suffix for path in files} == {".svg", ".png"}
    assert len(files) == len(set(files))
    assert sorted(files) == sorted((here / "figures").iterdir())
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


def test_a_toml_file_says_the_same_as_flags_and_flags_win(here):
    (here / "race.toml").write_text(
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


def test_equal_compute_gives_each_paradigm_the_epochs_it_can_pay_for(here):
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


def test_maps_and_regulariser_reach_the_training(here):
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


def images(path, labels=6, per_label=12, bad=None):
    chance = np.random.default_rng(0)
    x = chance.integers(0, 256, (labels * per_label, 4, 4), dtype=np.uint8)
    if bad is not None:
        x = x.astype(float)
        x[bad] = np.nan
    np.savez(path, X=x, y=np.arange(len(x)) % labels)
    return path


def parquet(folder):
    folder.mkdir()
    chance, cells = np.random.default_rng(0), []
    for _ in range(60):
        file = io.BytesIO()
        Image.fromarray(chance.integers(0, 256, (4, 4), dtype=np.uint8)).save(file, "PNG")
        cells.append({"bytes": file.getvalue(), "path": None})
    table = pa.table({"image": cells, "kind": [k % 5 for k in range(60)]})
    pq.write_table(table, folder / "train-00000-of-00001.parquet")
    return folder


def test_ones_own_files_are_cut_into_mosaics(here):
    path = images(here / "mine.npz")
    flags = [*SOFT, "--m", "3", "--foreground", "4,1", "--json"]
    answer = json.loads(succeed("race", path, *flags))
    assert answer["data"] == str(path)
    assert answer["m"] == 3
    run = open_run(answer["run"])
    assert run.name.startswith("race-mine-")
    assert run.manifest["sizes"]["classes"] == ["4", "1"]
    assert run.manifest["sizes"]["segment"] == [1, 4, 4]
    assert set(run.record("soft").final["y"].flatten().tolist()) == {0, 1}
    folder = parquet(here / "images")
    flags = [*SOFT, "--m", "3", "--foreground", "0,1,2", "--label", "kind", "--json"]
    answer = json.loads(succeed("race", "images", *flags))
    assert answer["data"] == str(folder)  # so that the run can be resumed from anywhere
    assert len(open_run(answer["run"]).manifest["sizes"]["classes"]) == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["race", "digts"], "unknown data set 'digts'. Did you mean 'digits'?"),
        (["race", "digits", "--paradigms", "soft,hrd"], "'hrd'. Did you mean 'hard'?"),
        (["race", "digits", "--map", "sparsmax"], "'sparsmax'. Did you mean 'sparsemax'?"),
        (["race", "digits", "--net", "mpl"], "unknown net 'mpl'. Did you mean 'mlp'?"),
        (["race", "digits", "--layer", "first"], "layer must be 'zeroth' or 'last', got 'first'"),
        (["race", "error-mode-1", "--layer", "last"], "no hidden layer to average"),
        (["race", "digits", "--optimizer", "adma"], "'sgd', 'adam' or 'adamw', got 'adma'"),
        (["race", "digits", "--m", "1"], "m: input should be greater than or equal to 2, got 1"),
        (["race", "digits", "--n", "0"], "n: input should be greater than or equal to 1, got 0"),
        (["race", "digits", "--n-test", "0"], "n-test: input should be greater than or equal to 1"),
        (["race", "digits", "--seeds", "0"], "seeds: input should be greater than or equal to 1"),
        (["race", "digits", "--epochs", "0"], "epochs: input should be greater than or equal to 1"),
        (["race", "digits", "--epochs", "x"], "epochs: input should be a valid integer"),
        (["race", "digits", "--lr", "-1"], "lr: input should be greater than 0, got -1"),
        (["race", "digits", "--lr", "fast"], "lr: input should be a valid number"),
        (["race", "digits", "--switch", "plato"], "switch must be a number or 'plateau'"),
        (["race", "digits", "--switch", "-0.5"], "switch must not be negative, got -0.5"),
        (["race", "digits", "--patience", "3"], "patience needs validation bags"),
        (["race", "digits", "--validation", "0.0001"], "leaves no bags on one side of 2000"),
        (
            ["race", "error-mode-1", "--equal-compute", "--switch", "plateau"],
            "equal compute needs a switch known beforehand",
        ),
        (["race", "digits", "--net", "vr23"], "'vr23' reads 3×32×32 images, got"),
        (["race", "digits", "--foreground", "0,1"], "are for a path, got the data set digits"),
        (["race", "nowhere/images"], "there is nothing at nowhere/images"),
        (["race", "nowhere.npz"], "there is nothing at nowhere.npz"),
        (["race", "digits", "--epoch", "3"], "Unknown option: --epoch. Did you mean --epochs?"),
        (["race", "digits", "mnist"], "mnist"),
        (["race", "digits", "--config", "nowhere.toml"], "there is no file nowhere.toml"),
        (["rce"], "rce"),
        (["list", "nothing"], "nothing"),
        (["resume"], "RUN"),
        (["resume", "nowhere"], "there is no run directory nowhere"),
        (["report", "nowhere"], "there is no run directory nowhere"),
        (["report"], "which run? 'foveate runs' lists them"),
    ],
    ids=lambda value: shlex.join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_sentence_and_leaves_nothing_behind(here, arguments, sentence):
    assert sentence in complain(*arguments)
    assert contents(here) == {}
    assert list_runs() == []


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ([], "which labels are foreground must be said for a path: --foreground 0,1,2"),
        (["--foreground", "0"], "foreground must be two or more labels"),
        (["--foreground", "0,9"], "empty classes: no image in the train split"),
        (["--foreground", "0,1,2,3,4,5"], "no background is left"),
        (["--foreground", "cat,dog"], "foreground must be whole numbers, got 'cat,dog'"),
        (["--foreground", "0,1", "--label", "kind"], "has no array 'kind': it holds X, y"),
        (["--foreground", "0,1", "--m", "1"], "m: input should be greater than or equal to 2"),
        (["--foreground", "0,1", "--net", "vr23"], "'vr23' reads 3×32×32 images"),
    ],
)
def test_files_that_do_not_fit_leave_nothing_behind(here, flags, sentence):
    path = images(here / "mine.npz")
    assert sentence in complain("race", path, *flags)
    assert contents(here).keys() == {"mine.npz"}


def test_pixels_that_are_not_numbers_are_found(here):
    path = images(here / "mine.npz", bad=17)
    assert "array 'X', row 17: must be finite" in complain("race", path, "--foreground", "0,1")
    (here / "half.npz").write_bytes(path.read_bytes()[:300])
    assert "half.npz is neither" in complain("race", "half.npz", "--foreground", "0,1")
    assert list_runs() == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("seeds = 2\nepoch = 3\n", "unknown setting 'epoch'. Did you mean 'epochs'?"),
        (
            "equal-comptue = true\n",
            "unknown setting 'equal_comptue'. Did you mean 'equal_compute'?",
        ),
        ("seeds = \n", "race.toml is not TOML: "),
        ("seeds = 2\nseeds = 3\n", "race.toml is not TOML: "),
        ("epochs = 'many'\n", "epochs: input should be a valid integer"),
        ("m = 1\n", "m: input should be greater than or equal to 2, got 1"),
        ("paradigms = ['soft', 'harrd']\n", "unknown paradigm 'harrd'. Did you mean 'hard'?"),
        ("[race]\nseeds = 2\n", "unknown setting 'race'"),
    ],
)
def test_a_typo_in_toml(here, text, sentence):
    (here / "race.toml").write_text(text)
    assert sentence in complain("race", "error-mode-1", "--config", "race.toml")
    assert contents(here).keys() == {"race.toml"}


def test_folders_that_cannot_be_written(here, quick, monkeypatch):
    (here / "file").write_text("dear")
    before = contents(here)
    assert "file is not empty" in complain("race", "error-mode-1", *SOFT, "--out", "file")
    assert "cannot make the folder" in complain("race", "error-mode-1", *SOFT, "--out", "file/x/y")
    sentence = complain("race", "error-mode-1", *SOFT, "--out", quick)
    assert sentence.endswith("copy is not empty: go on with 'foveate resume'")
    assert "file" in complain("report", quick, "--out", "file/page.html")
    assert "file" in complain("report", quick, "--out", here / "nowhere" / "file" / "page.html")
    monkeypatch.setenv("FOVEATE_RUNS", "file")
    assert "cannot make the folder file" in complain("race", "error-mode-1", *SOFT)
    assert contents(here) == before


def test_figures_need_a_folder(here, quick):
    (here / "file").write_text("dear")
    code, _, err = call("report", quick, "--figures", "file")
    assert code == 2
    assert err.startswith("foveate: ")
    assert len(err.splitlines()) == 1
    assert (here / "file").read_text() == "dear"


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("command", ["resume", "report"])
@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda run: cut(run / "manifest.json"), "manifest.json is damaged"),
        (lambda run: (run / "manifest.json").unlink(), "is not a run: it has no manifest.json"),
        (lambda run: (run / "manifest.json").write_text("{}"), "damaged: it lacks a sound kind"),
        (lambda run: cut(run / "soft" / "record.npz"), "soft/record.npz is damaged"),
        (lambda run: (run / "soft" / "record.npz").write_bytes(b""), "soft/record.npz is damaged"),
    ],
)
def test_a_damaged_run_is_a_sentence_and_stays_as_it_is(quick, command, damage, sentence):
    damage(quick)
    before = contents(quick)
    assert sentence in complain(command, quick)
    assert contents(quick) == before


def test_a_damaged_gallery_or_checkpoint_is_a_sentence_too(quick):
    gallery = (quick / "gallery.npz").read_bytes()
    cut(quick / "gallery.npz")
    assert "gallery.npz is damaged" in complain("report", quick)
    (quick / "gallery.npz").write_bytes(gallery)
    (quick / "soft" / "record.npz").unlink()
    (quick / "soft" / "checkpoint.safetensors").write_bytes(b"half")
    assert "checkpoint.safetensors is damaged" in complain("resume", quick)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("seeds", None, "seeds"),
        ("epochs", 0, "epochs: input should be greater than or equal to 1"),
        ("data", "digts", "unknown data set 'digts'"),
        ("flavour", "sour", "unknown setting 'flavour'"),
    ],
)
def test_a_manifest_with_another_config_does_not_resume(quick, key, value, sentence):
    run = open_run(quick)
    run.update(config={**run.manifest["config"], key: value})
    assert sentence in complain("resume", quick)


def test_data_sets_that_are_not_here_leave_no_run(here, monkeypatch):
    def offline(hub_id):
        raise ConnectionError("no network")

    monkeypatch.delenv("FOVEATE_DATA", raising=False)
    monkeypatch.setattr("foveate.data.hub._download", offline)
    assert "set FOVEATE_DATA" in complain("race", "mnist", *SOFT)
    assert list_runs() == []


def test_an_interrupt_says_how_to_go_on(monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("foveate.experiments.race.start_race", interrupted)
    code, _, err = call("race", "error-mode-1")
    assert code == 130
    assert err == "foveate: stopped; 'foveate resume' goes on from the last checkpoint\n"


def test_an_interrupt_promises_no_resume_where_there_is_none(monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("foveate.commands.races.list_runs", interrupted)
    assert call("runs") == (130, "", "foveate: stopped\n")


def test_a_mistake_of_ours_is_not_hidden(monkeypatch):
    def wrong(*args, **kwargs):
        raise ValueError("not the user's")

    monkeypatch.setattr("foveate.experiments.race.start_race", wrong)
    with pytest.raises(ValueError, match="not the user's"):
        call("race", "error-mode-1")


def foveate(*arguments):
    code = "import sys; from foveate.cli import COMMANDS, main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_help_is_there_at_once():
    def seconds():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "race" in foveate("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)

    assert min(seconds() for _ in range(3)) < 0.5


def test_help_names_every_command_and_flag():
    out = succeed("--help")
    for command in COMMANDS:
        assert command in out
    out = foveate("race", "--help")
    flags = "data label foreground paradigms seeds m n n-test net map layer entropy switch"
    flags += " equal-compute epochs batch lr optimizer validation patience stop-below"
    for flag in (flags + " config out json").split():
        assert f"--{flag}" in out
    assert succeed("--version").strip() == "foveate 0.1.0"
    assert os.listdir() == []
