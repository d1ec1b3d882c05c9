"""Damaged files of a run are named; none is read with other numbers."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from foveate.cli import main
from foveate.errors import FoveateError
from foveate.jobs.experiment import findings_of
from foveate.records.checksums import has_checksum, seal_json, verify_json
from foveate.records.record import load_arrays, load_checkpoint, save_arrays, save_checkpoint
from foveate.records.runs import create_run, open_run
from foveate.userdata.model_card import model_card
from small_training import fit_small_table

OLD = Path(__file__).parents[1] / "fixtures" / "runs"


def flipped(content, count, seed=0):
    """Copies of a file with one bit flipped, spread over its length."""
    chance = np.random.default_rng(seed)
    for place in np.unique(np.linspace(0, len(content) - 1, count).astype(int)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(chance.integers(8))
        yield bytes(damaged)


def attempt(function, *arguments):
    """The message of the error that a call raises, and the result if it raises none."""
    try:
        return "", function(*arguments)
    except (FoveateError, SystemExit) as error:
        return str(error), None


def test_every_flipped_bit_of_a_checkpoint_is_noticed(tmp_path):
    path = tmp_path / "weights.safetensors"
    save_checkpoint(path, {"a": torch.arange(6.0), "b": torch.ones(2, 3)}, {"epoch": 3})
    whole = path.read_bytes()
    assert has_checksum(path)
    assert load_file(path)["a"].tolist() == list(range(6))
    for damaged in flipped(whole, len(whole)):
        path.write_bytes(damaged)
        message, loaded = attempt(load_checkpoint, path)
        if loaded is None:
            assert str(path) in message
        else:  # a bit of the word sha256, or a space
            assert loaded[0]["a"].tolist() == list(range(6))
            assert loaded[1] == {"epoch": 3}


def test_a_damaged_name_of_the_checksum_does_not_hide_damaged_numbers(tmp_path):
    weights, record = tmp_path / "weights.safetensors", tmp_path / "record.npz"
    save_checkpoint(weights, {"a": torch.arange(6.0)}, {})
    save_arrays(record, {"a": np.arange(6.0)})
    number, other = np.float32(3).tobytes(), np.float32(4).tobytes()
    weights.write_bytes(weights.read_bytes().replace(b"sha256", b"shx256").replace(number, other))
    record.write_bytes(record.read_bytes().replace(b"foveate-sha256:", b"foveate-shx256:"))
    for path, load in ((weights, load_checkpoint), (record, load_arrays)):
        with pytest.raises(FoveateError, match="its checksum does not match"):
            load(path)


@pytest.mark.parametrize("name", ["chfcksum", "hecksum", "checksu\u00ed", "Checksum"])
def test_a_damaged_name_of_the_checksum_of_json_is_noticed(tmp_path, name):
    content = json.loads(seal_json({"a": 1}))
    path = tmp_path / "training_summary.json"
    with pytest.raises(FoveateError, match="its checksum does not match"):
        verify_json(path, {"a": 2, name: content["checksum"]})


def test_a_flipped_bit_of_arrays_is_noticed(tmp_path):
    path = tmp_path / "record.npz"
    save_arrays(path, {"a": np.arange(50.0), "b": np.ones((2, 3))})
    whole = path.read_bytes()
    assert has_checksum(path)
    with np.load(path) as opened:
        assert opened["a"].tolist() == list(range(50))
    for damaged in flipped(whole, len(whole)):
        path.write_bytes(damaged)
        message, arrays = attempt(load_arrays, path)
        if arrays is None:
            assert "delete its folder, and 'foveate resume'" in message
        else:
            assert arrays.keys() == {"a", "b"}
            assert arrays["a"].tolist() == list(range(50))


def test_an_edited_manifest_is_named_with_what_to_do(tmp_path):
    run = create_run(tmp_path / "run", "race", "digits", parts=[], config={"lr": 0.25})
    file = run.path / "manifest.json"
    file.write_text(file.read_text().replace("0.25", "0.75"))
    with pytest.raises(
        FoveateError, match=r"manifest.json is damaged: its checksum.*delete its en"
    ):
        open_run(run.path)
    content = json.loads(file.read_text())
    del content["checksum"]
    file.write_text(json.dumps(content))
    assert open_run(run.path).manifest["config"] == {"lr": 0.75}


@pytest.mark.parametrize("value", [{}, {"a": [1, 2.5, None, "é\u2028"]}, {"b": {"x": 1e-300}}])
def test_json_is_verified(value):
    content = json.loads(seal_json(value))
    assert verify_json(Path("x.json"), content) == value
    with pytest.raises(FoveateError, match="checksum does not match"):
        verify_json(Path("x.json"), {**content, "more": 1})


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    """A small fit, and what its predictions are."""
    folder = tmp_path_factory.mktemp("damage")
    fit_small_table(folder)
    main(["predict", str(folder / "run"), str(folder / "t.csv"), "--out", str(folder / "p.csv")])
    return folder


@pytest.mark.parametrize("name", ["trust.json", "model_card.json"])
def test_a_changed_verdict_is_noticed(fit, tmp_path, capsys, name):
    run = shutil.copytree(fit / "run", tmp_path / "run")
    assert has_checksum(run / name)
    text = (run / name).read_text()
    grade = json.loads((run / "model_card.json").read_text())["attention"]["verdict"]
    (run / name).write_text(text.replace(f'"{grade}"', '"trust it fully"', 1))
    assert attempt(main, ["doctor", str(run)])[0] == "2"
    assert f"{name} is damaged: its checksum does not match" in capsys.readouterr().out


@pytest.mark.parametrize("cut", [0.3, 0.7])
def test_a_verdict_that_is_cut_off_is_named(fit, tmp_path, capsys, cut):
    run = shutil.copytree(fit / "run", tmp_path / "run")
    path = run / "trust.json"
    path.write_bytes(path.read_bytes()[: int(cut * path.stat().st_size)])
    with pytest.raises(FoveateError, match=r"trust.json is damaged: .*'foveate trust' on the run"):
        model_card(open_run(run))


FILES = ["manifest.json", "preparation.safetensors", "soft/weights.safetensors"]


@pytest.mark.parametrize("name", FILES)
def test_no_damaged_file_changes_a_prediction(fit, tmp_path, capsys, name):
    run = shutil.copytree(fit / "run", tmp_path / "run")
    whole, expected = (run / name).read_bytes(), (fit / "p.csv").read_bytes()
    for damaged in flipped(whole, 12):
        (run / name).write_bytes(damaged)
        out = tmp_path / "p.csv"
        out.unlink(missing_ok=True)
        code, _ = attempt(main, ["predict", str(run), str(fit / "t.csv"), "--out", str(out)])
        if code:
            assert code == "2"
            assert name.rpartition("/")[2] in capsys.readouterr().err
        else:
            assert out.read_bytes() == expected


def test_damaged_findings_are_named_and_written_again(tmp_path, capsys):
    run = tmp_path / "run"
    main(["run", "word-counts", "--scale", "smoke", "--out", str(run)])
    expected, file = findings_of(open_run(run)), run / "findings.json"
    file.write_text(file.read_text().replace('"holds"', '"contradicted"', 1))
    assert attempt(main, ["report", str(run)])[0] == "2"
    assert "findings.json is damaged" in capsys.readouterr().err
    main(["resume", str(run)])
    assert findings_of(open_run(run)) == expected


def test_files_of_older_versions_have_no_checksum_and_are_read():
    run = open_run(OLD / "fit")
    assert run.records()
    assert not has_checksum(OLD / "fit" / "manifest.json")
    assert not has_checksum(OLD / "fit" / "preparation.safetensors")


def test_the_manifest_names_the_versions_of_each_part(fit):
    manifest = open_run(fit / "run").manifest
    assert manifest["part_versions"]["soft"] == manifest["versions"]
