"""The verdicts on a fit: of all its paradigms on its test bags, from one audit of them."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.jobs.run_verdicts import EXAMINING
from foveate.lab.fit_bags import AUDIT
from foveate.lab.live.progress import Progress
from foveate.lab.live.worker_channel import WorkerChannel
from foveate.lab.requests import ExamineJob
from foveate.records.record import save_arrays
from foveate.types import PartProgress

if TYPE_CHECKING:
    from foveate.records.runs import Run

__all__ = ["EXAMINING", "examine_fit", "examine_fit_again"]


def examine_fit_again(channel: WorkerChannel, request: dict[str, Any]) -> None:
    """Examine a finished fit under other answers to what its classes mean.

    Args:
        channel: Where commands come from and messages go.
        request: An :class:`~foveate.lab.requests.ExamineJob`.
    """
    from foveate.records.runs import open_run

    job = ExamineJob(**request)
    channel.send("setup", view={"kind": "examine", "classes": []}, seeds=[0], epochs=1)
    progress = Progress(channel, [EXAMINING])
    run = open_run(Path(job.folder))
    examine_fit(run, job.absent, job.evidence, progress.report)
    progress.send()
    channel.send("result", run=job.run)


def examine_fit(
    run: "Run", absent: Sequence[str], evidence: Mapping[str, str], report: PartProgress
) -> None:
    """Examine every paradigm on the test bags, as ``foveate trust`` does; the chosen one first.

    The audit of the bags is stored beside the verdict, for the grid of bags.

    Args:
        run: A finished fit with one split.
        absent: Classes that mean that nothing is there.
        evidence: The kind of evidence that is meant, "A" or "B", by class.
        report: Called as ``report(part, done, total)``.
    """
    from foveate.jobs.job import open_trained
    from foveate.jobs.run_verdicts import audit_part, examine_parts
    from foveate.report.trust_files import DeclaredEvidence, trust_command

    chosen, scores = run.manifest["chosen"], run.manifest["scores"]
    names = [chosen, *(name for name in scores if name != chosen)]
    classes = tuple(name for name in absent if name in run.manifest["classes"])
    declared = DeclaredEvidence(classes, None, dict(evidence) or None)
    trained = open_trained(run)
    parts = trained.trained_parts(run, names, None, None)
    first = next(iter(parts))
    audited = audit_part(first)
    if audited is not None:
        save_arrays(run.path / AUDIT, {"rows": audited.bag_index, "a": audited.a[0]})
    examine_parts(
        run, trained.model_records(run), chain([first], parts), declared,
        trust_command(run.name, declared), "its held-out bags", report,
        audited=audited, excluded=("folds",),
    )  # fmt: skip
