"""Models of other libraries: recognised, read and forced exactly, or refused in a sentence."""

import dataclasses
import inspect

import numpy as np
import pytest
import torch
import torchmil.models
from torch import nn

import foveate
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.trust.calling import chain
from foveate.trust.contextual import context_of
from foveate.trust.examine import examine as examine_subject
from foveate.trust.external import External
from small_training import bags as small_bags
from small_training import trained


def ragged(n=12, m=6, d=8):
    chance = torch.Generator().manual_seed(0)
    x = torch.randn(n, m, d, generator=chance)
    mask = torch.ones(n, m, dtype=torch.bool)
    mask[0, 4:] = mask[3, 5:] = mask[7, 1:] = False
    return Bag(x, torch.arange(n) % 2, None, mask)


BAG = ragged()


class ABMIL(nn.Module):
    """A plain attention model; what it returns is decided by ``form``."""

    def __init__(self, form, classes=2, d=8):
        super().__init__()
        self.form, self.s, self.g = form, nn.Linear(d, 1), nn.Linear(d, classes)

    def forward(self, x, mask):
        s = self.s(x).squeeze(-1).masked_fill(~mask, -1e9)
        alpha = s.softmax(1)
        logits = self.g((alpha[..., None] * x).sum(1))
        return {
            "logits, scores": (logits, s),
            "weights, logits": (alpha, logits),
            "dict": {"attention": alpha, "logits": logits},
            "column": (logits, alpha[..., None]),
            "probabilities": (logits.softmax(1), alpha),
            "one logit": (logits[:, 1] - logits[:, 0], s),
            "sigmoid": ((logits[:, 1] - logits[:, 0]).sigmoid(), alpha),
        }[self.form]


def built(make, *arguments, **keywords):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make(*arguments, **keywords).eval()


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
    read, usual = subject.look([BAG]), External(built(ABMIL, FORMS[0]), BAG).look([BAG])
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
    read = External(model, BAG).look([BAG])
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
    read = External(model, BAG).look([BAG])
    np.testing.assert_allclose(read.p[0, :, 1], torch.tensor(0.3).sigmoid(), atol=1e-2)


BUILT = {
    "CAMIL": {"nystrom_att_dim": 16, "pool_att_dim": 8, "n_heads": 2, "n_landmarks": 4},
    "GTP": {"att_dim": 16, "n_clusters": 4, "n_heads": 2},
    "TransMIL": {"att_dim": 16, "n_heads": 2},
}
BASES = ("MILModel", "MILModelWrapper")
NAMES = [
    name
    for name, made in sorted(vars(torchmil.models).items())
    if inspect.isclass(made) and name not in BASES
]
FORCED = {
    "ABMIL", "CAMIL", "CLAM_SB", "DSMIL", "DeepGraphSurv", "PatchGCN", "ProbSmoothABMIL",
    "SmABMIL", "SmTransformerABMIL", "SmoothABMIL", "TransformerABMIL",
    "TransformerProbSmoothABMIL", "VAEABMIL",
}  # fmt: skip
CONTEXT_FREE = ("ABMIL", "CLAM_SB", "ProbSmoothABMIL")


def grid(x, _mask):
    """Places of segments in a square, row by row."""
    side = int(np.ceil(x.shape[1] ** 0.5))
    place = torch.arange(x.shape[1])
    return torch.stack([place // side, place % side], 1).expand(len(x), -1, -1)


def vae(in_shape):
    from torchmil.nn import VariationalAutoEncoderMIL

    encoder = VariationalAutoEncoderMIL(input_shape=in_shape, layer_sizes=[8, 4])
    model = torchmil.models.VAEABMIL(encoder)
    model(BAG.x)  # gives its lazy layers their sizes
    return model


def torchmil_subject(name):
    make = vae if name == "VAEABMIL" else getattr(torchmil.models, name)
    model = built(make, in_shape=(8,), **BUILT.get(name, {}))
    drawn = "Prob" in name or name in ("DTFDMIL", "VAEABMIL")
    return model, External(model, BAG, adjacency=chain, places=grid, seed=0 if drawn else None)


def test_all_eighteen_models_of_torchmil_are_here():
    assert len(NAMES) == 18


@pytest.mark.parametrize("name", NAMES)
def test_every_torchmil_model_is_read(name):
    model, subject = torchmil_subject(name)
    read = subject.look([BAG])
    np.testing.assert_allclose(read.alpha.sum(-1), 1, atol=1e-5)
    assert (read.alpha[0][~BAG.mask.numpy()] == 0).all()
    np.testing.assert_allclose(read.p.sum(-1), 1, atol=1e-6)
    assert subject.readers[0].can_force == (name in FORCED)
    assert np.isnan(read.even).all() == (name not in FORCED)
    first = BAG.take(slice(1, 2))  # a bag without padding, read by the model alone
    there = torch.ones(1, 6, dtype=torch.bool)
    keywords = {"adj": chain(first.x, there), "mask": there, "coords": grid(first.x, there)}
    takes = inspect.signature(model.forward).parameters
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        logit = model(first.x, **{key: value for key, value in keywords.items() if key in takes})
    alone = External(model, first, adjacency=chain, places=grid, seed=0).look([first])
    np.testing.assert_allclose(alone.p[0, 0, 1], logit.sigmoid().item(), atol=1e-5)


@pytest.mark.parametrize("name", ["TransMIL", "SETMIL"])
def test_a_row_of_a_self_attention_is_weights_though_it_does_not_sum_to_one(name):
    model, subject = torchmil_subject(name)
    bag = BAG.take(slice(1, 3))
    extra = {} if name == "TransMIL" else {"coords": grid(bag.x, None)}
    with torch.no_grad():
        _, row = model(bag.x, return_att=True, **extra)
    expected = row.clamp_min(0) / row.clamp_min(0).sum(1, keepdim=True)
    np.testing.assert_allclose(subject.look([bag]).alpha[0], expected, atol=1e-5)
    assert "one row of a self-attention" in subject.notes[0]


@pytest.mark.parametrize("name", CONTEXT_FREE)
def test_one_hot_attention_equals_a_bag_of_one(name):
    _, subject = torchmil_subject(name)
    place = BAG.mask.int().argmax(1).numpy()
    keep = np.zeros((1, 1, *BAG.shape), bool)
    keep[0, 0, np.arange(len(BAG)), place] = True
    np.testing.assert_allclose(
        subject.forced(BAG, place), subject.reread([BAG], keep)[:, 0], atol=1e-5
    )


class Pooling(nn.Module):
    """Attention pooling by a learnt query."""

    def __init__(self):
        super().__init__()
        self.query = nn.Parameter(torch.randn(1, 1, 8))
        self.pool = nn.MultiheadAttention(8, 2, batch_first=True)
        self.g = nn.Linear(8, 3)

    def forward(self, x, mask):
        query = self.query.expand(len(x), -1, -1)
        pooled, _ = self.pool(query, x, x, key_padding_mask=~mask, need_weights=False)
        return self.g(pooled[:, 0])


def test_multihead_attention_pooling_is_recorded_and_forced():
    model = built(Pooling)
    bag = Bag(BAG.x, torch.arange(12) % 3, None, BAG.mask)
    subject = External(model, bag)
    read = subject.look([bag])
    with torch.no_grad():
        np.testing.assert_allclose(read.p[0], model(bag.x, bag.mask).softmax(1), atol=1e-6)
        query = model.query.expand(12, -1, -1)
        _, weights = model.pool(query, bag.x, bag.x, key_padding_mask=~bag.mask)
    np.testing.assert_allclose(read.alpha[0], weights[:, 0], atol=1e-6)
    place = np.zeros(12, int)
    alone = read.segment_p[:, np.arange(12), place]  # a bag of one has all attention on it
    np.testing.assert_allclose(subject.forced(bag, place), alone, atol=1e-6)


class Clam(nn.Module):
    """As CLAM with one branch a class: one bag (m, d) at a time, five outputs."""

    def __init__(self):
        super().__init__()
        self.attention, self.heads = nn.Linear(8, 2), nn.ModuleList(nn.Linear(8, 1) for _ in "ab")

    def forward(self, h, label=None, instance_eval=False, attention_only=False):
        raw = self.attention(h).transpose(1, 0)
        mixed = raw.softmax(1) @ h
        logits = torch.cat([head(row) for head, row in zip(self.heads, mixed, strict=True)])[None]
        return logits, logits.softmax(1), logits.argmax(1, keepdim=True), raw, {}


def test_a_model_of_single_bags_with_one_attention_a_class():
    model = built(Clam)
    subject = External(model, BAG)
    read = subject.look([BAG])
    for i in range(len(BAG)):
        with torch.no_grad():
            _, p, said, raw, _ = model(BAG.x[i, BAG.mask[i]])
        np.testing.assert_allclose(read.p[0, i], p[0], atol=1e-6)
        own = raw.softmax(1)[said.item()]
        np.testing.assert_allclose(read.alpha[0, i, BAG.mask[i].numpy()], own, atol=1e-6)
    assert "that of the predicted class" in " ".join(subject.notes)
    assert subject.readers[0].can_force


class MilLab(nn.Module):
    """As the models of MIL-Lab: two dicts, a float mask, attention before the softmax."""

    def __init__(self):
        super().__init__()
        self.s, self.g = nn.Linear(8, 1), nn.Linear(8, 2)

    def forward(self, h, loss_fn=None, label=None, attn_mask=None, return_attention=False):
        s = self.s(h).transpose(1, 2)
        if attn_mask is not None:
            s = s + (1 - attn_mask.float()[:, None]) * -1e9
        logits = self.g((s.softmax(-1) @ h)[:, 0])
        return {"logits": logits, "loss": None}, {"attention": s if return_attention else None}


def test_a_model_of_dicts():
    model = built(MilLab)
    read = External(model, BAG).look([BAG])
    with torch.no_grad():
        logits = model(BAG.x, attn_mask=BAG.mask)[0]["logits"]
    np.testing.assert_allclose(read.p[0], logits.softmax(1), atol=1e-6)
    assert not np.isnan(read.even).any()


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
    read = subject.look([BAG])
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
    np.testing.assert_allclose(subject.look([BAG]).alpha[0], expected, atol=1e-6)
    assert "the rest is taken to lie on a class token" in subject.notes[0]
    assert not subject.readers[0].can_force
    flat = External(model, BAG, attention="scores").look([BAG]).alpha[0]
    assert np.abs(flat - expected.numpy()).max() > 0.1


def test_models_that_draw_from_numpy_repeat_with_a_seed():
    class Shuffled(ABMIL):
        def forward(self, x, mask):
            logits, s = super().forward(x, mask)
            return logits + float(np.random.rand()), s  # noqa: NPY002

    model, before = built(Shuffled, FORMS[0]), np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (External(model, BAG, seed=0).look([BAG]).p for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert "not deterministic" in refused(model)


def test_attention_that_is_given_and_not_used_is_an_error():
    def model(x, mask, alpha=None):
        s = x[..., 0].masked_fill(~mask, -1e9)
        return (s.softmax(1)[..., None] * x).sum(1)[:, :2], s

    assert "must use alpha" in refused(model)


def made_bags(n=240, m=8, d=3):
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
    bag = made_bags()

    def weights(x, mask):
        logits, s = right(x, mask)
        return s.softmax(1), logits

    found = [foveate.examine(model, bag, absent=["0"], probe=False) for model in (right, weights)]
    assert found[0].verdict == found[1].verdict
    assert found[0].by_class[1]["estimate"] == pytest.approx(found[1].by_class[1]["estimate"])
    assert found[0].by_class[1]["verdict"]["grade"] == "trust with care"  # one model alone
    assert found[0].score > 0.95


def test_attention_on_the_wrong_segments_is_not_trusted():
    trust = foveate.examine(elsewhere, made_bags(), absent=["0"], probe=False)
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
    bag = made_bags()
    models = [leaking(shift), leaking(shift)]
    trust = foveate.examine(models, bag, absent=["0"], probe=False)
    found = trust.by_class[1]
    reasons = " ".join((found["verdict"]["summary"], *found["verdict"]["why"]))
    assert found["accuracy"] > 0.9
    assert "Segments see each other before attention" in reasons
    assert "with all attention on a random segment" in reasons
    assert found["verdict"]["grade"] == ("do not trust" if shift else "trust with care")
    assert found["context"] in trust.notes  # said whatever the grade
    assert found["estimate"] == pytest.approx(1 - shift, abs=0.15)  # of the inputs, not the states


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_the_smallest_leak_that_changes_answers_is_found(share):
    """A state is partly that of the segment before it; attention is on the evidence."""

    def model(x, mask, alpha=None):
        value = x[..., 0]
        state = (1 - share) * value + share * value.roll(1, 1)
        s = (4 * value).masked_fill(~mask, -torch.inf)
        alpha = s.softmax(1) if alpha is None else alpha
        return (alpha * state).sum(1) - 3 * (1 - share), s

    trust = foveate.examine([model, model], made_bags(), absent=["0"], probe=False)
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

    bag = made_bags()
    assert context_of(External(model, bag), bag).contextual is (leak > 0)


def test_the_same_model_without_a_leak_is_trusted():
    trust = foveate.examine([right, right], made_bags(), absent=["0"], probe=False)
    assert trust.by_class[1]["context"] == ""
    assert trust.by_class[1]["verdict"]["grade"] == "trust"


def test_a_model_whose_context_cannot_be_tested_is_not_trusted():
    def model(x, mask):  # the answer is computed from another tensor than the attention returned
        logits, s = right(x, mask)
        return logits, s + 0.0

    def hidden(x, mask):
        order = x[..., 0].masked_fill(~mask, -torch.inf).max(1).values
        return order - 3, 4 * x[..., 0]

    trust = foveate.examine([hidden, hidden], made_bags(), absent=["0"], probe=False)
    assert "could not be tested" in trust.by_class[1]["context"]
    assert trust.by_class[1]["verdict"]["grade"] == "trust with care"
    assert (
        foveate.examine([model, model], made_bags(), absent=["0"], probe=False).by_class[1][
            "context"
        ]
        == ""
    )


def test_records_and_models_of_this_library_are_taken_too():
    record = trained([0, 1], "soft")
    bag = small_bags([0])[1][0]
    found = foveate.examine(record, bag, probe=False)
    usual = examine_subject(record.trained, "soft", bag, ("0", "1", "2"), probe=False)
    assert found.to_json() == usual.to_json()
    models = [record.trained.member(k) for k in range(2)]
    assert foveate.examine(models, bag, probe=False).to_json() == usual.to_json()


def test_an_estimator_is_examined_on_bags_as_it_reads_them():
    bag = made_bags(80)
    estimator = foveate.FocusClassifier("soft", epochs=3, random_state=0).fit(bag, bag.y)
    found = foveate.examine(estimator, bag, probe=False)
    usual = examine_subject(
        estimator.examined(), "soft", estimator.prepared(bag), ("0", "1"), probe=False
    )
    assert found.to_json() == usual.to_json()
