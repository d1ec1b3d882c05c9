"""Models as torchmil, torch, CLAM and MIL-Lab build them, read and forced exactly."""

import inspect

import numpy as np
import pytest
import torch
import torchmil.models
from torch import nn

from foveate.bags.bag import Bag
from foveate.trust.calling import chain
from foveate.trust.external import External

from .external_models import BAG, built

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
    position = torch.arange(x.shape[1])
    return torch.stack([position // side, position % side], 1).expand(len(x), -1, -1)


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
    read = subject.read([BAG])
    np.testing.assert_allclose(read.alpha.sum(-1), 1, atol=1e-5)
    assert (read.alpha[0][~BAG.mask.numpy()] == 0).all()
    np.testing.assert_allclose(read.p.sum(-1), 1, atol=1e-6)
    assert subject.readers[0].can_force == (name in FORCED)
    assert np.isnan(read.even).all() == (name not in FORCED)
    first = BAG.take(slice(1, 2))  # a bag without padding, read by the model alone
    exists = torch.ones(1, 6, dtype=torch.bool)
    keywords = {"adj": chain(first.x, exists), "mask": exists, "coords": grid(first.x, exists)}
    takes = inspect.signature(model.forward).parameters
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        logit = model(first.x, **{key: value for key, value in keywords.items() if key in takes})
    alone = External(model, first, adjacency=chain, places=grid, seed=0).read([first])
    np.testing.assert_allclose(alone.p[0, 0, 1], logit.sigmoid().item(), atol=1e-5)


@pytest.mark.parametrize("name", ["TransMIL", "SETMIL"])
def test_a_row_of_a_self_attention_is_weights_though_it_does_not_sum_to_one(name):
    model, subject = torchmil_subject(name)
    bag = BAG.take(slice(1, 3))
    extra = {} if name == "TransMIL" else {"coords": grid(bag.x, None)}
    with torch.no_grad():
        _, row = model(bag.x, return_att=True, **extra)
    expected = row.clamp_min(0) / row.clamp_min(0).sum(1, keepdim=True)
    np.testing.assert_allclose(subject.read([bag]).alpha[0], expected, atol=1e-5)
    assert "one row of a self-attention" in subject.notes[0]


@pytest.mark.parametrize("name", CONTEXT_FREE)
def test_one_hot_attention_equals_a_bag_of_one(name):
    _, subject = torchmil_subject(name)
    position = BAG.mask.int().argmax(1).numpy()
    keep = np.zeros((1, 1, *BAG.shape), bool)
    keep[0, 0, np.arange(len(BAG)), position] = True
    np.testing.assert_allclose(
        subject.forced(BAG, position), subject.reread([BAG], keep)[:, 0], atol=1e-5
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
    read = subject.read([bag])
    with torch.no_grad():
        np.testing.assert_allclose(read.p[0], model(bag.x, bag.mask).softmax(1), atol=1e-6)
        query = model.query.expand(12, -1, -1)
        _, weights = model.pool(query, bag.x, bag.x, key_padding_mask=~bag.mask)
    np.testing.assert_allclose(read.alpha[0], weights[:, 0], atol=1e-6)
    position = np.zeros(12, int)
    alone = read.segment_p[:, np.arange(12), position]  # a bag of one has all attention on it
    np.testing.assert_allclose(subject.forced(bag, position), alone, atol=1e-6)


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
    read = subject.read([BAG])
    for i in range(len(BAG)):
        with torch.no_grad():
            _, p, predicted, raw, _ = model(BAG.x[i, BAG.mask[i]])
        np.testing.assert_allclose(read.p[0, i], p[0], atol=1e-6)
        alpha = raw.softmax(1)[predicted.item()]
        np.testing.assert_allclose(read.alpha[0, i, BAG.mask[i].numpy()], alpha, atol=1e-6)
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
    read = External(model, BAG).read([BAG])
    with torch.no_grad():
        logits = model(BAG.x, attn_mask=BAG.mask)[0]["logits"]
    np.testing.assert_allclose(read.p[0], logits.softmax(1), atol=1e-6)
    assert not np.isnan(read.even).any()
