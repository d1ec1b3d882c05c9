"""Models of other libraries: recognised, read and forced exactly, or refused in a sentence."""

import dataclasses

import numpy as np
import pytest
import torch
import torchmil.models
from torch import nn

import foveate
from foveate.errors import FoveateError
from foveate.trust.external import External

from .external_models import ABMIL, BAG, built

FORMS = [
    "logits, scores",
    "weights, logits",
    "dict",
    "column",
    "probabilities",
    "one logit",
    "sigmoid",
]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_outputs_is_the_same_model(form):
    subject = External(built(ABMIL, form), BAG)
    read, usual = subject.read([BAG]), External(built(ABMIL, FORMS[0]), BAG).read([BAG])
    np.testing.assert_allclose(read.p, usual.p, atol=1e-6)
    np.testing.assert_allclose(read.alpha, usual.alpha, atol=1e-6)
    np.testing.assert_allclose(read.even, usual.even, atol=1e-6)
    np.testing.assert_allclose(read.segment_p, usual.segment_p, atol=1e-6)
    scores = form in ("logits, scores", "one logit")
    assert ("as scores" in subject.notes[0]) == scores
    assert ("as weights" in subject.notes[0]) != scores
    assert ("Answers are probabilities." in subject.notes) == (form in ("probabilities", "sigmoid"))


def test_numbers_are_those_of_the_model_itself():
    model = built(ABMIL, "logits, scores")
    read = External(model, BAG).read([BAG])
    with torch.no_grad():
        logits, s = model(BAG.x, BAG.mask)
        even = BAG.mask / BAG.mask.sum(1, keepdim=True)
        uniform = model.g((even[..., None] * BAG.x).sum(1))
    np.testing.assert_allclose(read.p[0], logits.softmax(1), atol=1e-6)
    np.testing.assert_allclose(read.alpha[0], s.softmax(1), atol=1e-6)
    np.testing.assert_allclose(read.even[0], uniform.softmax(1), atol=1e-6)
    with torch.no_grad():
        each = model.g(BAG.x).softmax(-1)
    there = BAG.mask.numpy()
    np.testing.assert_allclose(read.segment_p[0][there], each.numpy()[there], atol=1e-6)


def test_small_logits_are_not_taken_for_probabilities():
    model = built(ABMIL, "one logit")
    with torch.no_grad():
        model.g.weight.mul_(1e-3)
        model.g.bias.copy_(torch.tensor([0.0, 0.3]))
    read = External(model, BAG).read([BAG])
    np.testing.assert_allclose(read.p[0, :, 1], torch.tensor(0.3).sigmoid(), atol=1e-2)


@dataclasses.dataclass
class Outputs:
    """What some libraries return in place of a tuple."""

    logits: torch.Tensor
    attention: torch.Tensor


class SeveralOutputs(nn.Module):
    """States of a layer or answers of single segments beside answers and attention."""

    def __init__(self, form):
        super().__init__()
        self.form, self.s, self.g = form, nn.Linear(8, 1), nn.Linear(8, 2)

    def forward(self, x, mask):
        s = self.s(x).squeeze(-1).masked_fill(~mask, -1e9)
        alpha = s.softmax(1)
        pooled = (alpha[..., None] * x).sum(1)
        logits = self.g(pooled)
        return {
            "states before weights": (logits, x, alpha),
            "states before scores": (logits, x, s),
            "states, attention, answers": (x, alpha, logits),
            "answers of segments first": (logits, self.g(x), alpha),
            "pooled states first": (pooled, logits, alpha),
            "pooled states last": (logits, alpha, pooled),
            "scores and weights": (logits, s, alpha),
            "dataclass": Outputs(logits, alpha),
            "dict": {"features": x, "A": alpha, "embedding": pooled, "logits": logits},
        }[self.form]


@pytest.mark.parametrize(
    "form",
    ["states before weights", "states before scores", "states, attention, answers",
     "answers of segments first", "pooled states first", "pooled states last",
     "scores and weights", "dataclass", "dict"],
)  # fmt: skip
def test_attention_and_answers_are_found_among_other_outputs(form):
    model = built(SeveralOutputs, form)
    subject = External(model, BAG, classes=2)
    read = subject.read([BAG])
    with torch.no_grad():
        alpha = model.s(BAG.x).squeeze(-1).masked_fill(~BAG.mask, -1e9).softmax(1)
        logits = model.g((alpha[..., None] * BAG.x).sum(1))
    np.testing.assert_allclose(read.alpha[0], alpha, atol=1e-6)
    np.testing.assert_allclose(read.p[0], logits.softmax(1), atol=1e-6)
    assert subject.readers[0].can_force
    assert not any("could be attention" in note for note in subject.notes)


def test_two_outputs_that_could_be_attention_are_named():
    def model(x, mask):
        s = x[..., 0].masked_fill(~mask, -1e9)
        return (s.softmax(1)[..., None] * x).sum(1)[:, :2], s, x[..., 1]

    assert "Outputs 2 and 3 could be attention" in " ".join(External(model, BAG).notes)


def test_states_alone_are_not_taken_for_attention():
    assert "returns no attention" in refused(lambda x, mask: (x[:, 0, :2], x))


def refused(model, bag=BAG, **keywords):
    with pytest.raises(FoveateError) as stop:
        foveate.examine(model, bag, **keywords)
    return str(stop.value)


class Noisy(ABMIL):
    def forward(self, x, mask):
        logits, s = super().forward(x, mask)
        with torch.random.fork_rng(devices=[]):
            torch.seed()
            return logits + torch.randn_like(logits), s


def one_bag_off(x, mask):
    """Weights that sum to one in all bags but those that begin with a certain number."""
    alpha = mask / mask.sum(1, keepdim=True)
    alpha[(x[:, 0, 0] - BAG.x[2, 0, 0]).abs() < 1e-6] *= 0.5
    return x[:, 0, :2], alpha


def test_models_that_cannot_be_examined_are_an_error_in_one_sentence():
    assert "training mode" in refused(built(ABMIL, FORMS[0]).train())
    assert "not deterministic" in refused(built(Noisy, FORMS[0]))
    assert "cannot read bags of shape" in refused(built(ABMIL, FORMS[0], d=5))
    assert "answers for 3 classes" in refused(built(ABMIL, FORMS[0], 3))
    assert "must be callable" in refused(5)
    assert "returns no attention" in refused(lambda x, mask: x.sum((1, 2))[:, None])
    assert "returns 6 numbers for a bag of 5 segments" in refused(
        lambda x, mask: (x[:, 0, :2], torch.cat([x[:, :1, 0], x[..., 0]], 1))
    )
    assert "must sum to one, got" in refused(one_bag_off)
    assert "must return answers" in refused(lambda x, mask: x[..., 0])
    assert "reads a graph" in refused(built(torchmil.models.PatchGCN, in_shape=(8,)))
    assert "reads coordinates" in refused(built(torchmil.models.SETMIL, in_shape=(8,)))
    weights = "weights"
    assert "must not be negative" in refused(
        lambda x, mask: (x[:, 0, :2], x[..., 0]), attention=weights
    )
    assert "must sum to one" in refused(
        lambda x, mask: (x[:, 0, :2], x[..., 0] ** 2), attention=weights
    )
    assert "NaN" in refused(lambda x, mask: (x[:, 0, :2], x[..., 0] / 0 * 0))
    assert "answers must be finite" in refused(lambda x, mask: (x[:, 0, :2] / 0, x[..., 0]))
    assert "probabilities that sum to one" in refused(
        built(ABMIL, FORMS[0]), outputs="probabilities"
    )
    assert "labelled bags are needed" in refused(built(ABMIL, FORMS[0]), None)


def test_errors_of_a_model_are_one_line_with_the_shape_of_the_bags():
    def long_bags_only(x, mask):
        if x.shape[1] < 2:
            raise RuntimeError("two segments at least\nare needed")
        return x[:, 0, :2], x[..., 0].masked_fill(~mask, -torch.inf)

    message = refused(long_bags_only)
    assert message.endswith("which it must read too: RuntimeError: two segments at least")
    assert "long_bags_only cannot read bags of shape (" in message

    def one_bag(x):
        m, _ = x.shape
        return x @ torch.zeros(5, 2), x.new_zeros(1, m)

    message = refused(one_bag)
    assert "cannot read bags of shape (3, 5, 8): ValueError: too many values" in message
    assert "; nor a bag at a time: RuntimeError: mat1 and mat2" in message


def test_weights_without_those_of_a_class_token_are_divided_by_their_sum():
    def model(x, mask):
        s = torch.cat([torch.ones(len(x), 1), x[..., 0].masked_fill(~mask, -torch.inf)], 1)
        alpha = s.softmax(1)[:, 1:]
        return (alpha[..., None] * x).sum(1)[:, :2], alpha

    subject = External(model, BAG)
    expected = BAG.x[..., 0].masked_fill(~BAG.mask, -torch.inf).softmax(1)
    np.testing.assert_allclose(subject.read([BAG]).alpha[0], expected, atol=1e-6)
    assert "the rest is taken to lie on a class token" in subject.notes[0]
    assert not subject.readers[0].can_force
    flat = External(model, BAG, attention="scores").read([BAG]).alpha[0]
    assert np.abs(flat - expected.numpy()).max() > 0.1


def test_models_that_draw_from_numpy_repeat_with_a_seed():
    class Shuffled(ABMIL):
        def forward(self, x, mask):
            logits, s = super().forward(x, mask)
            return logits + float(np.random.rand()), s  # noqa: NPY002

    model, before = built(Shuffled, FORMS[0]), np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (External(model, BAG, seed=0).read([BAG]).p for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert "not deterministic" in refused(model)


def test_attention_that_is_given_and_not_used_is_an_error():
    def model(x, mask, alpha=None):
        s = x[..., 0].masked_fill(~mask, -1e9)
        return (s.softmax(1)[..., None] * x).sum(1)[:, :2], s

    assert "must use alpha" in refused(model)
