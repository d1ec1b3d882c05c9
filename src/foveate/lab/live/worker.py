"""The worker process of a job: reads the job from standard input and sends messages."""

import os

from foveate.lab.live.worker_channel import Idle, Stopped, WorkerChannel, private_streams

__all__ = ["main"]

NICENESS = 5  # so that the server and the browser come first


def main() -> None:
    """Do the job that arrives on standard input."""
    channel = WorkerChannel(*private_streams())
    os.nice(NICENESS)
    import torch

    from foveate.errors import FoveateError
    from foveate.lab.advice import without_flags
    from foveate.lab.live.copying import train_copying_live
    from foveate.lab.live.examination import examine_fit_again
    from foveate.lab.live.experiment import run_experiment_live
    from foveate.lab.live.fit import fit_uploaded_bags
    from foveate.lab.live.predict import predict_uploaded_bags
    from foveate.lab.live.text import train_text_live
    from foveate.lab.live.trainer import train_live

    torch.set_num_threads(1)
    channel.send("ready")
    job = channel.receive_job()
    work = {
        "train": train_live,
        "experiment": run_experiment_live,
        "words": train_text_live,
        "own": fit_uploaded_bags,
        "predict": predict_uploaded_bags,
        "examine": examine_fit_again,
    }[job["kind"]]
    if job.get("task") == "copying":
        work = train_copying_live
    try:
        channel.send("state", state="running")
        work(channel, job)
        channel.send("state", state="done")
    except Idle:
        channel.send("state", state="idle")
    except Stopped as reason:
        channel.send("state", state="stopped", reason=str(reason))
    except FoveateError as error:
        channel.send("state", state="failed", reason=without_flags(str(error)))


if __name__ == "__main__":
    main()
    os._exit(0)  # the listening thread still reads, and Python would wait for it
