"""BLEU against its formula."""

import math
import sys
from collections import Counter

import pytest

from foveate.errors import FoveateError
from foveate.metrics.bleu import bleu

HYPOTHESES = ["the small dog runs on the grass", "a man is riding a red bicycle today", "two cats"]
WANTED = ["the small dog runs on green grass", "a man is riding a bicycle", "two cats sleep"]


def ngrams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def by_formula(hypothesis, expected):
    """exp(min(0, 1 - r/c)) times the geometric mean of clipped precisions, over the corpus."""
    logs = []
    for n in range(1, 5):
        hits = total = 0
        for a, b in zip(hypothesis, expected, strict=True):
            ours, theirs = ngrams(a.split(), n), ngrams(b.split(), n)
            hits += sum((ours & theirs).values())
            total += sum(ours.values())
        logs.append(math.log(hits / total))
    c, r = (sum(len(text.split()) for text in side) for side in (hypothesis, expected))
    return 100 * math.exp(min(0.0, 1 - r / c) + sum(logs) / 4)


def test_bleu_is_its_formula_where_words_are_plain():
    assert bleu(HYPOTHESES, WANTED) == pytest.approx(by_formula(HYPOTHESES, WANTED))
    assert bleu(WANTED, HYPOTHESES) == pytest.approx(by_formula(WANTED, HYPOTHESES))
    assert bleu(HYPOTHESES, WANTED) != pytest.approx(bleu(WANTED, HYPOTHESES))


def test_same_is_100_and_case_counts():
    assert bleu(WANTED, WANTED) == pytest.approx(100)
    assert bleu([text.upper() for text in WANTED], WANTED) < 5


@pytest.mark.parametrize(("hypothesis", "expected"), [([], []), (["a"], ["a", "b"])])
def test_every_translation_needs_a_reference(hypothesis, expected):
    with pytest.raises(FoveateError, match=f"got {len(hypothesis)} and {len(expected)}"):
        bleu(hypothesis, expected)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(FoveateError, match=r"install foveate\[text\]"):
        bleu(HYPOTHESES, WANTED)
