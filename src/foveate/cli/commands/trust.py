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
    from foveate.jobs.job import NewBags, TrainedPart
    from foveate.records.record import Record
    from foveate.trust.auditor import Audit
    from foveate.trust.examine import Trust

__all__ = ["Declared", "examine_run", "main_paradigm", "trust_command"]

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
    from foveate.jobs.job import NewBags

    opened = open_run(run)
    new = None if data is None else NewBags(data, given(columns))
    empty = tuple(word.strip() for word in absent.split(",")) if absent else ()
    flags = Declared(empty, relevant, _meant(evidence))
    if "labels" in opened.manifest:
        return _examine_labels(opened, flags, data or paradigm, as_json=as_json)
    results, advice = examine_run(opened, flags, paradigm, new)
    if as_json:
        print(json.dumps([trust.to_json() for trust in results], ensure_ascii=False))
    else:
        _print(opened, results, advice)


def _examine_labels(run: Run, flags: "Declared", other: object, *, as_json: bool) -> None:
    """The verdict on every label of a multi-label run."""
    from foveate.cli.multi_label import examine_labels

    if other is not None:
        raise FoveateError(
            "--data and --paradigm are for the fit of one label: name its directory, RUN/label1/fit"
        )
    verdicts = examine_labels(run, flags).manifest["verdicts"]
    if as_json:
        print(json.dumps(verdicts, ensure_ascii=False))
        return
    for name, grade in verdicts.items():
        print(f"{name}: {grade}")
    print(f"page: {run.path / 'report.html'}")


class Declared(NamedTuple):
    """What the user declared of the classes and their evidence.

    Args:
        absent: Classes that mean that nothing is there.
        relevant: How many segments of a bag may be evidence.
        evidence: Which kind of evidence is meant.
    """

    absent: tuple[str, ...] = ()
    relevant: int | None = None
    evidence: str | dict[str, str] | None = None


def examine_run(
    run: Run, flags: Declared, paradigm: str | None = None, new: "NewBags | None" = None
) -> "tuple[list[Trust], tuple[str, ...]]":
    """Examine the models of a finished run, and write the verdict, its page and the model card.

    Args:
        run: A race or a fit.
        flags: What the user declared.
        paradigm: Which of the run's paradigms; all unless given.
        new: Labelled bags that a fit has not seen; its own held-out bags unless given.

    Returns:
        A verdict per paradigm, and advice on which to use.
    """
    from foveate.jobs.job import open_trained
    from foveate.trust.advice import compare, overfits

    job = open_trained(run)
    records = job.model_records(run)
    names = _paradigms(run, records, paradigm)
    results: list[Trust] = []
    shared: Audit | None = None
    with progress_of(quiet=True) as report:
        report("examining", 0, len(names))
        for part in job.trained_parts(run, names, new, report):
            shared = _audited(part) if shared is None else shared
            known = _Known(shared, tuple(records), overfits(records[part.name]))
            results.append(_examined(part, flags, known))
            report("examining", len(results), len(names))
    advice = compare(results, main_paradigm(run))
    _write(run, results, None if new is None else new.path, advice)
    return results, advice


class _Known(NamedTuple):
    """What is known beside the bags: their audit, the paradigms tried, and overfitting."""

    audit: "Audit | None"
    tried: tuple[str, ...]
    overfitted: bool


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
        return sorted(parts, key=lambda name: name != main_paradigm(run))
    if wanted not in parts:
        raise FoveateError(f"{run.path} has no paradigm '{wanted}'; it has {', '.join(parts)}")
    return [wanted]


def main_paradigm(run: Run) -> str | None:
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
    return audit(sets, len(part.classes), more=part.more, labels=part.labels)


def _examined(part: "TrainedPart", flags: Declared, known: _Known) -> "Trust":
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
        labels=part.labels,
        audited=known.audit,
        tried=known.tried,
        overfitted=known.overfitted,
        ids=part.ids,
        name=part.name,
    )


def _write(run: Run, found: "list[Trust]", data: Path | None, advice: tuple[str, ...]) -> None:
    """The numbers and the page, each whole or not at all."""
    from foveate.report.pages.trust import write_trust_page

    kept = {
        "source": "the run's own held-out bags" if data is None else data.name,
        "command": this_command(),
        "chosen": main_paradigm(run),
        "advice": list(advice),
        "found": [t.to_json() for t in found],
    }
    text = json.dumps(kept, ensure_ascii=False, indent=1, allow_nan=False).encode()
    write_atomically(run.path / "trust.json", lambda file: file.write(text))
    write_trust_page(run.path / "trust.html", kept, name=Path(run.manifest["label"]).name)
    if run.is_a("fit"):
        from foveate.userdata.model_card import write_model_card

        write_model_card(run)


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
    return f"{paradigm} *" if paradigm == main_paradigm(run) else paradigm
