"""What each segment says for each class: sums, a plain loop, and the same answers as reading."""

import numpy as np
import pytest
import torch

from foveate.attention.paradigms import PARADIGMS, Hard
from foveate.models.focus import FCAM
from foveate.models.nets import linear, mlp
from foveate.training.evaluation import read
from foveate.training.stack import Stack
from foveate.trust.explanation import explain
from random_bags import random_bag


def stacked(build, members=2):
    return Stack(build, range(members), torch.float64)


@pytest.mark.parametrize(("rule", "net"), [("soft", linear), ("logit", mlp)])
def test_evidence_sums_to_the_centred_logits(rule, net):
    """Exactly where g is affine under soft attention, and where logits are averaged."""
    bag, stack = random_bag(), stacked(lambda: FCAM(mlp(3, 1, (4,)), net(3, 3)), members=1)
    result = explain(stack, bag, PARADIGMS.get(rule)())
    short = explain(stack, bag, PARADIGMS.get(rule)(), with_evidence=False)
    np.testing.assert_allclose(short.log_p, result.log_p, atol=1e-12)
    assert all((a == b).all() for a, b in zip(short.alpha, result.alpha, strict=True))
    assert short.evidence == []
    centred = result.log_p[0] - result.log_p[0].mean(1, keepdims=True)
    np.testing.assert_allclose([e.sum(0) for e in result.evidence], centred, atol=1e-12)
    assert not np.allclose(result.evidence[0][:, 0], 0)


def test_evidence_by_loop():
    bag, stack = random_bag(), stacked(lambda: FCAM(mlp(3, 1, (4,)), mlp(3, 3)))
    result = explain(stack, bag, Hard())
    for i in range(len(bag)):
        rows = bag.x.bank[bag.x.index[i][bag.mask[i]]]
        expected = torch.zeros(len(rows), 3, dtype=torch.float64)
        for k in range(2):
            model = stack.member(k)
            alpha, logits = model.f(rows).flatten().softmax(0), model.g(rows)
            for j in range(len(rows)):
                expected[j] += alpha[j] * (logits[j] - logits[j].mean()) / 2
        np.testing.assert_allclose(result.evidence[i], expected.detach(), atol=1e-12)


@pytest.mark.parametrize("name", [n for n, kind in PARADIGMS.items() if not kind().whole_bag])
def test_explaining_reads_as_reading_does(name, monkeypatch):
    import foveate.trust.explanation as module

    bag, rule = random_bag(), PARADIGMS.get(name)()
    stack = stacked(lambda: FCAM(mlp(3, 1, (4,)), mlp(3, 3)))
    expected = [read(stack.member(i), bag, rule).log_p for i in range(2)]
    for bound in (2**24, 20):  # all at once, and about a bag at a time
        monkeypatch.setattr(module, "ELEMENTS", bound)
        np.testing.assert_allclose(
            explain(stack, bag, rule).log_p, torch.stack(expected), atol=1e-12
        )
