"""Mistakes: a sentence each, exit code 2, and nothing left behind or changed."""

import shlex

import pytest

from foveate.records.runs import list_runs, open_run

from .typed import SOFT, call, complain, contents


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
            "equal compute needs a switch epoch that is known in advance",
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
def test_a_mistake_is_one_sentence_and_leaves_no_files(workdir, arguments, sentence):
    assert sentence in complain(*arguments)
    assert contents(workdir) == {}
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
def test_a_typo_in_toml(workdir, text, sentence):
    (workdir / "race.toml").write_text(text)
    assert sentence in complain("race", "error-mode-1", "--config", "race.toml")
    assert contents(workdir).keys() == {"race.toml"}


def test_folders_that_cannot_be_written(workdir, quick, monkeypatch):
    (workdir / "file").write_text("dear")
    before = contents(workdir)
    assert "file is not empty" in complain("race", "error-mode-1", *SOFT, "--out", "file")
    assert "cannot make the folder" in complain("race", "error-mode-1", *SOFT, "--out", "file/x/y")
    sentence = complain("race", "error-mode-1", *SOFT, "--out", quick)
    assert sentence.endswith("copy is not empty: go on with 'foveate resume'")
    assert "file" in complain("report", quick, "--out", "file/page.html")
    assert "file" in complain("report", quick, "--out", workdir / "nowhere" / "file" / "page.html")
    monkeypatch.setenv("FOVEATE_RUNS", "file")
    assert "cannot make the folder file" in complain("race", "error-mode-1", *SOFT)
    assert contents(workdir) == before


def test_figures_need_a_folder(workdir, quick):
    (workdir / "file").write_text("dear")
    code, _, err = call("report", quick, "--figures", "file")
    assert code == 2
    assert err.startswith("foveate: ")
    assert len(err.splitlines()) == 1
    assert (workdir / "file").read_text() == "dear"


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("command", ["resume", "report"])
@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda run: cut(run / "manifest.json"), "manifest.json is damaged"),
        (lambda run: (run / "manifest.json").unlink(), "is not a run: it has no manifest.json"),
        (
            lambda run: (run / "manifest.json").write_text("{}"),
            "damaged: its entry 'kind' is missing",
        ),
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


def test_data_sets_that_are_not_here_leave_no_run(workdir, monkeypatch):
    def offline(hub_id):
        raise ConnectionError("no network")

    monkeypatch.delenv("FOVEATE_DATA", raising=False)
    monkeypatch.setattr("foveate.data.files.hub._download", offline)
    assert "set FOVEATE_DATA" in complain("race", "mnist", *SOFT)
    assert list_runs() == []
