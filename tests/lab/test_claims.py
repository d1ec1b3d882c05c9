"""The ledger through the lab, and an experiment run again from it."""

import time

import pytest

from foveate.lab.bundled import bundled_json
from foveate.lab.claim_figures import claim_figure
from foveate.lab.server.theme import chart_theme, palette_css
from foveate.papers import all_claims
from foveate.records.findings import Finding
from foveate.report.drawing.finding_chart import finding_chart
from foveate.studies.ledger import shipped_ledger
from foveate.studies.reproduction import stored_results


def test_the_ledger_is_the_one_that_was_shipped(client):
    result = client.get("/api/claims").json()
    shipped = {entry.claim: entry for entry in shipped_ledger().entries}
    assert [row["claim"] for row in result["claims"]] == list(shipped)
    for row in result["claims"]:
        entry = shipped[row["claim"]]
        assert row["statement"] == all_claims()[row["claim"]]
        assert row["verdict"] == (entry.finding.verdict if entry.finding else "not run")
        assert row["figure"] == (entry.finding is not None)


def drawn_rows(spec):
    """The rows of all parts of a chart."""
    if isinstance(spec, dict):
        rows = spec["data"]["values"] if "data" in spec else []
        return rows + [row for value in spec.values() for row in drawn_rows(value)]
    return [row for part in spec for row in drawn_rows(part)] if isinstance(spec, list) else []


def test_every_checked_claim_has_a_figure():
    ledger, bundled = shipped_ledger(), bundled_json("claims")
    for entry in ledger.entries:
        result = claim_figure(ledger, entry)
        assert (result is None) == (entry.finding is None)
        if result is None:
            continue
        assert result["name"] == entry.finding.figure
        assert result["source"].endswith(".")
        if entry.claim in bundled:
            assert result == bundled[entry.claim]
        elif entry.claim == "vr23:C4":
            assert "stored table" in result["source"]
            means = [row["mean"] for row in drawn_rows(result["spec"])]
            stored = [r for r in stored_results() if r["table"] == "table1" and not r.get("label")]
            cells = [c for r in stored for c in r.get("cells", ())]
            assert sorted(means) == sorted(c["mean"] for c in cells if c["measure"] == "SAIF %")


def test_the_figure_of_a_claim_is_sent(client):
    for claim in ("vr23:C14", "snell21:C5"):
        sent = client.get("/api/claims/figure", params={"claim": claim}, timeout=300).json()
        assert sent.keys() == {"name", "spec", "source"}
    assert sent["name"] == "curves"
    missing = client.get("/api/claims/figure", params={"claim": "../x"}, timeout=300)
    assert missing.status_code == 404


def test_the_chart_of_a_finding_has_its_interval():
    finding = Finding("a:C1", "does not hold", 0.4, -0.1, 0.9, "gain", "", "figure")
    spec = finding_chart(finding).to_dict(validate=False)
    assert spec["data"]["values"] == [{"effect": 0.4, "low": -0.1, "high": 0.9}]
    assert spec["title"]["text"] == "does not hold: 0.4 [-0.1, 0.9]"
    assert spec["layer"][2]["mark"]["fill"] == "#ffffff"  # hollow: evidence against
    left, right = spec["layer"][2]["encoding"]["x"]["scale"]["domain"]
    assert left < -0.1 < 0.9 < right


def test_an_experiment_is_run_again(client, folder):
    job = {"experiment": "flows", "scale": "smoke"}
    name = client.post("/api/claims/run", json=job).json()["id"]
    for _ in range(6000):  # five minutes, on a machine that does other things too
        result = client.get(f"/api/jobs/{name}").json()
        if result["state"] == "done":
            break
        assert result["state"] in ("starting", "running"), result["reason"]
        time.sleep(0.05)
    assert {part["part"] for part in result["parts"]} >= {"descent", "laws"}
    assert "vr23:C17" in {finding["claim"] for finding in result["result"]["findings"]}
    exists = folder / result["result"]["run"]
    assert (exists / "findings.json").exists()
    spec = client.get("/api/run/figures", params={"run": exists.name}).json()
    assert spec["figures"]
    import shutil

    shutil.rmtree(exists)


@pytest.mark.parametrize("job", [{"experiment": "flows", "scale": "paper"}, {"experiment": 3}])
def test_what_may_be_run_is_limited(client, job):
    assert client.post("/api/claims/run", json=job).status_code == 400


def test_one_colour_means_one_thing():
    theme = chart_theme()
    groups = [
        [entry["colour"] for entry in theme["paradigms"].values() if entry["raced"]],
        theme["classes"],
        [entry["colour"] for entry in theme["outcomes"].values()],
        [theme["attention"]],
        list(theme["evidence"].values()),
    ]
    colours = [colour.lower() for group in groups for colour in set(group)]
    assert len(colours) == len(set(colours))


def test_one_palette_for_styles_and_charts():
    css = palette_css()
    for name, rows in chart_theme()["paradigms"].items():
        assert f"--{name}: {rows['colour']};" in css
