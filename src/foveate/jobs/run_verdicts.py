"""Verdicts on the trained parts of a race or a fit."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from foveate.errors import FoveateError
from foveate.metrics.faults import diverged, divergence
from foveate.records.runs import Run
from foveate.report.trust_files import DeclaredEvidence, TrustResults, write_trust

if TYPE_CHECKING:
    from foveate.jobs.job import NewBags, TrainedPart
    from foveate.records.record import Record
    from foveate.trust.auditor import Audit
    from foveate.trust.examination import Trust
    from foveate.types import PartProgress

__all__ = ["EXAMINING", "audit_part", "examine_parts", "examine_run", "main_paradigm"]

EXAMINING = "examining"


def examine_run(
    run: Run,
    declared: DeclaredEvidence,
    command: str,
    report: "PartProgress",
    *,
    paradigm: str | None = None,
    new: "NewBags | None" = None,
) -> TrustResults:
    """Examine the models of a finished run, and write the verdict, its page and the model card.

    Args:
        run: A race or a fit.
        declared: What the user declared; absent classes are those of the fit unless given.
        command: The command that repeats it.
        report: Called as ``report(part, done, total)``.
        paradigm: Which of the run's paradigms; all unless given.
        new: Labelled bags that a fit has not seen; its own held-out bags unless given.

    Returns:
        A verdict per paradigm, and advice on which to use.
    """
    from foveate.jobs.job import open_trained

    if not declared.absent:
        declared = declared._replace(absent=tuple(run.manifest["config"].get("absent", ())))
    job = open_trained(run)
    records = job.model_records(run)
    names = _paradigms(run, records, paradigm)
    source = "the run's own held-out bags" if new is None else new.path.name
    parts = job.trained_parts(run, names, new, report)
    return examine_parts(run, records, parts, declared, command, source, report)


def examine_parts(
    run: Run,
    records: "Mapping[str, Sequence[Record]]",
    parts: "Iterable[TrainedPart]",
    declared: DeclaredEvidence,
    command: str,
    source: str,
    report: "PartProgress",
    *,
    audited: "Audit | None" = None,
    excluded: Sequence[str] = (),
) -> TrustResults:
    """Examine trained parts of a run, and write the verdict, its page and the model card.

    Args:
        run: A race or a fit.
        records: The records of every paradigm, as :meth:`Job.model_records` gave them.
        parts: What to examine, on the same bags.
        declared: What the user declared.
        command: The command that repeats it.
        source: Which bags, in words.
        report: Called with the progress.
        audited: The audit of the bags; made here unless given.
        excluded: Further options that are not to be advised.
    """
    from foveate.jobs.job import job_class
    from foveate.trust.advice import compare

    job = job_class(run)
    results: list[Trust] = []
    tried = (*records, *job.excluded_options(run), *excluded)
    report(EXAMINING, 0, len(records) + 1)
    for part in parts:
        audited = audit_part(part) if audited is None else audited
        results.append(_examined(part, declared, audited, tried, records[part.name]))
        report(EXAMINING, len(results), len(records) + 1)
    report(EXAMINING, 1, 1)
    trust_results = TrustResults(
        tuple(trust.to_json() for trust in results),
        run.name,
        source,
        run.path / "trust.json",
        run.path / "trust.html",
        command,
        Path(run.manifest["label"]).name,
        main_paradigm(run),
        bool(run.manifest.get("weights")),
        tuple(compare(results, main_paradigm(run))),
        declared,
    )
    write_trust(trust_results)
    job.update_card(run)
    return trust_results


def _paradigms(
    run: Run, records: "Mapping[str, Sequence[Record]]", requested: str | None
) -> list[str]:
    """The parts to examine, without those that diverged; the one that a fit chose is first."""
    excluded = {name for name, several in records.items() if any(map(diverged, several))}
    parts = [name for name in records if _has_attention(name) and name not in excluded]
    if requested in excluded or (excluded and not parts):
        raise FoveateError(f"{run.path}: {_divergence(records)}")
    if requested is None:
        return sorted(parts, key=lambda name: name != main_paradigm(run))
    if requested not in parts:
        raise FoveateError(f"{run.path} has no paradigm '{requested}'; it has {', '.join(parts)}")
    return [requested]


def _divergence(records: "Mapping[str, Sequence[Record]]") -> str:
    """Which paradigms diverged; of folds, the first that diverged is named."""
    worst = {name: next(filter(diverged, several), several[0]) for name, several in records.items()}
    return divergence(worst)


def main_paradigm(run: Run) -> str | None:
    """The paradigm that a fit chose; of a mixture, the one with the largest weight."""
    attention = run.manifest["config"].get("paradigms", ())
    weights = {k: w for k, w in run.manifest.get("weights", {}).items() if k in attention}
    chosen: str | None = run.manifest.get("chosen")
    return max(weights, key=lambda name: weights[name]) if weights else chosen


def _has_attention(name: str) -> bool:
    from foveate.attention.paradigms import PARADIGMS

    return not PARADIGMS.get(name)().whole_bag


def audit_part(part: "TrainedPart") -> "Audit | None":
    """The audit of the bags, for all paradigms; None if they are too many to keep in memory."""
    from foveate.trust.auditor import audit
    from foveate.trust.examined_bags import CELLS

    sets = part.bags if isinstance(part.bags, list) else [part.bags]
    n, m = sets[0].shape
    if n * m * len(part.classes) > CELLS:
        return None
    return audit(sets, len(part.classes), more=part.more, labels=part.labels)


def _examined(
    part: "TrainedPart",
    declared: DeclaredEvidence,
    audited: "Audit | None",
    tried: Sequence[str],
    records: "Sequence[Record]",
) -> "Trust":
    from foveate.trust.advice import overfits
    from foveate.trust.examine import examine
    from foveate.trust.stability import last_epochs

    same_top = [r.values["same_top"] for r in records if "same_top" in r.values]
    steady = [last_epochs(values) for values in same_top]
    return examine(
        part.models,
        part.name,
        part.bags,
        part.classes,
        known=part.known,
        absent=declared.absent,
        relevant=declared.relevant,
        evidence=declared.evidence,
        more=part.more,
        labels=part.labels,
        audited=audited,
        tried=tried,
        overfitted=2 * sum(overfits(record) for record in records) > len(records),
        last_epochs=sum(steady) / len(steady) if steady else float("nan"),
        ids=part.ids,
        name=part.name,
    )
