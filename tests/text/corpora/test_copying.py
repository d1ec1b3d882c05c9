"""Copy tasks obey their definitions in every draw."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.text.corpora.copying import KINDS, copying, fixed_permutation, numerals, word_count

sizes = given(
    n=st.integers(1, 12), length=st.integers(2, 41), seed=st.integers(0, 9), pi=st.integers(0, 3)
)


@pytest.mark.parametrize("kind", KINDS)
@sizes
def test_sequences_follow_their_kind(kind, n, length, seed, pi):
    x, y = copying(kind, n, generator("test", seed), length, pi_seed=pi)
    assert x.shape == y.shape == (n, length)
    assert x.dtype == y.dtype == torch.int64
    words = (x - 3).tolist()
    for row in words:
        assert len(set(row)) == length
        allowed = {
            "permutation": [range(1, length + 1)],
            "subset": [range(1, 3 * length // 2 + 1)],
            "mixture": [range(1, length + 1), range(length + 1, 2 * length + 1)],
            "permutation-function": [range(1, 3 * length // 2 + 1)],
        }[kind]
        assert any(set(row) <= set(allowed_words) for allowed_words in allowed)
    if kind == "permutation-function":
        order = fixed_permutation(length, pi).tolist()
        assert sorted(order) == list(range(length))
        assert (y - 3).tolist() == [[row[position] for position in order] for row in words]
    else:
        assert torch.equal(x, y)
        assert x.data_ptr() != y.data_ptr()


def test_every_word_is_as_likely_at_every_place():
    for kind, words in (("permutation", 5), ("subset", 7), ("mixture", 10)):
        x, _ = copying(kind, 8000, generator("fair", kind), length=5)
        for position in range(5):
            counts = torch.bincount(x[:, position] - 4, minlength=words)
            assert len(counts) == words == word_count(kind, 5)
            assert chisquare(counts.numpy()).pvalue > 1e-6
    # and places are independent: the first two words of permutations are all pairs alike
    x, _ = copying("permutation", 8000, generator("fair"), length=4)
    pairs = torch.bincount((x[:, 0] - 4) * 4 + x[:, 1] - 4, minlength=16)
    assert pairs[:: 4 + 1].sum() == 0
    assert chisquare(pairs[pairs > 0].numpy()).pvalue > 1e-6
    assert int((pairs > 0).sum()) == 12


def test_the_published_sizes():
    assert [word_count(kind) for kind in KINDS] == [40, 60, 80, 60]
    x, _ = copying("subset", 50, generator("sizes"))
    assert x.shape == (50, 40)
    assert numerals("subset").encode(["1", "60", "61"]) == [4, 63, 1]


def test_inputs_and_the_permutation_have_separate_streams():
    def draw(seed, pi):
        return copying("permutation-function", 6, generator("own", seed), pi_seed=pi)

    assert torch.equal(draw(0, 0)[0], draw(0, 1)[0])
    assert not torch.equal(draw(0, 0)[1], draw(0, 1)[1])
    assert not torch.equal(draw(0, 0)[0], draw(1, 0)[0])
    same = copying("subset", 6, generator("own", 0))[0]
    assert torch.equal(same, draw(0, 0)[0])


def test_no_such_task():
    with pytest.raises(FoveateError, match="one of permutation, subset"):
        copying("reverse", 2, generator("x"))
    with pytest.raises(FoveateError, match="2 words at least, got 1"):
        copying("subset", 2, generator("x"), length=1)
