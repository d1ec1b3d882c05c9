"""MNIST-bags by its rules: sizes, balance, what is relevant, and what the size must not tell."""

from collections import Counter

import pytest
import torch
from scipy.stats import chisquare, ks_2samp

from foveate.data import DATASETS
from foveate.data.files.bank import Bank
from foveate.data.mnist_bags import bags_with
from foveate.errors import FoveateError

RARE = 1e-6
BANK = Bank(torch.arange(50.0)[:, None], torch.arange(50) % 10)


def drawn(n=4000, m=10, seed=0):
    return bags_with(BANK, 9, n=n, m=m, generator=torch.Generator().manual_seed(seed))


def test_a_bag_is_positive_if_and_only_if_a_nine_is_in_it():
    bag = drawn(n=301)
    for row in range(len(bag)):
        labels = [
            int(BANK.y[int(i)])
            for i, exists in zip(bag.x.index[row], bag.mask[row], strict=True)
            if exists
        ]
        assert bool(bag.y[row]) == (9 in labels)
        marked = bag.z[row][bag.mask[row]].tolist()
        assert marked == [label == 9 for label in labels]
    assert not (bag.z & ~bag.mask).any()


@pytest.mark.parametrize(("n", "positive"), [(10, 5), (11, 5), (1, 0)])
def test_half_of_the_bags_are_positive(n, positive):
    assert int(drawn(n=n).y.sum()) == positive


def test_sizes_are_normal_and_independent_of_the_label():
    bag = drawn()
    size = bag.mask.sum(1).double()
    assert float(size.mean()) == pytest.approx(10, abs=0.15)
    assert float(size.std()) == pytest.approx(2.02, abs=0.1)  # rounding adds 1/12 to the variance
    assert ks_2samp(size[bag.y == 1], size[bag.y == 0]).pvalue > 1e-3
    assert drawn(m=50).mask.sum(1).double().std() == pytest.approx(10, abs=0.5)
    small = drawn(m=2).mask.sum(1)
    assert int(small.min()) == 1
    assert drawn(m=2).shape == (4000, 4)  # as wide as any other set of that mean


def test_images_are_drawn_evenly_given_the_label():
    bag = drawn()
    negative = bag.x.index[bag.y == 0][bag.mask[bag.y == 0]]
    counts = torch.bincount(negative, minlength=50)
    assert (counts[BANK.y == 9] == 0).all()
    assert chisquare(counts[BANK.y != 9].numpy()).pvalue > RARE
    # Of m even draws, given one nine at least, a share q / (1 − (1 − q)^m) are nines.
    lengths = bag.mask.sum(1)[bag.y == 1].double()
    expected = float((0.1 * lengths / (1 - 0.9**lengths)).sum())
    assert float(bag.z.sum()) == pytest.approx(expected, rel=0.03)
    positions = Counter(bag.z[bag.y == 1][:, :5].nonzero()[:, 1].tolist())
    assert chisquare([positions[k] for k in range(5)]).pvalue > RARE


def test_one_kind_of_image_makes_no_bags():
    with pytest.raises(FoveateError, match="images of the label 9 and others"):
        bags_with(BANK.take(BANK.y == 9), 9, n=4, m=5, generator=torch.Generator())
    with pytest.raises(FoveateError, match="images of the label 9 and others"):
        bags_with(BANK.take(BANK.y < 9), 9, n=4, m=5, generator=torch.Generator())


def test_the_digits_are_split_as_their_mosaics_are():
    """Bags of a seed are cut from the same side of the same images as other sets of that seed."""
    bags = DATASETS.get("digits-bags")().load("test", n=200, m=10, seed=3)
    mosaics = DATASETS.get("digits")().load("test", n=5, m=2, seed=3)
    assert torch.equal(bags.x.bank, mosaics.x.bank)
