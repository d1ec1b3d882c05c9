"""The doctor names damage, versions and leftovers, and removes what can be computed again."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from foveate.cli import main

OLD = Path(__file__).parents[1] / "fixtures" / "runs"


@pytest.fixture(scope="module")
def race(tmp_path_factory):
    run = tmp_path_factory.mktemp("doctor") / "race"
    sizes = ["--seeds", "1", "--epochs", "2", "--n", "60", "--n-test", "20"]
    main(["race", "digits", "--paradigms", "soft,hard", *sizes, "--out", str(run)])
    return run


@pytest.fixture
def run(race, tmp_path):
    return shutil.copytree(race, tmp_path / "race")


def test_a_sound_run(run, capsys):
    main(["doctor", str(run)])
    assert capsys.readouterr().out == f"{run}: no damage found\n"


def test_damage_is_named_and_repaired_by_resume(run, capsys):
    expected = {}
    with np.load(run / "soft" / "record.npz") as file:
        expected = {name: file[name] for name in file.files if name != "meta"}
    weights = run / "soft" / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-5] ^= 1
    weights.write_bytes(bytes(content))
    with pytest.raises(SystemExit) as stop:
        main(["doctor", str(run), "--json"])
    assert stop.value.code == 2
    (symptom,) = json.loads(capsys.readouterr().out)["symptoms"]
    assert symptom["where"] == str(weights)
    assert "'foveate resume' computes this part again" in symptom["what"]
    with pytest.raises(SystemExit):
        main(["doctor", str(run), "--repair"])
    assert f"removed {weights}" in capsys.readouterr().out
    main(["resume", str(run)])
    main(["doctor", str(run)])
    assert "no damage found" in capsys.readouterr().out
    with np.load(run / "soft" / "record.npz") as file:
        for name, value in expected.items():
            np.testing.assert_array_equal(file[name], value)


@pytest.mark.parametrize(
    "name", ["experiment", "experiment-interrupted", "fit-interrupted", "race-interrupted"]
)
def test_runs_of_every_kind_are_examined(name, capsys):
    main(["doctor", str(OLD / name)])
    assert capsys.readouterr().out.endswith("no damage found\n")


def test_leftovers_are_listed_and_cleaned(run, capsys):
    left = run / "soft" / ".record.npz.abcd1234"
    left.touch()
    main(["doctor", str(run)])
    assert "1 temporary files of killed writes" in capsys.readouterr().out
    main(["doctor", str(run), "--clean"])
    assert not left.exists()


def test_a_missing_part_and_other_versions_are_named(run, capsys):
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["checksum"]
    manifest["part_versions"]["hard"]["torch"] = "1.0.0"
    (run / "manifest.json").write_text(json.dumps(manifest))
    (run / "soft" / "record.npz").unlink()
    with pytest.raises(SystemExit):
        main(["doctor", str(run)])
    out = capsys.readouterr().out
    assert "soft: its record is missing" in out
    assert "hard: computed with other versions: torch 1.0.0" in out
    assert f"damage: {run / 'manifest.json'}: has no checksum" in out


def test_a_checksum_that_is_gone_is_damage(run, capsys):
    from foveate import __version__

    notes = run / "notes.json"
    notes.write_text('{"rows": [1]}')
    with pytest.raises(SystemExit):
        main(["doctor", str(run)])
    expected = f"damage: {notes}: has no checksum, although version {__version__} writes one"
    assert expected in capsys.readouterr().out


def test_an_old_fit(tmp_path, capsys):
    run = shutil.copytree(OLD / "fit", tmp_path / "fit")
    main(["doctor", str(run)])
    out = capsys.readouterr().out
    assert "drawn by scikit-learn" in out
    assert "not verified" in out
    (run / "split.json").unlink()
    with pytest.raises(SystemExit):
        main(["doctor", str(run)])
    assert "split.json: is missing" in capsys.readouterr().out


def test_the_machine(capsys):
    main(["doctor", "--json"])
    entries = json.loads(capsys.readouterr().out)
    assert {"python", "torch", "foveate", "threads", "data folder", "free disk for runs"} <= set(
        entries
    )
    main(["doctor"])
    assert "GB at" in capsys.readouterr().out
