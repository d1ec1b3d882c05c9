"""The command on a real race and a real fit, its files, its page, and its refusals."""

import html
import json
import re

import numpy as np
import pytest

import foveate
from foveate.cli import main
from foveate.data import DATASETS
from foveate.jobs.fit import start_fit
from foveate.jobs.race import start_race
from foveate.report.pages.trust import trust_page
from foveate.training.plan import Race
from foveate.trust.examine import examine
from foveate.trust.grades import GRADES
from foveate.trust.stability import last_epochs
from foveate.userdata.settings import FitSettings
from foveate.userdata.source import Origin

from . import hand_built


@pytest.fixture(scope="module")
def race(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "race"
    settings = Race(paradigms=("lvml", "soft"), seeds=2, n=200, n_test=120, epochs=3, m=5)
    start_race(settings, out=out)
    return out


def refusal(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["trust", *map(str, arguments)])
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_a_race_is_examined(race, capsys):
    main(["trust", str(race)])
    output = capsys.readouterr().out
    saved = json.loads((race / "trust.json").read_text())
    assert [result["paradigm"] for result in saved["found"]] == ["lvml", "soft"]
    for result in saved["found"]:
        assert result["verdict"]["summary"] in output
        measured = result["localisation"]["ft"]["all"]["mean"]
        alpha = np.load(race / result["paradigm"] / "record.npz")["final/alpha"]
        z = np.stack([b.z for b in _test_bags()])
        tops = np.take_along_axis(z, alpha.argmax(-1)[..., None], -1)
        assert measured == pytest.approx(tops.mean(), abs=0.01)  # FT but for ties
    page = (race / "trust.html").read_text()
    bags = sum(len(result["examples"]) for result in saved["found"])
    assert bags > 0
    assert page.count("<svg ") == 8 + bags
    assert "http://" not in page.replace("http://www.w3.org", "")
    chance = re.findall(r", chance (\d+) %</td>", page.partition("All paradigms")[2])
    assert "20" in chance  # of FT as measured: one of five segments is relevant
    assert [found["chance"] for found in saved["found"]] == pytest.approx([0.2, 0.2])
    for found in saved["found"]:
        for entry in found["by_class"]:
            evidence = entry["answers"]["evidence"]
            is_shown = entry["answers"]["visible"]["visible"] or evidence["presence"] != "some"
            if is_shown and not evidence["declared"]:
                assert html.escape(evidence["why"], quote=True).replace("&#x27;", "&#39;") in page
        assert not any("--supervise-focus" in step for step in found["verdict"]["next"])
        assert not any("--folds" in step for step in found["verdict"]["next"])


def _test_bags():
    data = DATASETS.get("digits")()
    return [data.load("test", n=120, m=5, seed=seed) for seed in range(2)]


def test_one_paradigm_as_json(race, capsys):
    main(["trust", str(race), "--paradigm", "soft", "--json"])
    [result] = json.loads(capsys.readouterr().out)
    assert result["paradigm"] == "soft"
    assert len(result["scores"]) == 2
    assert result["verdict"]["grade"] in GRADES
    assert result["score"] is None or 0 <= result["score"] <= 1
    questions = ["evidence", "looks", "depends", "kinds", "stable", "visible"]
    assert list(result["answers"]) == questions
    for entry in result["by_class"]:
        assert entry["verdict"]["grade"] in GRADES
        assert list(entry["answers"]) == questions
    saved = np.load(race / "soft" / "record.npz")["values/same_top"]
    epochs = result["by_class"][0]["answers"]["stable"]["epochs"]
    assert epochs == pytest.approx(last_epochs(saved))


def test_a_run_directory_is_examined_in_python(race):
    result = foveate.examine(race, paradigm="soft")
    main(["trust", str(race), "--paradigm", "soft"])
    [stored] = json.loads((race / "trust.json").read_text())["found"]
    assert result.paradigm == "soft"
    assert result.to_json()["scores"] == stored["scores"]
    with pytest.raises(foveate.FoveateError, match="no paradigm 'hard'"):
        foveate.examine(race, paradigm="hard")


def test_errors_state_the_problem(race, tmp_path, capsys):
    assert "no paradigm 'hard'" in refusal(capsys, race, "--paradigm", "hard")
    assert "no class 'x'" in refusal(capsys, race, "--absent", "x")
    assert "--data is for a fit" in refusal(capsys, race, "--data", tmp_path)
    assert "no run directory" in refusal(capsys, tmp_path / "nothing")
    manifest = json.loads((race / "manifest.json").read_text())
    del manifest["checksum"]
    half = tmp_path / "half"
    half.mkdir()
    (half / "manifest.json").write_text(json.dumps({**manifest, "status": "running"}))
    assert "not finished" in refusal(capsys, half)
    (half / "manifest.json").write_text(json.dumps({**manifest, "kind": "experiment"}))
    assert "race or a fit" in refusal(capsys, half)
    assert not (half / "trust.json").exists()


def test_a_fit_is_examined_on_its_test_bags_and_on_new_ones(tmp_path, capsys):
    bag = hand_built.boxes(1, n=150)
    table = tmp_path / "bags.csv"
    _write(table, bag)
    run = tmp_path / "fit"
    settings = FitSettings(folds=1, paradigms=("soft",), seeds=2, epochs=10)
    origin = Origin(table, {})
    start_fit(origin.read(labelled=True), settings, run, origin=origin)
    main(["trust", str(run), "--json"])
    [result] = json.loads(capsys.readouterr().out)
    assert result["bags"] == len(json.loads((run / "split.json").read_text())["test"])
    assert result["classes"] == ["<b>a</b>", "b", "c"]
    assert result["localisation"]["bags"] == result["bags"]
    page = (run / "trust.html").read_text()
    assert "<b>a</b>" not in page
    assert "&lt;b&gt;a&lt;/b&gt;" in page
    new = tmp_path / "new.csv"
    _write(new, hand_built.boxes(1, n=60, seed=1))
    main(["trust", str(run), "--data", str(new), "--json"])
    [result] = json.loads(capsys.readouterr().out)
    assert result["bags"] == 60
    table.write_text(table.read_text().replace("bag0,", "bag999,"))
    assert "not what it was" in refusal(capsys, run)


def _write(path, bag):
    names = ("<b>a</b>", "b", "c")
    rows = ["bag,label,x1,x2,relevance"]
    for i, (x, y, z) in enumerate(zip(bag.x, bag.y, bag.z, strict=True)):
        rows += [
            f"bag{i},{names[y]},{a:.4f},{b:.4f},{int(entry)}"
            for (a, b), entry in zip(x.tolist(), z, strict=True)
        ]
    path.write_text("\n".join(rows))


def test_the_page_puts_the_verdict_first_and_needs_no_locations():
    bag = hand_built.without_z(hand_built.boxes(1))
    trust = examine(hand_built.background(), "lvml", bag, ("a", "b", "c"))
    saved = {"source": "bags", "command": "foveate trust run", "found": [trust.to_json()]}
    page = trust_page(saved, about="on boxes")
    assert page.index("Do not trust") < page.index("What to do next") < page.index("The evidence")
    assert "Against known locations" not in page
    assert page.index("--paradigms witness") < page.index("Mark the relevant segments")
    assert "foveate trust run" in page


def test_a_page_without_a_verdict_is_still_drawn():
    bag = hand_built.without_z(hand_built.boxes(1, n=6))
    trust = examine(hand_built.background(), "lvml", bag, ("a", "b", "c"))
    assert {entry["verdict"]["grade"] for entry in trust.by_class} == {"cannot tell"}
    saved = {"source": "bags", "command": "", "chosen": "lvml", "found": [trust.to_json()]}
    page = trust_page(saved, about="on boxes")
    assert "Nothing can be said of where these models look" in page
    assert "LVML, which the fit chose" in page
