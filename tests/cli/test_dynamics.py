"""The commands around learning dynamics: flow, run, claims."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace

import numpy as np
import pytest

from foveate.cli import main
from foveate.dynamics import vr23
from foveate.errors import FoveateError
from foveate.jobs.experiment import EXPERIMENTS
from foveate.papers import all_claims
from foveate.records.runs import open_run
from foveate.studies.ledger import known_ledger, run_ledger, shipped_ledger


def as_json(capsys, *arguments):
    main([*arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def test_flow_gives_the_exact_solution(capsys):
    result = as_json(capsys, "flow", "vr23", "--m", "20", "--classes", "20", "--until", "1000")
    assert list(result) == ["t", "soft", "hard", "lvml"]
    assert len(result["t"]) == 200
    expected = {"soft": (6.31401, 5.54314), "hard": (5.75676, 6.81206), "lvml": (6.32938, 6.16296)}
    for name, (mu, nu) in expected.items():
        assert list(result[name]) == ["mu", "nu", "alpha", "beta", "loss"]
        assert result[name]["mu"][-1] == pytest.approx(mu, abs=1e-5)
        assert result[name]["nu"][-1] == pytest.approx(nu, abs=1e-5)


def test_a_fixed_focus_has_no_nu(capsys):
    result = as_json(capsys, "flow", "--alpha", "0.4", "--points", "5", "--until", "50")
    assert result["soft"]["nu"] is None
    assert result["hard"]["alpha"] == [0.4] * 5
    exact = vr23.exact_fixed("lvml", np.array(result["t"]), 0.4, 20)
    np.testing.assert_allclose(result["lvml"]["mu"], exact)


def test_a_switch_adds_the_hybrid(capsys):
    result = as_json(capsys, "flow", "--switch", "400", "--points", "11")
    before = [t <= 400 for t in result["t"]]
    for t, soft, hybrid in zip(before, result["soft"]["nu"], result["hybrid"]["nu"], strict=True):
        assert (soft == pytest.approx(hybrid)) == t


def test_flow_draws_and_tells_the_best_switch(capsys, tmp_path):
    main(["flow", "--out", "picture.png"])
    assert (tmp_path / "picture.png").read_bytes()[:4] == b"\x89PNG"
    assert "switches at t = 651" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["flow", "--m", "1"], "m must be from 2"),
        (["flow", "--classes", "1"], "C must be from 2"),
        (["flow", "--until", "-1"], "until must be a time above 0"),
        (["flow", "--alpha", "1.5"], "alpha must lie between 0 and 1"),
        (["flow", "--points", "0"], "points must be at least 2"),
        (["flow", "--switch", "-2"], "switch must be a time"),
        (["flow", "--out", "picture.gif"], "must end in .svg or .png"),
        (["run", "flow"], "Did you mean 'flows'?"),
        (["run", "flows", "--set", "points"], "--set takes key=value"),
        (["run", "flows", "--set", "pionts=3"], "Did you mean 'points'?"),
        (["run", "flows", "--seeds", "3"], "unknown setting 'seeds'"),
        (["claims", "--paper", "vr24"], "blog21, lu21, pvr22, snell21, vr23, got 'vr24'"),
        (["resume", "nowhere"], "there is no run directory nowhere"),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence, capsys, tmp_path):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    message = capsys.readouterr().err
    assert stopped.value.code == 2
    assert message.startswith("foveate: ")
    assert sentence in message
    assert "Traceback" not in message
    assert not list(tmp_path.glob("runs/*"))


def test_run_leaves_findings_and_a_page(capsys, tmp_path):
    result = as_json(capsys, "run", "toy-classifier", "--scale", "smoke", "--set", "points=50")
    run = open_run(result["run"])
    assert run.manifest["config"]["settings"]["points"] == 50
    assert {f["claim"] for f in result["findings"]} == {"blog21:B1", "blog21:B2", "blog21:B3"}
    page = (run.path / "report.html").read_text()
    assert page.count('role="img"') == 3
    assert "<script" not in page


def test_claims_run_once_and_then_are_read(capsys, tmp_path):
    arguments = ["claims", "--paper", "blog21", "--scale", "smoke"]
    first = as_json(capsys, *arguments, "--run", "--report", "--docs", "papers")
    assert [e["claim"] for e in first["claims"]] == ["blog21:B1", "blog21:B2", "blog21:B3"]
    manifest = tmp_path / "runs/claims-smoke/toy-classifier/manifest.json"
    stamp = manifest.stat().st_mtime_ns
    again = as_json(capsys, *arguments, "--run")
    assert again == first
    assert manifest.stat().st_mtime_ns == stamp
    assert "*Criterion.*" in (tmp_path / "papers/blog21.md").read_text()
    assert (tmp_path / "runs/claims-smoke/claims.html").read_text().count("<article") == 3


def test_the_shipped_ledger_has_a_verdict_for_every_claim_that_minutes_can_check(capsys):
    ledger = as_json(capsys, "claims")
    assert [e["claim"] for e in ledger["claims"]] == list(all_claims())
    missing = [(e["experiment"], e["claim"]) for e in ledger["claims"] if not e["finding"]]
    for name, claim in missing:  # those of long experiments, or of a criterion revised since
        assert EXPERIMENTS.get(name).long or claim in EXPERIMENTS.get(name).revisions
    assert ledger["scale"] == "small"


def test_a_run_of_another_size_is_not_shown_as_this_scale(capsys, tmp_path):
    folder = "runs/claims-small/toy-classifier"
    main(["run", "toy-classifier", "--scale", "small", "--set", "points=50", "--out", folder])
    capsys.readouterr()
    assert known_ledger("small").runs == {}
    main(["claims", "--paper", "blog21", "--run"])
    capsys.readouterr()
    (run,) = known_ledger("small").runs.values()
    assert run.path.parent.resolve() == (tmp_path / folder).parent
    assert run.manifest["config"]["settings"]["points"] == 400
    entries = known_ledger("small").of("blog21")
    assert {entry.scale for entry in entries} == {"small"}


def test_local_results_are_next_to_shipped_results(monkeypatch, capsys):
    main(["run", "toy-classifier", "--scale", "small", "--out", "runs/claims-small/toy-classifier"])
    capsys.readouterr()
    shipped, result = shipped_ledger(), as_json(capsys, "claims")
    assert [e["claim"] for e in result["claims"]] == list(all_claims())
    for entry, before in zip(result["claims"], shipped.entries, strict=True):
        if before.experiment != "toy-classifier":
            assert entry["finding"] == (before.finding and asdict(before.finding))
            assert entry["scale"] == before.scale
    assert list(known_ledger("small").runs) == ["toy-classifier"]
    assert result["versions"].keys() == shipped.versions.keys()
    theirs = shipped.versions["toy-classifier"]
    larger = replace(shipped, versions={"toy-classifier": {**theirs, "scale": "paper"}})
    monkeypatch.setattr("foveate.studies.ledger.shipped_ledger", lambda: larger)
    assert known_ledger("small").versions["toy-classifier"]["scale"] == "paper"
    assert known_ledger("small").runs == {}


def test_long_experiments_are_run_when_asked_for_only(monkeypatch, capsys, tmp_path):
    """Nothing is trained here: what would be is written down."""
    started, ledger = [], "foveate.studies.ledger"
    (tmp_path / "runs/claims-small").mkdir(parents=True)
    monkeypatch.setattr(f"{ledger}.run_in_parallel", lambda todo, *_: started.append({*todo}))
    monkeypatch.setattr(f"{ledger}._run_in_process", lambda name, *_: started.append({name}))
    monkeypatch.setattr(f"{ledger}.ledger_at", lambda scale: shipped_ledger())
    main(["claims", "--paper", "pvr22", "--run"])
    assert "left out, add --long: captions, direct-classifier, table2" in capsys.readouterr().err
    main(["claims", "--paper", "pvr22", "--run", "--long"])
    long = {"captions", "direct-classifier", "table2"}
    assert started == [{"error-modes"}, {"error-modes", *long}]


def test_if_all_epochs_are_long_the_sentence_states_it(monkeypatch):
    ledger = "foveate.studies.ledger"
    monkeypatch.setattr(f"{ledger}._missing", lambda *_: ["captions", "table2"])
    monkeypatch.setattr(f"{ledger}.ledger_at", lambda scale: None)
    with pytest.raises(FoveateError, match="captions, table2 take more than a few minutes each"):
        run_ledger("small", "pvr22")


def test_a_killed_experiment_resumes_to_the_same_records(tmp_path):
    code = "from foveate.cli import main; main()"
    sizes = ["--set", "n=300", "--set", "epochs=6", "--set", "lengths=[5]", "--scale", "smoke"]

    def start(*arguments):
        return subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            cwd=tmp_path,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    whole = start("run", "signatures", *sizes, "--out", "whole")
    doomed = start("run", "signatures", *sizes, "--out", "killed")
    begun, waited = tmp_path / "killed/hard-m5", time.monotonic()
    while not begun.exists() and time.monotonic() - waited < 100:
        time.sleep(0.01)
    doomed.send_signal(signal.SIGKILL)
    doomed.communicate()
    again = start("resume", "killed")
    for process in (whole, again):
        _, err = process.communicate(timeout=150)
        assert process.returncode == 0, err.decode()
    a, b = open_run(tmp_path / "whole").records(), open_run(tmp_path / "killed").records()
    assert list(a) == list(b)
    for part, record in a.items():
        for key, value in record.final.items():
            np.testing.assert_array_equal(value, b[part].final[key])


def test_experiments_side_by_side_equal_one_alone(tmp_path):
    from foveate.jobs.experiment import findings_of, start_experiment
    from foveate.studies.parallel_runs import run_in_parallel

    reported = []
    places = {name: tmp_path / "both" / name for name in ("flows", "toy-classifier")}
    places["flows"].parent.mkdir()
    run_in_parallel(places, "smoke", lambda *words: reported.append(words), processes=2)
    assert ("toy-classifier", 2, 2) in reported
    alone = start_experiment("toy-classifier", "smoke", out=tmp_path / "alone")
    assert findings_of(open_run(places["toy-classifier"])) == findings_of(alone)


def test_an_experiment_that_fails_beside_others_is_named(tmp_path):
    from foveate.errors import FoveateError
    from foveate.studies.parallel_runs import run_in_parallel

    places = {"flows": tmp_path / "flows", "no-such": tmp_path / "other"}
    with pytest.raises(FoveateError, match="experiment 'no-such' failed: unknown experiment"):
        run_in_parallel(places, "smoke", None, processes=2)
