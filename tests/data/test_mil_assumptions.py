"""Bags of the multiple-instance unit tests."""

import pytest
import torch

from foveate.data.mil_assumptions import KINDS, mil_bags


def draw(kind, n=400, m=9, reversed=False, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return mil_bags(kind, n=n, m=m, reversed=reversed, generator=rng)


def is_poison(bag):
    return (bag.x.mean(2) < -8) & bag.mask


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reversed", [False, True])
def test_half_of_the_bags_are_positive_and_relevance_lies_inside(kind, reversed):
    bag = draw(kind, reversed=reversed)
    assert int(bag.y.sum()) == 200
    assert not (bag.z & ~bag.mask).any()
    assert (bag.mask.long().diff(dim=1) <= 0).all()  # padding comes last


@pytest.mark.parametrize("kind", ["single-concept", "multi-concept"])
def test_poison_marks_negative_bags_and_positive_ones_when_reversed(kind):
    assert ((is_poison(draw(kind)).sum(1) == 1) == (draw(kind).y == 0)).all()
    turned = draw(kind, reversed=True)
    assert ((is_poison(turned).sum(1) == 1) == (turned.y == 1)).all()


def test_a_single_concept_makes_a_bag_positive():
    bag = draw("single-concept")
    assert (bag.z.any(1) == (bag.y == 1)).all()
    assert set(bag.z.sum(1)[bag.y == 1].tolist()) == {1, 2, 3}
    assert (bag.mask.sum(1) == 9 + bag.z.sum(1) + is_poison(bag).sum(1)).all()


@pytest.mark.parametrize("kind", ["multi-concept", "frequency"])
@pytest.mark.parametrize("reversed", [False, True])
def test_both_concepts_make_a_bag_positive(kind, reversed):
    bag = draw(kind, reversed=reversed)
    value = bag.x.mean(2)
    first, second = (bag.z & ((value < 2.5) == low) for low in (True, False))
    assert ((first.any(1) & second.any(1)) == (bag.y == 1)).all()
    negative = bag.y == 0
    assert (first.any(1) ^ second.any(1))[negative].all()
    assert first[negative].any()
    assert second[negative].any()


def test_a_frequent_concept_is_negative_when_reversed():
    bag, turned = draw("frequency"), draw("frequency", reversed=True)
    assert set(bag.z.sum(1)[bag.y == 0].tolist()) == {1}
    assert (turned.z.sum(1)[turned.y == 1] == 2).all()
    many = turned.z.sum(1)[turned.y == 0]
    assert (int(many.min()), int(many.max())) == (35, 44)


def test_sets_of_other_seeds_have_the_same_shape():
    assert draw("multi-concept", seed=1).shape == draw("multi-concept", seed=2).shape
