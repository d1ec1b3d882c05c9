"""The command that says whether the attention of a run can be trusted."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from foveate.cli.flags import ColumnFlags, Json, given
from foveate.cli.results import this_command
from foveate.errors import FoveateError
from foveate.metrics.faults import diverged, divergence
from foveate.records.record import write_atomically
from foveate.records.runs import Run, open_run
from foveate.report.progress import progress_of

if TYPE_CHECKING:
    from foveate.jobs.job import TrainedPart
    from foveate.records.record import Record
    from foveate.trust.auditor import Audit
    from foveate.trust.examine import Trust

__all__ = ["trust_command"]

SIGNS = {"good": "+", "fair": "~", "bad": "-", "unknown": "?"}
FEW = 15  # known bags below which counts are printed


def trust_command(
    run: Path,
    /,
    *,
    data: Path | None = None,
    columns: ColumnFlags = None,
    paradigm: str | None = None,
    absent: str | None = None,
    relevant: int | None = None,
    evidence: str | None = None,
    as_json: Json = False,
) -> None:
    """Say whether the attention of trained models can be trusted, and for which classes.

    Parameters
    ----------
    run
        A race or a fit: its directory, or its name under runs/.
    data
        Labelled bags that a fit has not seen; its own test bags unless given.
    columns
        What the columns of --data are, where they differ from the fit's.
    paradigm
        Which of the run's paradigms; all unless given.
    absent
        Classes that mean that nothing is there (such as "normal"), separated by commas; inferred
        unless given.
    relevant
        How many segments of a bag may be evidence; inferred unless given.
    evidence
        Which kind of evidence is meant, where a verdict names two: A or B, or by class as
        CLASS=A,CLASS=B.
    as_json
        Print everything as JSON.
    """
    from foveate.jobs.job import NewBags, open_trained
    from foveate.trust.advice import compare, overfits

    opened = open_run(run)
    job = open_trained(opened)
    new = None if data is None else NewBags(data, given(columns))
    records = job.model_records(opened)
    names = _paradigms(opened, records, paradigm)
    empty = tuple(word.strip() for word in absent.split(",")) if absent else ()
    flags = _Flags(empty, relevant, _meant(evidence), tuple(records))
    results: list[Trust] = []
    shared: Audit | None = None
    with progress_of(quiet=True) as report:
        report("examining", 0, len(names))
        for part in job.trained_parts(opened, names, new, report):
            shared = _audited(part) if shared is None else shared
            results.append(_examined(part, flags, shared, overfits(records[part.name])))
            report("examining", len(results), len(names))
    advice = compare(results, _main_paradigm(opened))
    _write(opened, results, data, advice)
    if as_json:
        print(json.dumps([trust.to_json() for trust in results], ensure_ascii=False))
    else:
        _print(opened, results, advice)


class _Flags(NamedTuple):
    """What the user declared, and which paradigms were trained."""

    absent: tuple[str, ...]
    relevant: int | None
    evidence: str | dict[str, str] | None
    tried: tuple[str, ...]


def _meant(text: str | None) -> str | dict[str, str] | None:
    """The kinds of evidence that are meant, for all classes or by class."""
    if text is None or "=" not in text:
        return text
    pairs = [part.strip().rpartition("=") for part in text.split(",")]
    return {name: kind for name, _, kind in pairs}


def _paradigms(run: Run, records: "dict[str, Record]", wanted: str | None) -> list[str]:
    """The parts to examine, sound ones alone; the one that a fit chose comes first."""
    lost = {name for name, record in records.items() if diverged(record)}
    parts = [name for name in records if _has_attention(name) and name not in lost]
    if wanted in lost or (lost and not parts):
        raise FoveateError(f"{run.path}: {divergence(records)}")
    if wanted is None:
        return sorted(parts, key=lambda name: name != _main_paradigm(run))
    if wanted not in parts:
        raise FoveateError(f"{run.path} has no paradigm '{wanted}'; it has {', '.join(parts)}")
    return [wanted]


def _main_paradigm(run: Run) -> str | None:
    """The paradigm that a fit chose; of a mixture, the one with the largest weight."""
    attention = run.manifest["config"].get("paradigms", ())
    weights = {k: w for k, w in run.manifest.get("weights", {}).items() if k in attention}
    chosen: str | None = run.manifest.get("chosen")
    return max(weights, key=lambda name: weights[name]) if weights else chosen


def _has_attention(name: str) -> bool:
    from foveate.attention.paradigms import PARADIGMS

    return not PARADIGMS.get(name)().whole_bag


def _audited(part: "TrainedPart") -> "Audit | None":
    """The audit of the bags, which serves for all paradigms; None for more bags than are held."""
    from foveate.trust.auditor import audit
    from foveate.trust.examine import CELLS

    sets = part.bags if isinstance(part.bags, list) else [part.bags]
    n, m = sets[0].shape
    if n * m * len(part.classes) > CELLS:
        return None
    return audit(sets, len(part.classes), more=part.more)


def _examined(
    part: "TrainedPart", flags: _Flags, shared: "Audit | None", overfitted: bool
) -> "Trust":
    from foveate.trust.examine import examine

    return examine(
        part.models,
        part.name,
        part.bags,
        part.classes,
        known=part.known,
        absent=flags.absent,
        relevant=flags.relevant,
        evidence=flags.evidence,
        more=part.more,
        audited=shared,
        tried=flags.tried,
        overfitted=overfitted,
        ids=part.ids,
        name=part.name,
    )


def _write(run: Run, found: "list[Trust]", data: Path | None, advice: tuple[str, ...]) -> None:
    """The numbers and the page, each whole or not at all."""
    from foveate.report.pages.trust import write_trust_page

    kept = {
        "source": "the run's own held-out bags" if data is None else data.name,
        "command": this_command(),
        "chosen": _main_paradigm(run),
        "advice": list(advice),
        "found": [t.to_json() for t in found],
    }
    text = json.dumps(kept, ensure_ascii=False, indent=1, allow_nan=False).encode()
    write_atomically(run.path / "trust.json", lambda file: file.write(text))
    write_trust_page(run.path / "trust.html", kept, name=Path(run.manifest["label"]).name)


def _print(run: Run, found: "list[Trust]", advice: tuple[str, ...]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"can the attention of {escape(run.name)} be trusted?")
    for heading in ("paradigm", "class", "verdict", "accuracy, %", "FT, estimated %", "measured %"):
        table.add_column(heading, justify="right" if "%" in heading else "left")
    for trust in found:
        for own in trust.by_class:
            cells = [_percent(own["accuracy"]), _estimated(own), _measured(own)]
            who = _marked(run, trust.paradigm) if own is trust.by_class[0] else ""
            table.add_row(who, escape(own["name"]), own["verdict"]["grade"], *cells)
        table.add_section()
    Console(width=None if Console().is_terminal else 140).print(table)
    for line in advice:
        print(line)
    for trust in found:
        print(f"{_marked(run, trust.paradigm)}: {trust.verdict.grade}. {trust.verdict.summary}")
        for answer in trust.answers.values():
            print(f"  {SIGNS[answer.mark]} {answer.question} {answer.text}")
        for line in (*trust.verdict.why, *(f"next: {step}" for step in trust.verdict.next)):
            print(f"  - {line}")
    first = found[0]
    print(f"segments of a bag taken to be evidence: {first.relevant} ({first.relevant_from})")
    if first.audited["bags"] < first.audited["of_bags"]:
        print("audited: {bags} of {of_bags} bags, drawn at random".format(**first.audited))
    print(f"page: {run.path / 'trust.html'}")


def _percent(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{100 * value:.0f}"


def _estimated(own: dict[str, Any]) -> str:
    """Estimated FT with its chance level; a dash where nothing is estimated."""
    value = _percent(own["estimate"])
    return value if value == "–" else f"{value} (chance {_percent(own['chance'])})"


def _measured(own: dict[str, Any]) -> str:
    """Measured FT with its chance level, as a count where few bags are known."""
    if own["measured"] is None:
        return "–"
    hits, known = own["measured"].mean * own["known"], own["known"]
    value = f"{hits:.0f} of {known}" if known < FEW else _percent(own["measured"].mean)
    return f"{value} (chance {_percent(own['measured_chance'])})"


def _marked(run: Run, paradigm: str) -> str:
    """A paradigm's name, with a star where it is the one that the fit chose."""
    return f"{paradigm} *" if paradigm == _main_paradigm(run) else paradigm
