"""Banks, their splits, and the mosaics cut from them."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from foveate.data import DATASETS
from foveate.data.files.bank import Bank, split_rows
from foveate.data.image_mosaics import from_path, mosaics, read_split
from foveate.errors import FoveateError
from foveate.randomness import generator

RARE = 1e-6


@pytest.fixture
def npz(tmp_path: Path, pictures: Callable[..., np.ndarray]) -> Path:
    """120 images of labels 0 … 5, among them copies of one another."""
    x, y = pictures(120, 4, 5), np.arange(120) % 6
    x[60:90] = x[:30]
    path = tmp_path / "small.npz"
    np.savez(path, X=x, y=y)
    return path


def contents(x: torch.Tensor) -> set[bytes]:
    return {row.numpy().tobytes() for row in x}


def numbered(labels: list[int]) -> Bank:
    """A bank whose row i holds the number i."""
    return Bank(torch.arange(float(len(labels)))[:, None], torch.tensor(labels))


# splits


@given(labels=st.lists(st.integers(0, 4), min_size=1, max_size=60), seed=st.integers(0, 20))
def test_a_split_is_stratified_and_loses_nothing(labels: list[int], seed: int) -> None:
    bank = numbered(labels)
    train, test = (split_rows(bank, side, generator(seed)) for side in ("train", "test"))
    assert sorted(train.tolist() + test.tolist()) == list(range(len(labels)))
    taken = Counter(bank.y[train].tolist())
    for label, total in Counter(labels).items():
        assert taken[label] == round(0.7 * total)


def test_copies_stay_together() -> None:
    x = torch.arange(40.0).repeat(3)[:, None]
    bank = Bank(x, torch.zeros(120, dtype=torch.long))
    train, test = (split_rows(bank, side, generator(0)) for side in ("train", "test"))
    assert not contents(x[train]) & contents(x[test])
    assert (len(train), len(test)) == (84, 36)


@pytest.mark.parametrize("seed", range(3))
def test_no_digit_is_in_both_train_and_test(seed: int) -> None:
    data = DATASETS.get("digits")()
    train, test = (data.load(side, n=5, m=3, seed=seed).x.bank for side in ("train", "test"))
    assert len(train) + len(test) == 1797
    assert len(contents(train)) == len(train)
    assert not contents(train) & contents(test)
    other = data.load("train", n=5, m=3, seed=seed + 1).x.bank
    assert contents(other) != contents(train)


def test_unbalanced_classes_are_so_in_training_alone() -> None:
    data = DATASETS.get("digits-unbalanced")()
    train, test = (data.load(side, n=20_000, m=2, seed=0) for side in ("train", "test"))
    shares = [torch.bincount(bag.y).double() / len(bag) for bag in (train, test)]
    assert shares[0].tolist() == pytest.approx([0.7, 0.2, 0.1], abs=0.015)
    assert shares[1].tolist() == pytest.approx([1 / 3] * 3, abs=0.015)


def test_no_image_of_an_unsplit_file_is_in_both_train_and_test(npz: Path) -> None:
    data = from_path(npz)
    for seed in range(3):
        train, test = (data.load(side, n=5, m=3, seed=seed).x.bank for side in ("train", "test"))
        assert len(train) + len(test) == 120
        assert not contents(train) & contents(test)


def test_digits_are_the_bytes_of_their_pixels() -> None:
    from sklearn.datasets import load_digits

    x, _ = load_digits(return_X_y=True)
    data = DATASETS.get("digits")()
    banks = [data.load(side, n=2, m=2, seed=0).x.bank for side in ("train", "test")]
    ours = contents(torch.cat(banks))
    assert ours == {bytes(int(v * 255 / 16 + 0.5) for v in image) for image in x.tolist()}


# mosaics


def test_base_images_are_drawn_uniformly() -> None:
    labels = [0] * 5 + [1] * 9 + [7] * 11 + [4] * 3
    bank = numbered(labels)
    bag = mosaics(bank, (7, 0), None, n=9000, m=3, generator=generator(0))
    index = bag.x.index
    relevant, others = torch.bincount(index[bag.z], minlength=28), torch.bincount(index[~bag.z])
    assert torch.equal(bank.y[index[bag.z]], torch.tensor([7, 0])[bag.y])
    assert relevant[5:14].sum() == relevant[25:].sum() == others[:5].sum() == 0
    assert others[14:25].sum() == 0
    for counts in (relevant[14:25], relevant[:5], torch.cat([others[5:14], others[25:]])):
        assert chisquare(counts.numpy()).pvalue > RARE


def test_an_explicit_background_leaves_the_other_labels_out() -> None:
    bank = numbered([0, 1, 2, 3] * 5)
    bag = mosaics(bank, (0, 1), (3,), n=200, m=4, generator=generator(0))
    assert set(bank.y[bag.x.index[~bag.z]].tolist()) == {3}


def test_official_splits_share_one_bank_for_all_seeds(
    tmp_path: Path, write_parquet: Callable[..., Path], pictures: Callable[..., np.ndarray]
) -> None:
    labels = [0, 1, 2, 3] * 3
    for split, seed in (("train", 0), ("test", 1)):
        images = list(pictures(12, 6, 6, 3, seed=seed))
        write_parquet(tmp_path / "set" / f"{split}-0.parquet", images, labels)
    first, again = from_path(tmp_path / "set"), from_path(tmp_path / "set")
    banks = [d.load("train", n=4, m=2, seed=s).x.bank for d in (first, again) for s in (0, 1)]
    assert all(bank is banks[0] for bank in banks)
    assert torch.equal(banks[0], torch.from_numpy(pictures(12, 6, 6, 3)).permute(0, 3, 1, 2))
    test = first.load("test", n=4, m=2, seed=0).x.bank
    assert torch.equal(test, torch.from_numpy(pictures(12, 6, 6, 3, seed=1)).permute(0, 3, 1, 2))


# a user's own files


def test_from_path_names_its_classes_and_finds_a_recipe(
    tmp_path: Path, write_parquet: Callable[..., Path], pictures: Callable[..., np.ndarray]
) -> None:
    names = ["ant", "bee", "cat", "dog"]
    file = write_parquet(
        tmp_path / "pets" / "x.parquet",
        list(pictures(40, 32, 32, 3)),
        [0, 1, 2, 3] * 10,
        names=names,
    )
    data = from_path(file.parent, foreground=(3, 1))
    assert (data.name, data.classes) == ("pets", ("dog", "bee"))
    assert (data.recipe.net, data.recipe.m) == ("vr23", 5)
    bag = data.load("train", n=50, m=4, seed=0)
    assert bag.segment_shape == (3, 32, 32)
    train = read_split(file.parent, "train", 0)
    assert torch.equal(train.y[bag.x.index[bag.z]], torch.tensor([3, 1])[bag.y])


def test_flat_features_get_the_small_recipe(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(60, 7))
    np.savez(tmp_path / "features.npz", X=x, kind=np.arange(60) % 4)
    data = from_path(str(tmp_path / "features.npz"), label="kind", background=[3])
    bag = data.load("test", n=9, m=3, seed=1)
    assert (data.recipe.net, data.recipe.m, data.classes) == ("mlp", 20, ("0", "1", "2"))
    assert contents(bag.x.bank) <= contents(torch.from_numpy(x.astype(np.float32)))


@pytest.mark.parametrize(
    ("foreground", "background", "sentence"),
    [
        (
            (0, 1, 9, 7),
            None,
            "empty classes: no image in the train split .* label 7, 9; .* 0, 1, 2",
        ),
        ((0, 1), (8,), "empty classes: .* background label 8;"),
        (range(6), None, "no background is left in the train split of .*small.npz"),
        ((0, 1), (1, 2), "foreground and background at once: 1"),
        ((0,), None, "foreground must be two or more labels, each once: 0"),
        ((1, 1), None, "foreground must be two or more labels, each once: 1, 1"),
    ],
)
def test_classes_must_have_images(
    npz: Path, foreground: tuple[int, ...], background: tuple[int, ...] | None, sentence: str
) -> None:
    with pytest.raises(FoveateError, match=sentence):
        from_path(npz, foreground=foreground, background=background)


def test_a_class_with_one_image_cannot_be_split(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.arange(9.0), y=[0, 0, 0, 1, 1, 1, 2, 3, 3])
    with pytest.raises(FoveateError, match=r"no image in the test split of .* label 2;"):
        from_path(tmp_path / "a.npz")


def test_train_and_test_images_must_have_one_shape(
    tmp_path: Path, write_parquet: Callable[..., Path], pictures: Callable[..., np.ndarray]
) -> None:
    write_parquet(tmp_path / "train.parquet", list(pictures(4, 5, 5)), [0, 1, 2, 3])
    write_parquet(tmp_path / "test.parquet", list(pictures(4, 5, 6)), [0, 1, 2, 3])
    with pytest.raises(FoveateError, match=r"one shape, got \(1, 5, 5\) and \(1, 5, 6\)"):
        from_path(tmp_path)


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(FoveateError, match=r"there is nothing at .*absent"):
        from_path(tmp_path / "absent")
