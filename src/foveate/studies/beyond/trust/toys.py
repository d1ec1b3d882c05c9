"""The three toy problems of xMIL (Hense et al., NeurIPS 2024), whose labels lie in several digits.

Bags hold ten images of MNIST digits (five in *pairs*: of ten nearly all would hold one), all ten
digits equally likely, and as many bags of each class are kept. Relevant are the segments with
positive evidence for the class of their bag.

- *four*: is there an eight (class 1), a nine (2), both (3), or neither (0)?
- *pos-neg*: are there more of the digits 4, 6 and 8 than of 5, 7 and 9 (class 1)?
- *pairs*: do two consecutive digits below 5 occur (class 1)?
"""

import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.data import Split
from foveate.data.files.hub import locate
from foveate.data.image_mosaics import read_split
from foveate.errors import FoveateError
from foveate.randomness import generator

__all__ = ["TOYS", "evidence_of_digits", "toy"]

TOYS = ("four", "pos-neg", "pairs")
SIZES = {"four": 10, "pos-neg": 10, "pairs": 5}  # segments a bag
MOST = 200  # rounds of drawing before a class counts as too rare


def evidence_of_digits(kind: str, digits: Tensor) -> tuple[Tensor, Tensor]:
    """Labels (n,) and relevance (n, m) of bags of digits (n, m).

    Example:
        >>> y, z = evidence_of_digits("pairs", torch.tensor([[0, 1, 9], [0, 2, 4]]))
        >>> y.tolist(), z[0].tolist()
        ([1, 0], [True, True, False])
    """
    if kind == "four":
        eight, nine = digits == 8, digits == 9
        y = eight.any(1).long() + 2 * nine.any(1).long()
        return y, eight | nine
    if kind == "pos-neg":
        up, down = (torch.isin(digits, torch.tensor(group)) for group in ([4, 6, 8], [5, 7, 9]))
        y = (up.sum(1) > down.sum(1)).long()
        return y, torch.where(y[:, None] == 1, up, down)
    if kind != "pairs":
        raise FoveateError(f"kind must be one of {', '.join(TOYS)}, got '{kind}'")
    has = torch.stack([(digits == k).any(1) for k in range(5)], 1)
    pair = has[:, 1:] & has[:, :-1]
    none = torch.zeros(len(digits), 1, dtype=torch.bool)
    of_pair = torch.cat([pair, none], 1) | torch.cat([none, pair], 1)  # (n, 5)
    low = digits.clamp_max(4)
    return pair.any(1).long(), of_pair.gather(1, low) & (digits < 5)


def toy(kind: str, split: Split, n: int, seed: int) -> Bag:
    """Bags of one of the toy problems, images flattened.

    Args:
        kind: A name in :data:`TOYS`.
        split: Which of MNIST's images.
        n: Number of bags.
        seed: Decides the bags.
    """
    bank = read_split(locate("mnist", "ylecun/mnist"), split, seed)
    rng = generator("trust study", "toy", kind, split, seed)
    classes = 4 if kind == "four" else 2
    digits, y, z = _balanced(kind, n, SIZES[kind], classes, rng)
    index = torch.empty_like(digits)
    for digit in range(10):
        rows = (bank.y == digit).nonzero()[:, 0]
        of = digits == digit
        index[of] = rows[torch.randint(len(rows), (int(of.sum()),), generator=rng)]
    x = bank.x.flatten(1)[index].float() / 255
    return Bag(x, y, z)


def _balanced(
    kind: str, n: int, size: int, classes: int, rng: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Digits, labels and relevance of n bags, as many of each class."""
    bags: list[list[Tensor]] = [[] for _ in range(classes)]
    share = -(-n // classes)
    for _ in range(MOST):
        digits = torch.randint(10, (4 * n, size), generator=rng)
        y, _ = evidence_of_digits(kind, digits)
        for c in range(classes):
            bags[c] += list(digits[y == c])[: share - len(bags[c])]
        if all(len(bag) == share for bag in bags):
            break
    rows = torch.stack([row for bag in bags for row in bag])
    rows = rows[torch.randperm(len(rows), generator=rng)[:n]]
    return rows, *evidence_of_digits(kind, rows)
