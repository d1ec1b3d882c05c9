"""Share of padding in batches of like length against batches at random, and the time to read.

On the reviews of IMDB where FOVEATE_DATA has them, else on lengths drawn like theirs (log-normal).
"""

import time

import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.text.corpora import load_texts
from foveate.text.tokens import batches

BATCH = 32
MEDIAN, SPREAD, LONGEST = 202, 0.65, 2500  # of the reviews' lengths


def lengths_of_reviews() -> tuple[Tensor, str]:
    start = time.process_time()
    try:
        texts = load_texts("imdb")
    except FoveateError:
        normal = torch.randn(12500, generator=generator("padding"))
        lengths = (MEDIAN * (SPREAD * normal).exp()).round().clamp(5, LONGEST).long()
        return lengths, "12,500 made-up lengths like those of IMDB, which is not here"
    seconds, counts = time.process_time() - start, texts.counts
    what = f"IMDB, {counts['train']:,} + {counts['validation']:,} texts"
    return texts.train.lengths, f"{what}, read and encoded in {seconds:.1f} s of CPU"


def padding(lengths: Tensor, rows: list[Tensor]) -> float:
    """Share of the places of all batches that hold no token."""
    places = sum(len(batch) * int(lengths[batch].max()) for batch in rows)
    return 1 - int(lengths.sum()) / places


if __name__ == "__main__":
    lengths, what = lengths_of_reviews()
    order = torch.randperm(len(lengths), generator=generator("random batches"))
    at_random = padding(lengths, list(order.split(BATCH)))
    start = time.perf_counter()
    shares = [padding(lengths, batches(lengths, BATCH, generator("like", i))) for i in range(5)]
    seconds = (time.perf_counter() - start) / 5
    bucketed = max(shares)
    ratio = at_random / bucketed
    print(what)
    print(
        f"batches of {BATCH}: padding {bucketed:.1%} of like length (worst of 5 epochs, "
        f"{seconds * 1e3:.0f} ms an epoch), {at_random:.1%} at random, ratio {ratio:.1f}"
    )
    if bucketed >= 0.1:
        raise SystemExit("padding must be under 10 % of tokens")
