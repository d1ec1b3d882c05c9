"""The verdicts on a fit: of all its paradigms on its test bags, from one audit of them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.jobs.run_verdicts import EXAMINING
from foveate.lab.fit_bags import AUDIT
from foveate.lab.live.progress import Progress
from foveate.lab.live.worker_channel import WorkerChannel
from foveate.lab.requests import ExamineJob
from foveate.records.checksums import read_json
from foveate.records.record import save_arrays
from foveate.types import PartProgress

if TYPE_CHECKING:
    from foveate.io.collection import Collection
    from foveate.records.runs import Run
    from foveate.trust.auditor import Audit

__all__ = ["EXAMINING", "examine_fit", "examine_fit_again"]


def examine_fit_again(channel: WorkerChannel, request: dict[str, Any]) -> None:
    """Examine a finished fit under other answers to what its classes mean.

    Args:
        channel: Where commands come from and messages go.
        request: An :class:`~foveate.lab.requests.ExamineJob`.
    """
    from foveate.records.runs import open_run
    from foveate.userdata.source import read_again
    from foveate.userdata.split import held_out

    job = ExamineJob(**request)
    channel.send("setup", view={"kind": "examine", "classes": []}, seeds=[0], epochs=1)
    progress = Progress(channel, [EXAMINING])
    run = open_run(Path(job.folder))
    collection = read_again((run.manifest.get("data") or {}).get("origin"), run)
    test = held_out(collection, run.path)
    examine_fit(run, collection, test, job.absent, job.evidence, progress.report)
    progress.send()
    channel.send("result", run=job.run)


def examine_fit(
    run: "Run",
    collection: "Collection",
    test: "Collection",
    absent: Sequence[str],
    evidence: Mapping[str, str],
    report: PartProgress,
) -> None:
    """Examine every paradigm on the test bags; the chosen one comes first in ``trust.json``.

    Args:
        run: A finished fit with one split.
        collection: Its bags.
        test: The test bags among them.
        absent: Classes that mean that nothing is there.
        evidence: The kind of evidence that is meant, "A" or "B", by class.
        report: Called as ``report(part, done, total)``.
    """
    from foveate.jobs.job import TrainedPart, open_trained
    from foveate.jobs.run_verdicts import examine_parts
    from foveate.report.trust_files import DeclaredEvidence, trust_command
    from foveate.userdata.ensemble import load_fitted
    from foveate.userdata.fitted import Fitted

    known = None if test.known is None else test.known.numpy()
    chosen = run.manifest["chosen"]
    records = open_trained(run).model_records(run)
    declared = DeclaredEvidence(
        tuple(name for name in absent if name in test.classes), None, dict(evidence) or None
    )

    def parts() -> Iterator[TrainedPart]:
        for paradigm in (chosen, *(name for name in run.manifest["scores"] if name != chosen)):
            fitted = load_fitted(run.path, paradigm)
            assert isinstance(fitted, Fitted)  # one split has no ensemble
            yield TrainedPart(
                paradigm, fitted.stack, fitted.bags(test), fitted.classes, known, test.ids
            )

    examine_parts(
        run, records, parts(), declared, trust_command(run.name, declared), "its held-out bags",
        report, audited=_audit(run, collection, test), excluded=("folds",),
    )  # fmt: skip


def _audit(run: "Run", collection: "Collection", test: "Collection") -> "Audit":
    """Where evidence is by bags and labels alone; stored for the grid of bags."""
    from foveate.trust.auditor import audit
    from foveate.userdata.ensemble import load_fitted

    fitted = load_fitted(run.path)
    rows = read_json(run.path / "split.json")["rows"]["train"]
    train = fitted.bags(collection.take(rows))
    audited = audit([fitted.bags(test)], len(fitted.classes), more=train)
    save_arrays(run.path / AUDIT, {"rows": audited.bag_index, "a": audited.a[0]})
    return audited
