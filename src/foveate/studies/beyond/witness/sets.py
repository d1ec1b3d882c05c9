"""The data sets of the study, and validation bags from training images alone."""

from collections.abc import Callable, Mapping

import torch

from foveate.bags.bag import Bag
from foveate.bags.segments import shared_bank
from foveate.data.files.bank import Bank
from foveate.data.image_mosaics import mosaics
from foveate.data.sdc import BACKGROUND
from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.studies.vr23.table1.rows import ROWS, Row

__all__ = ["SEPARATE_SETS", "STUDY", "resplit"]

UNSEEN = -2
MNIST = ("mnist", "ylecun/mnist")


def _digits(m: int) -> Row:
    return Row(f"Digits m={m}", "digits", m, "mlp", "digits")


def _unbalanced(m: int) -> Row:
    return Row(f"Digits m={m}", "digits-unbalanced", m, "mlp", "digits", "unbalanced classes")


def _mode(number: int) -> Row:
    name = f"error-mode-{number}"
    return Row(f"Error mode {number}", name, 9, "linear", "error-modes", "linear networks")


def _mnist(m: int) -> Row:
    return Row(f"MNIST m={m}", "mnist-features", m, "mlp", "mnist", "frozen features", MNIST)


STUDY: Mapping[str, Row] = {
    "digits-5": _digits(5),
    "digits-20": _digits(20),
    "mnist-5": _mnist(5),
    "mnist-20": _mnist(20),
    **{name: ROWS[name] for name in ("cifar10-5", "cifar10-20", "cifar100-5", "cifar100-20")},
    "mnist-5-pixels": Row("MNIST m=5", "mnist", 5, "mlp", "mnist-pixels", "pixels", MNIST),
    "cifar10-5-pixels": ROWS["cifar10-5-pixels"],
    "cifar100-5-pixels": ROWS["cifar100-5-pixels"]._replace(sizes="cifar100-pixels"),
    "hatexplain-1": ROWS["hatexplain-1"],
    "hatexplain-1-majority": ROWS["hatexplain-1-majority"],
    "digits-5-unbalanced": _unbalanced(5),
    "digits-20-unbalanced": _unbalanced(20),
    "error-mode-1": _mode(1),
    "error-mode-2": _mode(2),
}
SEPARATE_SETS = ("digits-5-unbalanced", "digits-20-unbalanced", "error-mode-1", "error-mode-2")
"""Sets with results of their own, each a question of its own."""


def resplit(
    load: Callable[[int], Bag], classes: int, n: int, n_held: int, seed: int
) -> tuple[Bag, Bag]:
    """New mosaics for training and for validation from the images of training mosaics.

    A fifth of the images of each class, and of the background, is held out; no image is in both.

    Args:
        load: From a number of bags to as many training mosaics, cut from one bank.
        classes: Number of classes C.
        n: Number of training mosaics.
        n_held: Number of validation mosaics.
        seed: Decides which images are held out, and all mosaics.
    """
    bags = load(max(20_000, n))  # nearly every image is in one of them, with its kind
    if shared_bank(bags.x) is None or bags.z is None:
        raise FoveateError("validation mosaics need bags that are cut from a bank, with z known")
    kind = torch.full((len(bags.bank),), UNSEEN)
    kind[bags.index[~bags.z]] = BACKGROUND
    kind[bags.index[bags.z]] = bags.y
    is_held_out = torch.rand(len(kind), generator=generator("held-out images", seed)) < 0.2

    def cut(rows: torch.Tensor, side: str, count: int) -> Bag:
        label = torch.where(
            rows, kind + 1, classes + 1
        )  # background 0, classes 1 … C, unused C + 1
        bank = Bank(bags.bank, label)
        rng = generator("recut", side, seed)
        return mosaics(bank, range(1, classes + 1), (0,), n=count, m=bags.m, generator=rng)

    seen = kind != UNSEEN
    return cut(seen & ~is_held_out, "train", n), cut(seen & is_held_out, "validation", n_held)
