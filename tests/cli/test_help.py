"""Help without heavy imports, interrupts in one line, programming errors not hidden."""

import os
import resource
import subprocess
import sys

import pytest

from foveate.cli import COMMANDS

from .typed import call, succeed


def test_an_interrupt_states_how_to_resume(monkeypatch, tmp_path):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("foveate.jobs.race.fit", interrupted)
    code, _, err = call("race", "error-mode-1", "--n=20", "--n-test=10", "--out", tmp_path / "a")
    assert code == 130
    resume = f"foveate resume {tmp_path / 'a'}"
    assert err == f"foveate: stopped; '{resume}' continues from the last checkpoint\n"


def test_an_interrupt_without_a_run_promises_no_resume(monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("foveate.cli.commands.runs.list_runs", interrupted)
    assert call("runs") == (130, "", "foveate: stopped\n")


def test_a_programming_error_is_not_hidden(monkeypatch):
    def wrong(*args, **kwargs):
        raise ValueError("not the user's")

    monkeypatch.setattr("foveate.jobs.race.start_race", wrong)
    with pytest.raises(ValueError, match="not the user's"):
        call("race", "error-mode-1")


def foveate(*arguments):
    code = "import sys; from foveate.cli import COMMANDS, main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_help_takes_less_than_half_a_second():
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
    assert succeed("--version").strip() == "foveate 0.2.0"
    assert os.listdir() == []
