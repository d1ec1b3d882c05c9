"""Published and measured side by side: the page, the docs, what is kept and what is not run."""

import contextlib
import json
import sys
from pathlib import Path

import pytest

from foveate.cli import main
from foveate.errors import FoveateError
from foveate.jobs.experiment import settings_for
from foveate.records.runs import open_run
from foveate.report.pages.reproduction import as_markdown, reproduction_page, write_results
from foveate.studies.published import Reproduction
from foveate.studies.pvr22.table2 import Table2
from foveate.studies.reproduction import (
    estimate,
    published_tables,
    reproduce,
    store,
    stored_results,
)

from .html_tree import read_html

NASTY = "<script>alert('1')</script>"
EVERY = ", ".join(published_tables())


def cell(group, name, measure, mean, low=None, high=None, setting="frozen features"):
    return {
        "group": group,
        "name": name,
        "measure": measure,
        "setting": setting,
        "mean": mean,
        "low": low,
        "high": high,
        "seeds": 4,
    }


def result(**changes):
    cells = [
        cell("CIFAR10 m=5", "soft", "SAIF %", 40.04, 38.96, 41.2),
        cell("CIFAR10 m=5", "soft", "accuracy %", 75.3),
        cell("CIFAR10 m=5", "oracle", "SAIF %", 88.0, 88.0, 88.0),
        cell("CIFAR10 m=5", "soft", "calls of g, millions", 0.048),
    ]
    manifest = {
        "created": "2024-01-01",
        "versions": {"torch": "2"},
        "commit": None,
        "seconds": 660.0,
        "command": "foveate reproduce table1",
        "config": {"scale": "small", "settings": {"seeds": 4}},
    }
    return {
        "table": "table1",
        "scale": "small",
        "cells": cells,
        "absent": {"HateXplain-1": f"no files {NASTY}"},
        "differs": [f"Another network {NASTY}."],
        "findings": [{"claim": "vr23:C4", "verdict": "holds in part", "summary": "so so"}],
        "manifest": manifest,
        "label": "",
        **changes,
    }


def tables(page):
    """Headings and rows of every table of numbers, by its group and measure."""
    found, group = {}, ""
    for node in page.walk():
        if node.tag == "h3":
            group = node.text
        if node.tag == "table" and node.attrs.get("class") == "numbers":
            (caption,) = node.all("caption")
            head, *rows = [[cell.text for cell in row.children] for row in node.all("tr")]
            found[group, caption.text] = head[1:], {row[0]: row[1:] for row in rows}
    return found


def test_the_page_shows_published_measured_interval_and_difference():
    found = tables(read_html(reproduction_page([result()], published_tables(), {})))
    own, three = "CIFAR10 m=5 frozen features, 4 seeds", ["published", "difference"]
    assert found[own, "SAIF %"] == (
        ["measured 95 % interval", *three],
        {"Soft": ["40.0 [39.0, 41.2]", "37.1", "+2.9"], "Oracle": ["88.0", "–", "–"]},
    )
    assert found[own, "accuracy %"] == (["measured", *three], {"Soft": ["75.3", "75.3", "+0.0"]})
    assert found[own, "calls of g, millions"] == (["measured"], {"Soft": ["0.048"]})
    assert next(measure for group, measure in found if group == own) == "SAIF %"


def test_rows_that_were_not_run_show_published_numbers_only():
    found = tables(read_html(reproduction_page([result()], published_tables(), {})))
    own = {m: rows for (group, m), rows in found.items() if group == "HateXplain-1"}
    assert own.keys() == {"SAIF %", "accuracy %"}
    assert own["SAIF %"] == (
        ["published"],
        {"Hard": ["2.7"], "Soft": ["4.6"], "Hybrid": ["21.6"], "LVML": ["22.6"]},
    )


def test_a_measure_has_the_same_digits_in_every_row_and_one_seed_is_one():
    cells = [
        {**cell("MSCOCO", name, "BLEU-4", mean, setting=""), "seeds": 1}
        for name, mean in (("soft", 13.708), ("hard", 9.942))
    ]
    found = tables(
        read_html(
            reproduction_page([result(table="captions", cells=cells)], published_tables(), {})
        )
    )
    assert found["MSCOCO 1 seed", "BLEU-4"][1] == {
        "Soft": ["13.71", "20.9", "-7.19"],
        "Hard": ["9.94", "10.4", "-0.46"],
    }


def test_counts_have_no_decimals():
    alone = {"setting": "", "seeds": 1, "low": None, "high": None}
    cells = [
        {**cell("All", name, "models", mean, setting=""), **alone}
        for name, mean in (("soft", 12500.0), ("hard", 0.0))
    ]
    own = result(table="trust", cells=cells)
    found = tables(read_html(reproduction_page([own], published_tables(), {})))
    assert found["All 1 seed", "models"][1] == {"Soft": ["12,500"], "Hard": ["0"]}


def test_results_of_a_table_at_two_scales_are_separate_files():
    page = read_html(
        reproduction_page(
            [result(), result(scale="paper"), result(label="a")], published_tables(), {}
        )
    )
    (places,) = [[node.attrs["id"] for node in page.walk() if node.tag == "h2"]]
    assert places == ["table1-small", "table1-paper", "table1-small-a"]


def test_tables_that_were_not_run_state_why_and_run_nothing_from_files():
    text = reproduction_page([result()], published_tables(), {})
    page = read_html(text)
    assert not page.all("script")
    assert f"not run here no files {NASTY}" in page.text
    assert f"Another network {NASTY}." in page.text
    assert "11 min" in page.text
    assert "vr23:C4 holds in part so so" in page.text


def test_docs_tables_come_from_the_stored_numbers(tmp_path):
    later = {"table": "table1", "scale": "paper", "seconds": 36_000.0, "absent": {}}
    for own in (result(), later):
        store(own, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "table1-paper-estimate.json",
        "table1-small.json",
    ]
    kept = stored_results(tmp_path)
    assert kept == [later, result()]
    text = as_markdown(kept, published_tables())
    saif, accuracy = "40.0 [39.0, 41.2]; published 37.1 (+2.9)", "75.3; published 75.3 (+0.0)"
    assert f"| Soft | {saif} | {accuracy} | 0.048 |" in text
    assert "It took 11 min: `foveate reproduce table1`." in text
    assert "`foveate reproduce table1 --scale paper` would take about 10 h on one core" in text
    assert write_results(kept, published_tables(), tmp_path / "docs").read_text() == text


def test_a_changed_table_is_kept_beside_the_unchanged_one(tmp_path):
    for own in (result(), result(label="two-hours")):
        store(own, tmp_path)
    kept = stored_results(tmp_path)
    assert [own["label"] for own in kept] == ["two-hours", ""]
    assert "scale: small, changed: two-hours" in as_markdown(kept, published_tables())


def test_a_result_replaces_the_estimate_of_its_name(tmp_path):
    estimated = {"table": "table1", "scale": "small", "label": "a", "seconds": 60.0, "absent": {}}
    other = store({**estimated, "label": "b"}, tmp_path)
    assert store(estimated, tmp_path).name == "table1-small-a-estimate.json"
    stored = store(result(label="a"), tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([stored, other])


def test_a_result_of_another_size_is_marked_without_a_label(tmp_path):
    usual = settings_for("table1", "small", {}).model_dump()
    config = {"experiment": "table1", "scale": "small", "settings": usual}
    own = result()
    for settings in (usual, {**usual, "seeds": 9}):
        manifest = {**own["manifest"], "config": {**config, "settings": settings}}
        path = store({**own, "manifest": manifest}, tmp_path)
        assert "changed" not in path.read_text()
        (kept,) = stored_results(tmp_path)
        text = as_markdown([kept], published_tables())
        assert ("scale: small, changed: seeds" in text) == (settings is not usual)


def test_damaged_results_are_named(tmp_path):
    other = '{"table": "table9", "scale": "small", "seconds": 1}'
    for text in ("{", "[]", '{"table": "table1", "scale": "small"}', other):
        (tmp_path / "table1-small.json").write_text(text)
        with pytest.raises(FoveateError, match=r"table1-small\.json is no stored result"):
            stored_results(tmp_path)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FOVEATE_RUNS", raising=False)
    monkeypatch.delenv("FOVEATE_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    return tmp_path


def test_a_table_without_data_is_reported_as_not_run(here):
    found = reproduce("table1", "small")
    assert found["cells"] == []
    assert set(found["absent"]) == set(published_tables()["table1"].groups)
    assert "set FOVEATE_DATA" in found["absent"]["HateXplain-2"]
    assert not (here / "runs").exists()
    assert estimate("table1", "paper")["seconds"] == 0


def test_a_run_of_other_settings_is_not_taken_for_this_one(here):
    """Settings of a scale may change with the version; what an earlier one ran stays as it is."""
    first = reproduce("witness", "smoke")
    assert reproduce("witness", "smoke")["run"] == first["run"]
    manifest = Path(first["run"]) / "manifest.json"
    changed = json.loads(manifest.read_text().replace('"n": 60', '"n": 59'))
    del changed["checksum"]
    manifest.write_text(earlier := json.dumps(changed))
    again = reproduce("witness", "smoke")
    assert again["run"] != first["run"]
    assert again["manifest"]["config"]["settings"]["sizes"]["digits"]["n"] == 60
    assert manifest.read_text() == earlier
    assert again["cells"] == first["cells"]


def test_a_run_from_before_a_setting_existed_is_continued_with_its_default(here):
    changes = {"rows": ["digits-5"], "paradigms": ["soft"]}
    first = Path(reproduce("table1", "smoke", changes=changes, label="few")["run"])
    manifest = first / "manifest.json"
    stored = json.loads(manifest.read_text())
    assert stored["config"]["settings"].pop("split") == "clean"
    del stored["checksum"]
    manifest.write_text(json.dumps(stored))
    first.rename(earlier := first.with_name("table1-12345678"))  # the name was of fewer settings
    assert reproduce("table1", "smoke", changes=changes, label="few")["run"] == str(earlier)
    other = reproduce("table1", "smoke", changes={**changes, "split": "released"}, label="both")
    assert other["run"] != str(earlier)
    assert other["manifest"]["config"]["settings"]["split"] == "released"


def test_no_time_is_guessed_for_what_cannot_be_run(here, capsys):
    words = ["reproduce", "table1", "--scale", "paper", "--estimate", "--results", "kept"]
    with contextlib.suppress(SystemExit):
        main(words)
    err = capsys.readouterr().err
    assert "table1 at paper scale cannot be run here" in err
    assert "set FOVEATE_DATA" in err
    assert not (here / "kept").exists()


def test_an_estimate_is_of_the_table_as_it_is_changed(here, monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(
        Table2, "seconds", lambda _self, settings, _report: seen.append(settings) or 7200.0
    )
    words = ["reproduce", "table2", "--scale", "smoke", "--estimate", "--results", "kept"]
    main([*words, "--set", "m=5", "--seeds", "4", "--label", "mine", "--docs", "docs"])
    assert [(settings.m, settings.seeds) for settings in seen] == [(5, 4)]
    [kept] = stored_results(here / "kept")
    assert (kept["label"], kept["seconds"]) == ("mine", 7200.0)
    text = (here / "docs" / "results.md").read_text()
    command = "foveate reproduce table2 --scale smoke --set m=5 --seeds 4 --label mine"
    assert f"`{command}` would take about 2.0 h" in text


def test_docs_have_every_stored_table_whichever_is_asked_for(here):
    for own in (result(), result(table="table2", cells=[])):
        store(own, here / "kept")
    main(["reproduce", "table2", "--stored", "--results", "kept", "--docs", "docs"])
    text = (here / "docs" / "results.md").read_text()
    assert "## vr23 Table 1" in text
    assert "## pvr22 Table 2" in text


def test_results_that_come_with_the_package_can_be_shown(here, capsys):
    shipped = [own for own in stored_results() if "cells" in own]
    if not shipped:
        with pytest.raises(SystemExit):
            main(["reproduce", "--stored"])
        assert f"no results of {EVERY} are stored" in capsys.readouterr().err
        assert not list(here.iterdir())
    for own in shipped:
        assert own["manifest"]["config"]["settings"]
        groups = set(published_tables()[own["table"]].groups) if not own["label"] else set()
        assert {c["group"] for c in own["cells"]} | set(own["absent"]) >= groups


def test_mistakes_are_sentences(here):
    with pytest.raises(FoveateError, match=f"table must be one of {EVERY} or all"):
        reproduce("table3")
    with pytest.raises(FoveateError, match="seeds must be at least 1, got 0"):
        reproduce("table2", "smoke", 0)
    with pytest.raises(FoveateError, match="there is no folder of results at nowhere"):
        stored_results(here.relative_to(here) / "nowhere")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["all", "--set", "m=5", "--label", "a"],
            "--set changes one table and needs a name for the result",
        ),
        (["table2", "--set", "m=5"], "--set changes one table and needs a name for the result"),
        (["table2", "--label", "../a"], "a label is letters, digits and dashes, got '../a'"),
        (["table2", "--stored", "--results", "."], "no results of table2 are stored"),
        (["table2", "--scale", "smoke", "--set", "k=5", "--label", "a"], "unknown setting 'k'"),
    ],
)
def test_the_command_complains_in_one_sentence(here, capsys, words, said):
    with pytest.raises(SystemExit) as end:
        main(["reproduce", *words])
    err = capsys.readouterr().err
    assert end.value.code == 2
    assert said in err
    assert err.count("\n") == 1
    assert not list(here.iterdir())


def test_the_command_runs_stores_and_resumes(here, capsys, monkeypatch):
    def call(*words):
        main(["reproduce", "table2", "--scale", "smoke", "--seeds", "1", *words])
        return capsys.readouterr()

    monkeypatch.setattr(Table2, "figures", lambda *_: {})  # drawn in tests/experiments
    said = call("--results", "kept")
    assert "page: reproduce.html" in said.out
    assert "points-oracle-last" in said.err
    (place,) = (here / "runs" / "reproduce-smoke").iterdir()
    kept = json.loads((here / "kept" / "table2-smoke.json").read_text())
    assert {c["seeds"] for c in kept["cells"]} == {1}
    assert all(c["values"] == [pytest.approx(c["mean"], rel=1e-5)] for c in kept["cells"])
    assert kept["manifest"]["config"]["settings"]["seeds"] == 1
    assert str(here) not in json.dumps(kept)
    run = open_run(place)
    (place / "points-hard-last" / "record.npz").unlink()
    run.update(status="running")
    again = json.loads(call("--json").out)
    assert [c for c in again[0]["cells"] if "CPU" not in c["measure"]] == [
        c for c in kept["cells"] if "CPU" not in c["measure"]
    ]
    assert (place / "points-hard-last" / "record.npz").exists()
    assert issubclass(Table2, Reproduction)
