"""The ledger: for every claim of the papers, the experiment that checks it and its finding."""

import hashlib
import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from foveate.errors import FoveateError
from foveate.jobs.experiment import (
    EXPERIMENTS,
    SCALES,
    changed_settings,
    experiment_charts,
    findings_of,
    resume_experiment,
    settings_for,
    start_experiment,
)
from foveate.papers import PAPERS, all_claims
from foveate.records.findings import Entry, Finding, Ledger
from foveate.records.record import write_atomically
from foveate.records.runs import Run, open_run, runs_folder
from foveate.studies.parallel_runs import run_in_parallel
from foveate.types import PartProgress

__all__ = [
    "known_ledger",
    "known_papers",
    "ledger_at",
    "long_ones",
    "path_of",
    "run_ledger",
    "shipped_ledger",
    "write_ledger_report",
]


def known_papers() -> list[str]:
    """Keys of the papers with checked claims, including plug-ins."""
    EXPERIMENTS.names()  # a plug-in registers its paper beside its study
    return PAPERS.names()


def folder(scale: str) -> Path:
    """Where the runs of the ledger are stored."""
    return runs_folder() / f"claims-{scale}"


def run_ledger(
    scale: str, paper: str | None, report: PartProgress | None = None, *, long: bool = False
) -> Ledger:
    """Run or resume the experiments of the claims; finished ones are not repeated.

    Args:
        scale: The scale.
        paper: Key of a paper; None for all.
        report: Called as ``report(experiment, done, total)``.
        long: Whether to include experiments that take more than a few minutes.
    """
    left_out = () if long else long_ones(scale, paper)
    missing = [name for name in _missing(scale, paper) if name not in left_out]
    todo = {name: path_of(name, scale) for name in missing}
    if len(todo) == 1:
        [(name, path)] = todo.items()
        _run_in_process(name, scale, path, report)
    elif todo:
        run_in_parallel(todo, scale, report)
    ledger = ledger_at(scale)
    if ledger is None and left_out:
        raise FoveateError(f"{', '.join(left_out)} take more than a few minutes each: add --long")
    if ledger is None:
        raise FoveateError(f"no experiment serves the claims of '{paper}'")
    text = (json.dumps(ledger.as_json(), indent=1, ensure_ascii=False) + "\n").encode()
    write_atomically(folder(scale) / "claims.json", lambda file: file.write(text))
    return ledger


def long_ones(scale: str, paper: str | None) -> tuple[str, ...]:
    """Experiments of claims without a finished run that take more than a few minutes."""
    if scale == "smoke":
        return ()
    return tuple(name for name in _missing(scale, paper) if EXPERIMENTS.get(name).long)


def _missing(scale: str, paper: str | None) -> list[str]:
    return [name for name in _experiments(paper) if _largest(name, scale) is None]


def _largest(name: str, scale: str) -> Run | None:
    """The finished run of an experiment at this scale or a larger one, the largest first."""
    if scale not in SCALES:
        raise FoveateError(f"scale must be one of {', '.join(SCALES)}, got '{scale}'")
    scales = SCALES[1:] if scale == "small" else (scale,)  # the smoke scale is a test
    for candidate in reversed(scales):
        path = path_of(name, candidate)
        if (path / "manifest.json").exists() and (run := open_run(path)).done:
            return run
    return None


def path_of(name: str, scale: str) -> Path:
    """Where the run of an experiment at a scale is, or will be; runs of other sizes stay."""
    usual = folder(scale) / name
    if not (usual / "manifest.json").exists():
        return usual
    changed = changed_settings(open_run(usual).manifest["config"])
    return usual.with_name(f"{name}-{_key(name, scale)}") if changed else usual


def _key(name: str, scale: str) -> str:
    """A short hash of the settings of a scale."""
    text = json.dumps(settings_for(name, scale, {}).model_dump(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _run_in_process(name: str, scale: str, folder: Path, report: PartProgress | None) -> None:
    """Run one experiment in this process and report the progress of its parts."""
    if (folder / "manifest.json").exists():
        resume_experiment(open_run(folder), _prefixed(report, name))
        return
    command = f"foveate run {name} --scale {scale}"
    start_experiment(
        name,
        scale,  # type: ignore[arg-type]
        out=folder,
        report=_prefixed(report, name),
        command=command,
    )


def ledger_at(scale: str) -> Ledger | None:
    """The ledger of the runs on this machine, None where there are none."""
    largest = {name: _largest(name, scale) for name in EXPERIMENTS.names()}
    runs = {name: run for name, run in largest.items() if run is not None}
    if not runs:
        return None
    findings = {f.claim: f for run in runs.values() for f in findings_of(run)}
    versions = {name: _origin(run) for name, run in runs.items()}
    return Ledger(scale, _entries(findings, versions), runs, versions)


def _origin(run: Run) -> dict[str, Any]:
    """Where numbers come from, as stored in the ledger."""
    meta = {key: run.manifest.get(key) for key in ("versions", "commit", "cpu_seconds")}
    return {**meta, "scale": run.manifest["config"]["scale"]}


def shipped_ledger() -> Ledger:
    """The ledger that is part of the package."""
    text = resources.files("foveate").joinpath("studies/results/claims.json").read_text()
    stored = json.loads(text)
    findings = {
        e["claim"]: Finding.from_json(e["finding"]) for e in stored["claims"] if e["finding"]
    }
    return Ledger(stored["scale"], _entries(findings, stored["versions"]), {}, stored["versions"])


def known_ledger(scale: str) -> Ledger:
    """The local ledger; claims that it lacks, or has at a smaller scale, come from the package.

    The ledger of the smoke scale contains local runs only.
    """
    local = ledger_at(scale)
    if local is None or scale == "smoke":
        return local or shipped_ledger()
    shipped = shipped_ledger()
    newer = {
        name
        for name, version in local.versions.items()
        if SCALES.index(version["scale"])
        >= SCALES.index(shipped.versions.get(name, version)["scale"])
    }
    merged = {
        entry.claim: entry.finding
        for ledger in (shipped, local)
        for entry in ledger.entries
        if entry.finding is not None and (entry.experiment in newer) == (ledger is local)
    }
    replaced = {entry.claim for entry in shipped.entries if entry.experiment in newer}
    versions = {name: version for name, version in shipped.versions.items() if name not in replaced}
    versions |= {name: local.versions[name] for name in newer}
    runs = {name: run for name, run in local.runs.items() if name in newer}
    return Ledger(scale, _entries(merged, versions), runs, versions)


def _entries(
    findings: Mapping[str, Finding], versions: Mapping[str, Mapping[str, Any]]
) -> tuple[Entry, ...]:
    served = {
        claim: (name, criterion, kind.revisions.get(claim))
        for name, kind in EXPERIMENTS.items()
        for claim, criterion in kind.criteria.items()
    }
    return tuple(
        Entry(
            claim,
            statement,
            served[claim][0],
            served[claim][1],
            findings.get(claim),
            _scale(versions.get(claim) or versions.get(served[claim][0], {})),
            served[claim][2],
        )
        for claim, statement in all_claims().items()
        if claim in served
    )


def _scale(origin: Mapping[str, Any]) -> str | None:
    """The scale of a run as the ledger shows it, with the settings that were changed."""
    changed = ", ".join(origin.get("changed", ()))
    return f"{origin['scale']}, changed: {changed}" if changed else origin.get("scale")


def _experiments(paper: str | None) -> list[str]:
    return [
        name
        for name, kind in EXPERIMENTS.items()
        if any(paper is None or claim.startswith(f"{paper}:") for claim in kind.criteria)
    ]


def _prefixed(report: PartProgress | None, name: str) -> PartProgress | None:
    if report is None:
        return None
    return lambda part, done, total: report(f"{name}: {part}", done, total)


def write_ledger_report(ledger: Ledger, paper: str | None = None) -> Path:
    """Write the page of the ledger into the folder of its runs."""
    from foveate.report.pages.ledger import write_ledger_page

    if not ledger.runs:
        raise FoveateError("figures need the runs behind the ledger: add --run")
    charts = {name: experiment_charts(run) for name, run in ledger.runs.items()}
    return write_ledger_page(ledger, charts, folder(ledger.scale) / "claims.html", paper)
