import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from foveate.charts.palette import label
from foveate.errors import FoveateError
from foveate.metrics.focus import heat_map
from foveate.metrics.metric import summarise
from foveate.records.runs import open_run
from foveate.report import race_page, write_report

from .html_tree import Node, read_html

PARTS = ("soft", "hard", "lvml", "hybrid")
NASTY = "<script>alert('1')</script>"


def results(page: Node, table: int = 0) -> list[list[str]]:
    tables = [t for t in page.all("table") if t.attrs.get("class") == "results"]
    return [[c.text for c in row.children] for row in tables[table].all("tr")[1:]]


def picture(page: Node, words: str) -> Node:
    return next(s for s in page.all("svg") if s.attrs.get("aria-label", "").startswith(words))


def test_results_table_equals_summarise(race, race_html):
    page = read_html(race_html)
    rows, costs = results(page), results(page, 1)
    assert len(rows) == 4
    for row, paid, (name, record) in zip(rows, costs, race.records().items(), strict=True):
        summary = summarise(record)
        shares = [
            "{0.mean:.1f} [{0.low:.1f}, {0.high:.1f}]".format(summary[k])
            for k in ("accuracy", "ft", "saif")
        ]
        cost = [f"{summary['cpu_seconds']:.2g}", f"{summary['classifier_calls']:,.0f}", "4"]
        assert row == [label(name), *shares, cost[0]]
        assert paid == [label(name), *cost]


def test_heat_map_prints_every_cell_at_its_position(race, race_html):
    page, records = read_html(race_html), race.records()
    assert records
    for name, record in records.items():
        final = record.final
        a_z = (final["alpha"] * final["z"]).sum(-1)
        p_y = np.exp(np.take_along_axis(final["log_p"], final["y"][..., None], -1)[..., 0])
        share = 100 * heat_map(a_z, p_y).mean(0)
        expected = [[f"{v:.1f}" if v else "0" for v in row] for row in share[::-1]]
        svg = picture(page, f"{label(name)}: share of bags")
        cells = [t for t in svg.all("text") if t.attrs["font-size"] == "13px"]
        at = {
            tuple(map(float, re.findall(r"[\d.]+", t.attrs["transform"])[1::-1])): t.text
            for t in cells
        }
        printed = [text for _, text in sorted(at.items())]  # from the top left, line by line
        assert printed == [text for line in expected for text in line]
        assert np.isclose(share[-1, -1], 100 * record.last("saif").mean())
        assert f"SAIF {share[-1, -1]:.1f} % (outlined)" in svg.text


def test_user_text_is_escaped(make_run):
    manifest = {
        "label": NASTY,
        "command": f'foveate race {NASTY} && echo "&amp;"',
        "sizes": {"classes": [NASTY, "<b>dog</b>", '"emu"'], "n": 1},
        "config": {"data": NASTY, "<i>key</i>": NASTY, "switch": 0.5},
        "commit": NASTY,
    }
    first = make_run("a<b>", ("x<i>&y",), manifest=manifest)
    page = race_page([first, make_run("two", ("soft",), z=False, manifest=manifest)])
    tree = read_html(page)
    assert not tree.all("script")
    assert not tree.all("b")
    assert not tree.all("i")
    assert "<script" not in page
    code = next(c for pre in tree.all("pre") for c in pre.all("code"))
    assert "".join(code.texts) == manifest["command"]
    assert f"label {NASTY}" in tree.text or "label <b>dog</b>" in tree.text


def test_page_is_self_contained_and_references_resolve(both_html):
    tree = read_html(both_html)
    ids = [node.attrs["id"] for node in tree.walk() if "id" in node.attrs]
    assert len(ids) == len(set(ids))
    for node in tree.walk():
        for name in ("src", "href", "xlink:href", "srcset", "data", "action", "poster"):
            target = node.attrs.get(name, "#")
            assert target.startswith(("#", "data:image/png;base64,")), (node.tag, target)
            assert not target[1:] or not target.startswith("#") or target[1:] in ids
        assert node.attrs.get("aria-labelledby", ids[0]) in ids
    without_names = re.sub(r'xmlns(:\w+)?="[^"]+"', "", both_html)
    assert "http" not in without_names
    assert "@import" not in both_html
    assert not tree.all("script")
    assert not tree.all("link")


def test_figures_have_alternative_text_and_headings_are_nested(race_html, both_html):
    for page in (race_html, both_html):
        tree = read_html(page)
        levels = [int(n.tag[1]) for n in tree.walk() if re.fullmatch(r"h[1-6]", n.tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b - a <= 1 for a, b in pairwise(levels))
        for svg in tree.all("svg"):
            assert svg.attrs.get("aria-label") or svg.attrs.get("aria-hidden") == "true"
        for table in tree.all("table"):
            assert all(any(c.tag == "th" for c in row.children) for row in table.all("tr"))


def test_page_of_several_runs_has_comparison_and_one_section_each(both_html):
    tree = read_html(both_html)
    rows = results(tree)
    assert [row[0] for row in rows if len(row) == 8] == ["1. race", "2. points"]
    assert [row[-7] for row in rows] == ["Soft", "Hard", "LVML", "Hybrid", "Soft", "EM"]
    plane = picture(tree, "Accuracy against SAIF").text
    for words in ("Soft, run 1", "Hybrid, run 1", "Soft, run 2", "EM, run 2"):
        assert words in plane
    details = [d for d in tree.all("details") if d.attrs["id"] in ("run1", "run2")]
    assert [d.all("h3")[0].text for d in details] == ["1. race", "2. points"]
    assert len(details[0].all("svg")) > len(details[1].all("svg")) > 8
    assert "2 runs compared" in tree.all("h1")[0].text


def test_runs_of_the_same_name_are_numbered(make_run):
    run = make_run("same", ("soft",), z=False)
    titles = [h.text for h in read_html(race_page([run, run])).all("h3")]
    assert titles == ["1. same", "2. same (2)"]


def test_page_without_known_relevance(make_run):
    tree = read_html(race_page([make_run(z=False)]))
    assert "focus cannot be measured" in tree.text
    assert all(row[2] == row[3] == "–" for row in results(tree))
    labels = [s.attrs.get("aria-label", "") for s in tree.all("svg")]
    assert any(words.startswith("Accuracy, % over training") for words in labels)
    assert not any("SAIF" in words or "relevant" in words for words in labels)
    verdicts = {s.text for s in tree.all("span") if "verdict" in s.attrs.get("class", "")}
    assert verdicts <= {"right", "wrong", "Right", "Wrong"}
    assert verdicts


def test_page_of_an_unfinished_run(make_run):
    tree = read_html(race_page([make_run("one", PARTS, finished=("soft", "hard"))]))
    assert "This run is not finished: LVML and Hybrid not fully trained yet." in tree.text
    assert "foveate resume one" in tree.text
    assert [row[0] for row in results(tree)] == ["Soft", "Hard"]
    assert "Two ways to train the same model" in tree.text


def test_page_of_a_run_without_records(make_run):
    tree = read_html(race_page([make_run(finished=())]))
    assert "nothing to compare" in tree.text
    assert "foveate race toy --seeds 3" in tree.text
    both = read_html(race_page([make_run("x", finished=()), make_run("y", ("soft",), z=False)]))
    assert [row[-7] for row in results(both)] == ["Soft"]
    none = read_html(race_page([make_run("v", finished=()), make_run("w", finished=())]))
    assert "2 runs compared" in none.text


def test_first_screen_has_sentence_examples_table_and_next_steps(race_html):
    page = read_html(race_html)
    folded = {node for fold in page.all("details") for node in map(id, fold.walk())}
    open_nodes = [node for node in page.walk() if id(node) not in folded]
    assert [n for n in open_nodes if n.attrs.get("class") == "lead"]
    assert [n for n in open_nodes if n.tag == "table"]
    assert [n for n in open_nodes if n.attrs.get("id") == "next-steps"]
    examples = [n for n in open_nodes if n.attrs.get("class") == "example"]
    outcomes = [n.all("span")[0].text for n in examples]
    assert outcomes == ["Right", "Lucky", "Wrong"]
    assert all(re.search(r"Bag \d+", n.all("figcaption")[0].text) for n in examples)


def test_each_paradigm_has_one_fold(race, race_html):
    page = read_html(race_html)
    names = [s.text for s in page.all("summary")]
    for name in race.records():
        assert names.count(label(name)) == 1


def test_seeds_that_agree_have_no_interval_of_zero_width(make_run):
    run = make_run("one", ("soft",))
    record = run.record("soft")
    values = {**record.values, "accuracy": np.ones_like(record.values["accuracy"])}
    replace(record, values=values).save(run.part("soft") / "record.npz")
    assert results(read_html(race_page([open_run(run.path)])))[0][1] == "100.0 (3 of 3 seeds)"


def test_one_seed_has_no_intervals(make_run):
    tree = read_html(race_page([make_run("one", ("soft",), members=1)]))
    assert "One seed" in tree.text
    assert all(re.fullmatch(r"\d+\.\d", cell) for row in results(tree) for cell in row[1:4])


def test_setup_lists_every_value(race, race_html):
    tables = [t for t in read_html(race_html).all("table") if t.all("caption")]
    tables_by_title = {
        t.all("caption")[0].text: {r.children[0].text: r.children[1].text for r in t.all("tr")}
        for t in tables
    }
    assert list(tables_by_title["Configuration"]) == list(race.manifest["config"])
    assert tables_by_title["Configuration"]["equal_compute"] == "no"
    assert tables_by_title["As trained"]["LVML"] == "epochs 4, lr 0.001, parameters 12"
    assert tables_by_title["Versions"] == race.manifest["versions"]
    assert tables_by_title["Sizes"]["classes"] == "cat, dog, emu"
    assert tables_by_title["Run"]["created"] == race.manifest["created"]
    assert tables_by_title["Run"]["directory"] == "race"


def test_report_is_written_atomically(make_run, tmp_path):
    run = make_run("one", ("soft",), z=False)
    path = write_report([run], tmp_path / "report.html")
    assert path.read_text() == race_page([run])
    assert not list(tmp_path.glob(".report*"))
    with pytest.raises(FoveateError, match="cannot write"):
        write_report([run], tmp_path / "nowhere" / "report.html")
    with pytest.raises(FoveateError, match="at least one run"):
        race_page([])


def test_importing_report_loads_no_charts_and_no_torch():
    heavy = ("altair", "vl_convert", "jinja2", "torch")
    code = f"import sys, foveate.report; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
