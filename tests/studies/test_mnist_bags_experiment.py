"""MNIST-bags beside torchmil: one architecture twice, the same numbers from the same weights."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from foveate.bags.bag import Bag
from foveate.data import DATASETS
from foveate.metrics.intervals import mean_interval
from foveate.models.focus import FCAM
from foveate.randomness import generator
from foveate.records.record import Record
from foveate.studies.beyond.mnist_bags import METHODS, MnistBags, MnistBagsSettings
from foveate.studies.beyond.mnist_bags.figures import rows_of
from foveate.studies.beyond.mnist_bags.networks import abmil, attention_model, encoder
from foveate.studies.beyond.mnist_bags.training import final_scores, train_abmil
from foveate.training.evaluation import read
from foveate.training.loop import fit
from foveate.trust.subject import Reading

SMOKE = MnistBags.scales["smoke"]


def bags(split="train", n=24):
    return DATASETS.get("digits-bags")().load(split, n=n, m=5, seed=0)


def built(make, seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def ours_from(model, settings):
    """Our model with the weights of an ABMIL: one logit t is the pair (0, t)."""
    ours: FCAM = built(lambda: attention_model(settings, (1, 8, 8)))
    ours.f.encoder.load_state_dict(model.feat_ext.net.state_dict())
    ours.f.hidden.load_state_dict(model.pool.fc1.module.state_dict())
    ours.f.score.load_state_dict(model.pool.fc2.state_dict())
    last = model.classifier.module
    with torch.no_grad():
        ours.g.weight[:] = torch.cat([torch.zeros_like(last.weight), last.weight])
        ours.g.bias[:] = torch.cat([torch.zeros(1), last.bias])
    return ours


def test_soft_attention_is_abmil_with_two_logits():
    pytest.importorskip("torchmil")
    model = built(lambda: abmil(SMOKE, (1, 8, 8)))
    ours = ours_from(model, SMOKE)
    bag = bags()
    with torch.no_grad():
        logit, s = model(bag.dense(), mask=bag.mask, return_att=True)
    mine = read(ours, bag, "soft")
    torch.testing.assert_close(mine.log_p.exp()[:, 1], logit.sigmoid(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(mine.s[bag.mask], s[bag.mask], rtol=1e-5, atol=1e-6)
    count = [sum(p.numel() for p in m.parameters()) for m in (ours, model)]
    assert count[0] - count[1] == SMOKE.features + 1


def test_abmil_sees_the_bags_in_our_order_and_learns():
    """One epoch by hand in the order of ``fit``: the same weights to the last bit."""
    pytest.importorskip("torchmil")
    settings = SMOKE.model_copy(update={"epochs": 1, "batch": 7})
    bag = bags()
    model = train_abmil(settings, bag, seed=3)
    twin = built(lambda: abmil(settings, (1, 8, 8)), seed=3)
    steps = torch.optim.Adam(twin.parameters(), settings.lr, weight_decay=settings.weight_decay)
    order = torch.randperm(len(bag), generator=generator("order", 3, 0))
    for rows in order.split(7):
        longest = max(int(bag.mask[i].sum()) for i in rows)
        logit = twin(bag.dense()[rows][:, :longest], mask=bag.mask[rows][:, :longest])
        steps.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(logit, bag.y[rows].float()).backward()
        steps.step()
    for mine, parameter in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(mine, parameter)
    long = train_abmil(settings.model_copy(update={"epochs": 150, "features": 32}), bag, seed=0)
    with torch.no_grad():
        assert roc_auc_score(bag.y, long(bag.dense(), mask=bag.mask)) > 0.95


def test_numbers_of_a_sight_are_those_of_plain_loops():
    rng = np.random.default_rng(0)
    bag = bags("test", n=30)
    alpha = rng.random((2, *bag.shape)) * bag.mask.numpy()
    p = rng.random((2, 30, 2))
    reading = Reading(alpha, alpha, p, p, p, rng.random((2, *bag.shape, 2)))
    numbers = final_scores(reading, [bag, bag])
    for s in range(2):
        assert numbers["bag_auc"][s] == pytest.approx(roc_auc_score(bag.y, p[s, :, 1]))
        inside, first = [], []
        for i in range(30):
            z, parameter = bag.z[i][bag.mask[i]].numpy(), alpha[s, i][bag.mask[i].numpy()]
            if z.any():
                first.append(z[parameter.argmax()])
                if not z.all():
                    inside.append(roc_auc_score(z, parameter))
        assert numbers["segment_auroc"][s] == pytest.approx(np.mean(inside))
        assert numbers["pointing"][s] == pytest.approx(np.mean(first))


@pytest.mark.parametrize(("kind", "shape"), [("mlp", (1, 8, 8)), ("lenet", (1, 28, 28))])
def test_encoders_return_the_requested_number_of_features(kind, shape):
    settings = MnistBagsSettings(encoder=kind, features=12)
    net = built(lambda: encoder(settings, shape))
    assert net(torch.zeros(3, *shape)).shape == (3, 12)
    if kind == "lenet":  # 1·20·25 + 20, 20·50·25 + 50, 800·12 + 12
        assert sum(p.numel() for p in net.parameters()) == 520 + 25_050 + 9_612


@pytest.mark.parametrize("method", METHODS[:-1])
def test_every_paradigm_learns_the_task(method):
    """On bags it was trained on: the smallest thing that would show a broken wire."""
    settings = SMOKE.model_copy(update={"features": 24, "attention": 8})
    bag = bags(n=40)
    record = fit(
        lambda: attention_model(settings, (1, 8, 8)),
        bag,
        bag,
        method,
        epochs=60,
        batch=10,
        lr=1e-2,
        every=1000,
    )
    p = np.exp(record.final["log_p"][0, :, 1])
    assert roc_auc_score(bag.y, p) > 0.9


def test_the_rows_of_a_figure_are_means_over_seeds():
    values = np.array([0.7, 0.8, 0.9])
    final = {"bag_auc": values, "segment_auroc": values[::-1].copy(), "pointing": values}
    trained = Record(np.zeros(1), {}, final, {"method": "abmil", "bags": 50})
    (row,) = rows_of({"abmil-50": trained})
    assert (row["label"], row["bags"]) == ("torchmil ABMIL", 50)
    mean, low, high = mean_interval(values)
    assert high > 1  # as no share can be
    assert (row["bag_auc"], row["bag_auc_low"], row["bag_auc_high"]) == (mean, low, 1)


def test_without_torchmil_it_is_left_out(monkeypatch):
    import foveate.studies.beyond.mnist_bags as experiment

    monkeypatch.setattr(experiment, "find_spec", lambda name: None)
    assert list(MnistBags().parts(SMOKE)) == [f"{name}-30" for name in METHODS[:-1]]


def test_bags_of_one_size_need_no_mask():
    pytest.importorskip("torchmil")
    bag = bags()
    whole = Bag(bag.dense(), bag.y, bag.z)
    assert train_abmil(SMOKE, whole, seed=0).training
