"""Verdicts on models of other libraries, whose segments may see each other."""

import numpy as np
import pytest
import torch

import foveate
from foveate.bags.bag import Bag
from foveate.trust.contextual import context_of
from foveate.trust.examine import examine as examine_subject
from foveate.trust.external import External
from small_training import bags as small_bags
from small_training import trained


def shifted_bags(n=240, m=8, d=3):
    """A positive bag has one segment that is shifted in the first feature."""
    chance = torch.Generator().manual_seed(1)
    y = torch.arange(n) % 2
    x = torch.randn(n, m, d, generator=chance)
    x[torch.arange(n), torch.randint(m, (n,), generator=chance), 0] += 6.0 * y
    return Bag(x, y)


def right(x, mask, alpha=None):
    """Right for the right reason."""
    s = (4 * x[..., 0]).masked_fill(~mask, -torch.inf)
    alpha = s.softmax(1) if alpha is None else alpha
    return (alpha * x[..., 0]).sum(1) - 3, s


def elsewhere(x, mask):
    """The answer of the largest segment, with the most attention on the smallest."""
    largest = x[..., 0].masked_fill(~mask, -torch.inf).max(1).values
    return largest - 3, -x[..., 0]


def test_scores_and_weights_get_the_same_verdict():
    bag = shifted_bags()

    def weights(x, mask):
        logits, s = right(x, mask)
        return s.softmax(1), logits

    result = [foveate.examine(model, bag, absent=["0"], probe=False) for model in (right, weights)]
    assert result[0].verdict == result[1].verdict
    assert result[0].by_class[1]["estimate"] == pytest.approx(result[1].by_class[1]["estimate"])
    assert result[0].by_class[1]["verdict"]["grade"] == "trust with care"  # one model alone
    assert result[0].score > 0.95


def test_attention_on_the_wrong_segments_is_not_trusted():
    trust = foveate.examine(elsewhere, shifted_bags(), absent=["0"], probe=False)
    assert trust.by_class[1]["accuracy"] > 0.95
    assert trust.by_class[1]["verdict"]["grade"] == "do not trust"
    assert any("could not be set" in note for note in trust.notes)
    assert np.isnan(trust.evidence["even_accuracy"].mean)


def leaking(shift):
    """States hold the segment before them; attention is on the evidence, or ``shift`` behind it."""

    def model(x, mask, alpha=None):
        value = x[..., 0]
        state = torch.maximum(value, value.roll(1, 1))
        s = (4 * value.roll(shift, 1)).masked_fill(~mask, -torch.inf)
        alpha = s.softmax(1) if alpha is None else alpha
        return (alpha * state).sum(1) - 3, s

    return model


@pytest.mark.parametrize("shift", [0, 1])
def test_contextual_models_are_named_and_never_trusted_without_locations(shift):
    bag = shifted_bags()
    models = [leaking(shift), leaking(shift)]
    trust = foveate.examine(models, bag, absent=["0"], probe=False)
    result = trust.by_class[1]
    reasons = " ".join((result["verdict"]["summary"], *result["verdict"]["why"]))
    assert result["accuracy"] > 0.9
    assert "Segments see each other before attention" in reasons
    assert "with all attention on a random segment" in reasons
    assert result["verdict"]["grade"] == ("do not trust" if shift else "trust with care")
    assert result["context"] in trust.notes  # said whatever the grade
    assert result["estimate"] == pytest.approx(1 - shift, abs=0.15)  # of the inputs, not the states


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_the_smallest_leak_that_changes_answers_is_found(share):
    """A state is partly that of the segment before it; attention is on the evidence."""

    def model(x, mask, alpha=None):
        value = x[..., 0]
        state = (1 - share) * value + share * value.roll(1, 1)
        s = (4 * value).masked_fill(~mask, -torch.inf)
        alpha = s.softmax(1) if alpha is None else alpha
        return (alpha * state).sum(1) - 3 * (1 - share), s

    trust = foveate.examine([model, model], shifted_bags(), absent=["0"], probe=False)
    assert "Segments see each other" in trust.by_class[1]["context"]
    assert trust.by_class[1]["verdict"]["grade"] == "trust with care"


@pytest.mark.parametrize("form", ["weights", "scores of the top three"])
@pytest.mark.parametrize("leak", [0.0, 0.1])
def test_sharp_attention_is_not_taken_for_context(form, leak):
    def model(x, mask):
        h = x + leak * x.roll(1, 1)
        s = (200 * h[..., 0]).masked_fill(~mask, -torch.inf)  # weights underflow
        if form != "weights":
            s = s.where(s >= s.topk(min(3, s.shape[1]), 1).values[:, -1:], -torch.inf)
        alpha = s.softmax(1)
        return (alpha * h[..., 0]).sum(1) - 3, alpha if form == "weights" else s

    bag = shifted_bags()
    assert context_of(External(model, bag), bag).contextual is (leak > 0)


def test_the_same_model_without_a_leak_is_trusted():
    trust = foveate.examine([right, right], shifted_bags(), absent=["0"], probe=False)
    assert trust.by_class[1]["context"] == ""
    assert trust.by_class[1]["verdict"]["grade"] == "trust"


def test_a_model_whose_context_cannot_be_tested_is_not_trusted():
    def model(x, mask):  # the answer is computed from another tensor than the attention returned
        logits, s = right(x, mask)
        return logits, s + 0.0

    def hidden(x, mask):
        order = x[..., 0].masked_fill(~mask, -torch.inf).max(1).values
        return order - 3, 4 * x[..., 0]

    trust = foveate.examine([hidden, hidden], shifted_bags(), absent=["0"], probe=False)
    assert "could not be tested" in trust.by_class[1]["context"]
    assert trust.by_class[1]["verdict"]["grade"] == "trust with care"
    assert (
        foveate.examine([model, model], shifted_bags(), absent=["0"], probe=False).by_class[1][
            "context"
        ]
        == ""
    )


def test_records_and_models_of_this_library_are_taken_too():
    record = trained([0, 1], "soft")
    bag = small_bags([0])[1][0]
    result = foveate.examine(record, bag, probe=False)
    usual = examine_subject(record.trained, "soft", bag, ("0", "1", "2"), probe=False)
    assert result.to_json() == usual.to_json()
    models = [record.trained.member(k) for k in range(2)]
    assert foveate.examine(models, bag, probe=False).to_json() == usual.to_json()


def test_an_estimator_is_examined_on_bags_as_it_reads_them():
    bag = shifted_bags(80)
    estimator = foveate.FocusClassifier("soft", epochs=3, random_state=0).fit(bag, bag.y)
    result = foveate.examine(estimator, bag, probe=False)
    usual = examine_subject(
        estimator.examined(), "soft", estimator.prepared(bag), ("0", "1"), probe=False
    )
    assert result.to_json() == usual.to_json()
