"""An experiment behind some claims, run again from the page, its findings told at the end."""

from typing import Any

from foveate.lab.live.worker_channel import WorkerChannel
from foveate.lab.requests import ExperimentJob

__all__ = ["run_experiment_live"]


def run_experiment_live(channel: WorkerChannel, request: dict[str, Any]) -> None:
    """Run an experiment in a new run directory; a stop leaves it to ``foveate resume``.

    Args:
        channel: Where commands come from and messages go.
        request: A :class:`~foveate.lab.requests.ExperimentJob`.
    """
    from foveate.jobs.experiment import EXPERIMENTS, findings_of, start_experiment

    job = ExperimentJob(**request)
    EXPERIMENTS.get(job.experiment)
    bars: dict[str, tuple[int, int]] = {}
    channel.send("setup", view={"kind": "experiment", "classes": []}, seeds=[0], epochs=1)

    def send_frame(_detailed: bool) -> None:
        parts = [{"part": name, "done": done, "total": all_} for name, (done, all_) in bars.items()]
        channel.send("frame", epoch=0, rows={}, outcomes={}, details={}, parts=parts)

    def report(part: str, done: int, total: int) -> None:
        bars[part] = (done, total)
        channel.poll_commands(send_frame)

    command = f"foveate run {job.experiment} --scale {job.scale}"
    run = start_experiment(job.experiment, job.scale, report=report, command=command)
    findings = [finding.__dict__ for finding in findings_of(run)]
    send_frame(True)
    channel.send("result", run=run.name, findings=findings)
