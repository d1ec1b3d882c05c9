"""Judge stored results again and renew the ledger that comes with the package.

Usage: ``python tools/update_ledger.py [--missing] [RUN …]``. Findings of the given finished runs
replace stored ones; with ``--missing`` they only fill claims that have none, for runs that are
smaller than the stored one. Tables that can be judged from their stored cells are judged by today's
criteria; a finding by an earlier criterion that cannot be renewed is dropped, so that its claim
counts as not run.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from foveate.jobs.experiment import EXPERIMENTS, changed_settings, findings_of, settings_for
from foveate.papers import statement_of
from foveate.records.findings import Finding
from foveate.records.published import Cell
from foveate.records.record import write_atomically
from foveate.records.runs import Run, open_run
from foveate.studies.reproduction import stored_results

LEDGER = Path(str(files("foveate"))) / "studies" / "results" / "claims.json"


def judge_stored(result: dict[str, Any]) -> list[Finding]:
    """The findings of a stored table by today's criteria; none where it cannot be judged."""
    kind = EXPERIMENTS.get(result["table"])
    name = f"{kind.__module__}.findings"
    decide_claims = getattr(import_module(name), "decide_claims", None) if find_spec(name) else None
    if decide_claims is None:
        return []
    config = result["manifest"]["config"]
    settings = settings_for(config["experiment"], config["scale"], config["settings"])
    cells = [Cell(**{**c, "values": tuple(c["values"])}) for c in result["cells"]]
    findings: list[Finding] = decide_claims(settings, cells)
    return findings


def updated(ledger: dict[str, Any], runs: Sequence[Path], missing: bool = False) -> dict[str, Any]:
    """The ledger with new findings.

    Args:
        ledger: As stored.
        runs: Directories of finished experiments.
        missing: Whether runs only fill claims without a finding.
    """
    empty = {entry["claim"] for entry in ledger["claims"] if entry["finding"] is None}
    new: dict[str, Finding] = {}
    for result in stored_results():
        if result.get("cells") and not result.get("label"):
            new |= {finding.claim: finding for finding in judge_stored(result)}
    for path in runs:
        run = open_run(path)
        findings = [f for f in findings_of(run) if not missing or f.claim in empty]
        new |= {finding.claim: finding for finding in findings}
        names = [f.claim for f in findings] if missing else [run.manifest["label"]]
        ledger["versions"] |= dict.fromkeys(names, _origin(run))
    revised = {claim for _, kind in EXPERIMENTS.items() for claim in kind.revisions}
    criteria = {c: t for _, kind in EXPERIMENTS.items() for c, t in kind.criteria.items()}
    for entry in ledger["claims"]:
        claim, old = entry["claim"], entry["finding"]
        if claim in new:
            entry["finding"] = _with_deviation(asdict(new[claim]), old)
        elif claim in revised and entry["criterion"] != criteria[claim]:
            entry["finding"] = None
        entry["criterion"] = criteria.get(claim, entry["criterion"])
    ledger["claims"] += _new_entries(ledger, new)
    return ledger


def _new_entries(ledger: dict[str, Any], new: Mapping[str, Finding]) -> list[dict[str, Any]]:
    """Entries of claims that the stored ledger does not have yet."""
    stored = {entry["claim"] for entry in ledger["claims"]}
    return [
        {
            "claim": claim,
            "statement": statement_of(claim),
            "experiment": name,
            "criterion": criterion,
            "finding": asdict(new[claim]),
            "scale": ledger["versions"][name]["scale"],
        }
        for name, kind in EXPERIMENTS.items()
        for claim, criterion in kind.criteria.items()
        if claim in new and claim not in stored
    ]


def _origin(run: Run) -> dict[str, Any]:
    """Where findings come from: versions, commit, cost, scale and the settings that differ."""
    keep = {key: run.manifest.get(key) for key in ("versions", "commit", "cpu_seconds")}
    config = run.manifest["config"]
    changed = changed_settings(config)
    return {**keep, "scale": config["scale"], **({"changed": changed} if changed else {})}


def _with_deviation(new: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
    """A finding that was judged from cells alone keeps what was said of its set-up."""
    if new["deviation"] == "none" and old:
        new["deviation"] = old["deviation"]
    return new


if __name__ == "__main__":
    paths = [Path(argument) for argument in sys.argv[1:] if argument != "--missing"]
    ledger = updated(json.loads(LEDGER.read_text("utf-8")), paths, "--missing" in sys.argv)
    text = (json.dumps(ledger, indent=1, ensure_ascii=False) + "\n").encode()
    write_atomically(LEDGER, lambda file: file.write(text))
