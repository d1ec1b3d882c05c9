import subprocess
import sys
import tomllib
from pathlib import Path

import foveate
from foveate.cli import main
from foveate.cli.commands import installation

ROOT = Path(__file__).parents[2]


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == foveate.__version__
    assert f"version: {foveate.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{foveate.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_doctor_names_every_extra_of_users(capsys):
    main(["doctor"])
    printed = capsys.readouterr().out
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert printed.startswith(f"foveate {foveate.__version__}, Python ")
    for extra in installation.EXTRAS:
        assert f"extra {extra}: " in printed
        assert extra in project["optional-dependencies"]


def test_doctor_reports_a_wrong_data_folder(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("FOVEATE_DATA", str(tmp_path / "none"))
    main(["doctor"])
    assert f"data: {tmp_path / 'none'} (FOVEATE_DATA) is not a folder" in capsys.readouterr().out


def test_module_is_the_command():
    command = [sys.executable, "-m", "foveate", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"foveate {foveate.__version__}"
