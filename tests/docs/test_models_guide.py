"""guide/models: every block runs, and prints what the page says."""

from pathlib import Path

import pytest
import torch

from doc_pages import blocks
from foveate.cli import main

pytest.importorskip("transformers")


@pytest.mark.timeout(600)
def test_models_from_elsewhere_get_what_the_page_says(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    page, defined, printed, commands = blocks("guide/models"), {"__name__": "__page__"}, "", 0
    with torch.random.fork_rng(devices=[]):
        for block in page:
            if block.file:
                Path(block.file).write_text(block.text, "utf-8")
            elif block.is_python:
                capfd.readouterr()
                exec(compile(block.text, f"models.md:{block.line}", "exec"), defined)
                printed = capfd.readouterr().out
            elif block.language == "text":
                assert printed == block.text
            for words in block.commands:
                main(words)
                commands += 1
    assert commands == 5
    for name in ("abmil", "table"):
        assert '"grade": "trust with care"' in (tmp_path / f"{name}.json").read_text()
    assert (tmp_path / "reviews.html").exists()
    assert (tmp_path / "reviews.tokens.csv").exists()
    assert len((tmp_path / "links.txt").read_text().splitlines()) == 2
