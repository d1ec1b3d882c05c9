"""Findings: results of experiments about claims, and the ledger of all claims."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

from foveate.records.runs import Run

__all__ = ["VERDICTS", "Entry", "Finding", "Ledger", "Revision", "Verdict", "effect_words"]

Verdict = Literal[
    "holds", "holds in part", "does not hold", "contradicted", "underpowered", "not testable here"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Finding:
    """The result of an experiment about one claim.

    Args:
        claim: Its key, "vr23:C5".
        verdict: Whether the criterion is met.
        effect: What was measured, a number.
        low: Lower end of the 95 % interval over seeds, None where nothing varies.
        high: Upper end.
        measure: What the number is, in words with its unit.
        summary: Where it holds and where it does not.
        figure: Name of the experiment's figure that shows it.
        deviation: What differs from the paper's set-up, and why.
    """

    claim: str
    verdict: Verdict
    effect: float
    low: float | None
    high: float | None
    measure: str
    summary: str
    figure: str
    deviation: str = "none"

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Self:
        """A finding from a JSON document; ``summary`` was called ``said`` before version 0.2."""
        return cls(**{"summary" if key == "said" else key: entry[key] for key in entry})


@dataclass(frozen=True)
class Revision:
    """A criterion that was changed after results had been seen.

    Args:
        date: When, "2026-11-18".
        reason: Why the earlier criterion could not decide the claim.
        criterion: The earlier criterion.
        verdict: The verdict by the earlier criterion.
    """

    date: str
    reason: str
    criterion: str
    verdict: Verdict


@dataclass(frozen=True)
class Entry:
    """One claim: what it says, how it is judged, by which experiment, and the finding if any.

    The scale is that of the run behind the finding; the revision says how and when the criterion
    was changed, where it was.
    """

    claim: str
    statement: str
    experiment: str
    criterion: str
    finding: Finding | None
    scale: str | None = None
    revision: Revision | None = None


@dataclass(frozen=True)
class Ledger:
    """All claims at one scale, or above it where an experiment was run at a larger one.

    Args:
        scale: The least scale of the runs behind it.
        entries: One per claim, in the order of the papers.
        runs: The run behind each experiment, where it is on this machine.
        versions: Versions, commit, scale and CPU seconds of the runs, by experiment, or by claim
            where a run other than the experiment's stands behind one.
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


def effect_words(finding: Finding) -> str:
    """The effect with its interval, in four digits."""
    if finding.low is None or finding.high is None:
        return f"{finding.effect:.4g}"
    return f"{finding.effect:.4g} [{finding.low:.4g}, {finding.high:.4g}]"
