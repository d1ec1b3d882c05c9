"""An experiment behind some claims, run again from the page, its findings told at the end."""

from typing import Any

from foveate.lab.live.worker_channel import WorkerChannel
from foveate.lab.requests import Rerun

__all__ = ["rerun"]


def rerun(desk: WorkerChannel, given: dict[str, Any]) -> None:
    """Run an experiment in a new run directory; a stop leaves it to ``foveate resume``.

    Args:
        desk: Where commands come from and messages go.
        given: A :class:`~foveate.lab.requests.Rerun`.
    """
    from foveate.jobs.experiment import EXPERIMENTS, findings_of, start_experiment

    job = Rerun(**given)
    EXPERIMENTS.get(job.experiment)
    bars: dict[str, tuple[int, int]] = {}
    desk.send("hello", scene={"kind": "experiment", "classes": []}, seeds=[0], epochs=1)

    def show(_whole: bool) -> None:
        parts = [{"part": name, "done": done, "total": all_} for name, (done, all_) in bars.items()]
        desk.send("frame", epoch=0, rows={}, ends={}, details={}, parts=parts)

    def report(part: str, done: int, total: int) -> None:
        bars[part] = (done, total)
        desk.poll_commands(show)

    command = f"foveate run {job.experiment} --scale {job.scale}"
    run = start_experiment(job.experiment, job.scale, report=report, command=command)
    found = [finding.__dict__ for finding in findings_of(run)]
    show(True)
    desk.send("result", run=run.name, findings=found)
