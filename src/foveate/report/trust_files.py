"""The files of a verdict on attention: numbers, and a page."""

import shlex
from pathlib import Path
from typing import Any, NamedTuple

from foveate.records.checksums import seal_json
from foveate.records.record import write_atomically
from foveate.report.pages.trust import write_trust_page
from foveate.trust.examined_bags import chosen_kinds

__all__ = ["DeclaredEvidence", "TrustResults", "trust_command", "write_trust"]


class DeclaredEvidence(NamedTuple):
    """What the user declared of the classes and their evidence.

    Args:
        absent: Classes that mean that nothing is there.
        relevant: How many segments of a bag may be evidence.
        evidence: Which kind of evidence is meant.
    """

    absent: tuple[str, ...] = ()
    relevant: int | None = None
    evidence: str | dict[str, str] | None = None


class TrustResults(NamedTuple):
    """Verdicts and where they are written.

    Args:
        examinations: One entry for each paradigm or model, as JSON holds it.
        name: What was examined.
        source: Which bags.
        numbers: The JSON file to write.
        page: The page to write.
        command: The command that repeats it.
        title: The data of a run, for the title of the page; None for a model from elsewhere.
        chosen: The paradigm that a fit chose.
        mixture: Whether that is the part of a mixture with the largest weight.
        advice: Comparisons of paradigms, a sentence each.
        declared: What the user declared.
    """

    examinations: tuple[dict[str, Any], ...]
    name: str
    source: str
    numbers: Path
    page: Path
    command: str
    title: str | None = None
    chosen: str | None = None
    mixture: bool = False
    advice: tuple[str, ...] = ()
    declared: DeclaredEvidence = DeclaredEvidence()


def trust_command(run: str, declared: DeclaredEvidence) -> str:
    """The command that examines a run as it was declared.

    Example:
        >>> trust_command("pumps", DeclaredEvidence(("healthy",), None, {"worn": "A"}))
        'foveate trust pumps --absent healthy --evidence worn=A'
    """
    words = ["foveate", "trust", run]
    if declared.absent:
        words += ["--absent", ",".join(declared.absent)]
    if declared.relevant is not None:
        words += ["--relevant", str(declared.relevant)]
    if isinstance(declared.evidence, str):
        words += ["--evidence", declared.evidence]
    elif declared.evidence:
        words += ["--evidence", ",".join(f"{k}={v}" for k, v in declared.evidence.items())]
    return shlex.join(words)


def write_trust(results: TrustResults) -> None:
    """Write the numbers and the page, each whole or not at all."""
    stored = {
        "source": results.source,
        "command": results.command,
        "chosen": results.chosen,
        "mixture": results.mixture,
        "absent": list(results.declared.absent),
        "evidence": dict(
            chosen_kinds(results.declared.evidence, results.examinations[0]["classes"])
        ),
        "advice": list(results.advice),
        "found": list(results.examinations),
    }
    numbers = seal_json(stored, indent=1, allow_nan=False)
    about = f"on {results.title}" if results.title else f"of {results.name}"
    write_trust_page(results.page, stored, about=about)
    write_atomically(results.numbers, numbers)  # last: they imply the page
