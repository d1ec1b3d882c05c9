"""Verdicts on the trained parts of a race or a fit."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from foveate.errors import FoveateError
from foveate.metrics.faults import diverged, divergence
from foveate.records.runs import Run
from foveate.report.progress import progress_of
from foveate.report.trust_files import DeclaredEvidence, TrustResults, write_trust

if TYPE_CHECKING:
    from foveate.jobs.job import NewBags, TrainedPart
    from foveate.records.record import Record
    from foveate.trust.auditor import Audit
    from foveate.trust.examination import Trust
    from foveate.types import PartProgress

__all__ = ["examine_run", "main_paradigm"]

NAN = float("nan")


def examine_run(
    run: Run,
    declared: DeclaredEvidence,
    command: str,
    *,
    paradigm: str | None = None,
    new: "NewBags | None" = None,
    report: "PartProgress | None" = None,
) -> TrustResults:
    """Examine the models of a finished run, and write the verdict, its page and the model card.

    Args:
        run: A race or a fit.
        declared: What the user declared; absent classes are those of the fit unless given.
        command: The command that repeats it.
        paradigm: Which of the run's paradigms; all unless given.
        new: Labelled bags that a fit has not seen; its own held-out bags unless given.
        report: Called with the progress; a line in the terminal unless given.

    Returns:
        A verdict per paradigm, and advice on which to use.
    """
    from foveate.jobs.job import open_trained
    from foveate.trust.advice import compare, overfits
    from foveate.trust.stability import last_epochs

    if not declared.absent:
        declared = declared._replace(absent=tuple(run.manifest["config"].get("absent", ())))
    job = open_trained(run)
    records = job.model_records(run)
    names = _paradigms(run, records, paradigm)
    results: list[Trust] = []
    shared: Audit | None = None
    with progress_of(quiet=True) if report is None else nullcontext(report) as progress:
        progress("examining", 0, len(names))
        for part in job.trained_parts(run, names, new, progress):
            shared = _audited(part) if shared is None else shared
            record = records[part.name]
            steady = last_epochs(record.values["same_top"]) if "same_top" in record.values else NAN
            context = _RunContext(shared, tuple(records), overfits(record), steady)
            results.append(_examined(part, declared, context))
            progress("examining", len(results), len(names))
    trust_results = TrustResults(
        tuple(trust.to_json() for trust in results),
        run.name,
        "the run's own held-out bags" if new is None else new.path.name,
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
    if run.is_a("fit"):
        from foveate.userdata.model_card import write_model_card

        write_model_card(run)
    return trust_results


class _RunContext(NamedTuple):
    """What is known beside the bags: their audit, the paradigms tried, and their training."""

    audit: "Audit | None"
    tried: tuple[str, ...]
    overfitted: bool
    last_epochs: float


def _paradigms(run: Run, records: "dict[str, Record]", requested: str | None) -> list[str]:
    """The parts to examine, sound ones alone; the one that a fit chose comes first."""
    excluded = {name for name, record in records.items() if diverged(record)}
    parts = [name for name in records if _has_attention(name) and name not in excluded]
    if requested in excluded or (excluded and not parts):
        raise FoveateError(f"{run.path}: {divergence(records)}")
    if requested is None:
        return sorted(parts, key=lambda name: name != main_paradigm(run))
    if requested not in parts:
        raise FoveateError(f"{run.path} has no paradigm '{requested}'; it has {', '.join(parts)}")
    return [requested]


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
    from foveate.trust.examined_bags import CELLS

    sets = part.bags if isinstance(part.bags, list) else [part.bags]
    n, m = sets[0].shape
    if n * m * len(part.classes) > CELLS:
        return None
    return audit(sets, len(part.classes), more=part.more, labels=part.labels)


def _examined(part: "TrainedPart", declared: DeclaredEvidence, context: _RunContext) -> "Trust":
    from foveate.trust.examine import examine

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
        audited=context.audit,
        tried=context.tried,
        overfitted=context.overfitted,
        last_epochs=context.last_epochs,
        ids=part.ids,
        name=part.name,
    )
