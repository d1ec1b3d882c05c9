"""A process of its own for each training: it reads a job, works, and says how things stand."""

import os

from foveate.lab.live.worker_channel import Stopped, WorkerChannel, own_streams

__all__ = ["main"]

POLITE = 5  # so that the server and the browser come first


def main() -> None:
    """Work for whoever holds the other ends of standard input and output."""
    desk = WorkerChannel(*own_streams())
    os.nice(POLITE)
    import torch

    from foveate.errors import FoveateError
    from foveate.lab.live.copying import train_copying_live
    from foveate.lab.live.fit import fit_uploaded_bags
    from foveate.lab.live.rerun import rerun
    from foveate.lab.live.text import train_text_live
    from foveate.lab.live.trainer import train_live

    torch.set_num_threads(1)
    desk.send("ready")
    job = desk.first()
    work = {
        "train": train_live,
        "experiment": rerun,
        "words": train_text_live,
        "own": fit_uploaded_bags,
    }[job["kind"]]
    if job.get("task") == "copying":
        work = train_copying_live
    try:
        desk.send("state", state="running")
        work(desk, job)
        desk.send("state", state="done")
    except Stopped as reason:
        desk.send("state", state="stopped", why=str(reason))
    except FoveateError as error:
        desk.send("state", state="failed", why=str(error))


if __name__ == "__main__":
    main()
    os._exit(0)  # the desk still listens, and Python would wait for it
