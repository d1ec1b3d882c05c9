"""The ledger: for every claim of the papers, the experiment that checks it and what it found."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from foveate.errors import FoveateError
from foveate.experiments.experiment import EXPERIMENTS, Finding
from foveate.experiments.lanes import run_side_by_side
from foveate.experiments.runner import findings_of, resume_experiment, start_experiment
from foveate.papers import CLAIMS
from foveate.record import write_atomically
from foveate.runs import Run, open_run, runs_folder

__all__ = ["Entry", "Ledger", "ledger_at", "run_ledger", "shipped_ledger"]

Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Entry:
    """One claim: what it says, how it is judged, by which experiment, and the finding if any."""

    claim: str
    statement: str
    experiment: str
    criterion: str
    finding: Finding | None


@dataclass(frozen=True)
class Ledger:
    """All claims at one scale.

    Args:
        scale: The scale of the runs behind it.
        entries: One per claim, in the order of the papers.
        runs: The run behind each experiment, where it is on this machine.
        versions: Versions and commit of the runs, by experiment.
    """

    scale: str
    entries: tuple[Entry, ...]
    runs: Mapping[str, Run]
    versions: Mapping[str, Any]

    def of(self, paper: str | None) -> list[Entry]:
        """The entries of one paper, or all."""
        return [e for e in self.entries if paper is None or e.claim.startswith(f"{paper}:")]

    def as_json(self, paper: str | None = None) -> dict[str, Any]:
        """The ledger as JSON holds it."""
        entries = [asdict(entry) for entry in self.of(paper)]
        return {"scale": self.scale, "versions": dict(self.versions), "claims": entries}


def folder(scale: str) -> Path:
    """Where the runs behind the ledger are kept."""
    return runs_folder() / f"claims-{scale}"


def run_ledger(scale: str, paper: str | None, report: Report | None = None) -> Ledger:
    """Run, or finish, the experiments behind the claims; what is done is not done again."""
    places = {name: folder(scale) / name for name in _experiments(paper)}
    todo = {name: place for name, place in places.items() if not _is_done(place)}
    if len(todo) == 1:
        [(name, place)] = todo.items()
        _run_here(name, scale, place, report)
    elif todo:
        run_side_by_side(todo, scale, report)
    ledger = ledger_at(scale)
    if ledger is None:
        raise FoveateError(f"no experiment serves the claims of '{paper}'")
    text = (json.dumps(ledger.as_json(), indent=1, ensure_ascii=False) + "\n").encode()
    write_atomically(folder(scale) / "claims.json", lambda file: file.write(text))
    return ledger


def _is_done(place: Path) -> bool:
    return (place / "manifest.json").exists() and open_run(place).done


def _run_here(name: str, scale: str, place: Path, report: Report | None) -> None:
    """Run one experiment in this process, with its parts as they go."""
    if (place / "manifest.json").exists():
        resume_experiment(open_run(place), _prefixed(report, name))
        return
    command = f"foveate run {name} --scale {scale}"
    start_experiment(
        name,
        scale,  # type: ignore[arg-type]
        out=place,
        report=_prefixed(report, name),
        command=command,
    )


def ledger_at(scale: str) -> Ledger | None:
    """The ledger of the runs on this machine, None where there are none."""
    places = {name: folder(scale) / name for name in EXPERIMENTS.names()}
    runs = {n: open_run(p) for n, p in places.items() if (p / "manifest.json").exists()}
    runs = {name: run for name, run in runs.items() if run.done}
    if not runs:
        return None
    found = {f.claim: f for run in runs.values() for f in findings_of(run)}
    versions = {
        n: {"versions": r.manifest["versions"], "commit": r.manifest["commit"]}
        for n, r in runs.items()
    }
    return Ledger(scale, _entries(found), runs, versions)


def shipped_ledger() -> Ledger:
    """The ledger that came with the package: what was found when it was made."""
    text = resources.files("foveate").joinpath("results/claims.json").read_text()
    stored = json.loads(text)
    found = {e["claim"]: Finding(**e["finding"]) for e in stored["claims"] if e["finding"]}
    return Ledger(stored["scale"], _entries(found), {}, stored["versions"])


def _entries(found: Mapping[str, Finding]) -> tuple[Entry, ...]:
    served = {
        claim: (name, criterion)
        for name, kind in EXPERIMENTS.items()
        for claim, criterion in kind.criteria.items()
    }
    return tuple(
        Entry(claim, statement, *served[claim], found.get(claim))
        for claim, statement in CLAIMS.items()
        if claim in served
    )


def _experiments(paper: str | None) -> list[str]:
    return [
        name
        for name, kind in EXPERIMENTS.items()
        if any(paper is None or claim.startswith(f"{paper}:") for claim in kind.criteria)
    ]


def _prefixed(report: Report | None, name: str) -> Report | None:
    if report is None:
        return None
    return lambda part, done, total: report(f"{name}: {part}", done, total)
