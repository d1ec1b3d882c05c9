"""The verdicts on a fit: of all its paradigms on its test bags, from one audit of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.lab.fit_bags import AUDIT
from foveate.lab.live.progress import Progress
from foveate.lab.live.worker_channel import WorkerChannel
from foveate.lab.requests import ExamineJob
from foveate.records.checksums import read_json, seal_json
from foveate.records.record import save_arrays, write_atomically
from foveate.types import PartProgress

if TYPE_CHECKING:
    from foveate.io.collection import Collection
    from foveate.records.runs import Run
    from foveate.trust.auditor import Audit

__all__ = ["EXAMINING", "examine_fit", "examine_fit_again"]

EXAMINING = "examining"


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
    from foveate.report.pages.trust import write_trust_page
    from foveate.trust.examine import examine
    from foveate.userdata.ensemble import load_fitted
    from foveate.userdata.fitted import Fitted

    known = None if test.known is None else test.known.numpy()
    chosen = run.manifest["chosen"]
    order = [chosen, *(name for name in run.manifest["scores"] if name != chosen)]
    absent = tuple(name for name in absent if name in test.classes)
    report(EXAMINING, 0, len(order) + 1)
    audited = _audit(run, collection, test)
    trusts = []
    for k, paradigm in enumerate(order):
        report(EXAMINING, k + 1, len(order) + 1)
        fitted = load_fitted(run.path, paradigm)
        assert isinstance(fitted, Fitted)  # one split has no ensemble
        trust = examine(fitted.stack, paradigm, fitted.bags(test), fitted.classes, known=known,
                        absent=absent, evidence=evidence, audited=audited, tried=order,
                        ids=test.ids, name=paradigm)  # fmt: skip
        trusts.append(trust.to_json())
    report(EXAMINING, 1, 1)
    about = {"source": "its held-out bags", "command": f"foveate trust {run.name}"}
    whole = {**about, "absent": list(absent), "evidence": dict(evidence), "found": trusts}
    write_atomically(run.path / "trust.json", seal_json(whole, indent=1, allow_nan=False))
    first = {**whole, "found": trusts[:1]}
    write_trust_page(run.path / "trust.html", first, name=run.manifest["label"])


def _audit(run: "Run", collection: "Collection", test: "Collection") -> "Audit":
    """Where evidence is by bags and labels alone; stored for the grid of bags."""
    from foveate.trust.auditor import audit
    from foveate.userdata.ensemble import load_fitted

    fitted = load_fitted(run.path)
    rows = read_json(run.path / "split.json")["rows"]["train"]
    train = fitted.bags(collection.take(rows))
    audited = audit([fitted.bags(test)], len(fitted.classes), more=train)
    save_arrays(run.path / AUDIT, {"rows": audited.picked, "a": audited.a[0]})
    return audited
