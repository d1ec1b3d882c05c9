"""The real image sets, where FOVEATE_DATA has them."""

import pytest
import torch

from foveate.data import DATASETS
from foveate.data.cifar100 import CLASSES, GROUPS, foreground_labels
from foveate.data.files.parquet import read_column, read_parquet, split_files
from foveate.data.image_mosaics import read_split
from real_data import data_folder

pytestmark = pytest.mark.data


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_the_relevant_image_has_the_label_of_the_bag(name: str, split: str) -> None:
    bank = read_split(data_folder(name), split, 0)
    bag = DATASETS.get(name)().load(split, n=2000, m=5, seed=0)
    assert bag.x.bank is bank.x
    assert torch.equal(bank.y[bag.x.index[bag.z]], bag.y)
    assert bank.y[bag.x.index[~bag.z]].min() >= 3


def test_mnist_looks_like_mnist() -> None:
    bank = read_split(data_folder("mnist"), "train", 0)
    assert bank.x.shape[1:] == (1, 28, 28)
    assert bank.y.unique().tolist() == list(range(10))
    assert bank.x.float().mean() / 255 == pytest.approx(0.1307, abs=0.003)
    assert bank.x[:, :, :2, :2].max() == 0  # the corners are empty


def test_cifar10_looks_like_cifar10() -> None:
    bank = read_parquet(split_files(data_folder("cifar10"))["test"])
    assert bank.x.shape[1:] == (3, 32, 32)
    mean = bank.x.float().mean((0, 2, 3)) / 255
    assert mean.tolist() == pytest.approx([0.4914, 0.4822, 0.4465], abs=0.01)
    assert tuple(bank.name(k) for k in range(3)) == DATASETS.get("cifar10")().classes


def test_cifar100_has_the_fifty_classes_of_ten_groups() -> None:
    path = data_folder("cifar100")
    labels = foreground_labels(path)
    bank = read_split(path, "test", 0, "fine_label")
    assert len(labels) == 50
    assert labels == sorted(labels)
    assert tuple(bank.name(label) for label in labels) == CLASSES
    files = split_files(path)["test"]
    coarse, names = read_column(files, "coarse_label"), read_parquet(files, "coarse_label").names
    assert {names[k] for k in GROUPS} == {name for name, _ in GROUPS.values()}
    for fine, group in zip(bank.y.tolist(), coarse.tolist(), strict=True):
        assert (bank.name(fine) in GROUPS.get(group, ("", ()))[1]) == (fine in labels)


def test_cifar100_bags_are_labelled_by_increasing_fine_label() -> None:
    path = data_folder("cifar100")
    bag = DATASETS.get("cifar100")().load("test", n=2000, m=5, seed=0)
    y = read_split(path, "test", 0, "fine_label").y
    labels = torch.tensor(foreground_labels(path))
    assert torch.equal(y[bag.x.index[bag.z]], labels[bag.y])
    assert not torch.isin(y[bag.x.index[~bag.z]], labels).any()
