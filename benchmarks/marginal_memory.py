"""Peak memory of the marginal likelihood as classes times segments grow, in chunks and at once.

Each measurement is a process of its own, so that its peak is its own. The memory of a training
step beyond a tiny one is printed in MB.
"""

import multiprocessing
import os
import resource

import torch

from foveate.attention.paradigms import Marginal


def step(classes: int, m: int, chunk: int | None) -> None:
    g = torch.nn.Linear(8, classes)
    x, y = torch.randn(4, m, 8), torch.zeros(4, dtype=torch.long)
    alpha = torch.full((4, m), 1 / m)
    Marginal(chunk=chunk).loss(alpha, x, g, y).sum().backward()


def peak(classes: int, m: int, chunk: int | None, answer: "multiprocessing.Queue[float]") -> None:
    torch.set_num_threads(1)
    step(classes, 2, 1)  # what the first step of a process costs once
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step(classes, m, chunk)
    answer.put((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def measured(classes: int, m: int, chunk: int | None) -> float:
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=peak, args=(classes, m, chunk, answer))
    process.start()
    result = answer.get()
    process.join()
    return result


if __name__ == "__main__":
    # Freed memory goes back to the system at once, so that the peak counts what is alive.
    os.environ["MALLOC_MMAP_THRESHOLD_"] = "65536"
    print("classes × segments    logits    at once    in chunks of 256 segments")
    for classes, m in ((1000, 1000), (1000, 4000), (4000, 4000)):
        logits = 4 * classes * m * 4 / 2**20
        whole, chunked = measured(classes, m, None), measured(classes, m, 256)
        print(f"{classes} × {m:<8} {logits:10.0f} MB {whole:8.0f} MB {chunked:8.0f} MB")
