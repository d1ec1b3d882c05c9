"""Models of known weights must get the verdict they deserve, with and without locations."""

import functools
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from foveate.bags.bag import Bag, pad
from foveate.errors import FoveateError
from foveate.metrics.focus import focus_true
from foveate.trust.auditor import audit
from foveate.trust.examine import examine
from foveate.trust.external import External

from . import hand_built
from .hand_built import CLASSES


def grades(trust):
    return [entry["verdict"]["grade"] for entry in trust.by_class]


@functools.cache
def audit_of(number, n=300):
    """The auditor does not look at models, so that one audit serves for all of them."""
    return audit([hand_built.boxes(number, n)], 3)


def modes(trust):
    return [[flag.mode for flag in entry["flags"]] for entry in trust.by_class]


@pytest.mark.parametrize("paradigm", ["soft", "hard", "lvml", "logit", "hybrid"])
def test_a_perfect_model_is_trusted_though_background_reads_as_a_class(paradigm):
    bag = hand_built.without_z(hand_built.boxes(1))
    twice = [hand_built.perfect(), hand_built.perfect()]
    trust = examine(twice, paradigm, bag, CLASSES, probe=False, audited=audit_of(1))
    # g answers a wherever it sees nothing: a points right, but its answer does not depend on it
    # one segment of b overrides a bag of another class, as a hand-built linear g must
    assert grades(trust) == ["trust with care", "trust with care", "trust"]
    assert "default answer" in trust.by_class[0]["verdict"]["summary"]
    assert modes(trust) == [[], [], []]
    assert trust.score > 0.97
    assert {key: answer.mark for key, answer in trust.answers.items()} == {
        "evidence": "good",
        "looks": "good",
        "depends": "bad",
        "kinds": "good",
        "stable": "good",
        "visible": "good",
    }
    assert trust.by_class[0]["unattended"] > 0.9  # the mean prediction alone would accuse class a
    assert trust.localisation is None


@pytest.mark.parametrize("paradigm", ["hard", "hybrid", "witness", "hard-sampled"])
def test_even_attention_does_not_mind_the_order_of_segments(paradigm):
    """Of equals no segment comes first, least of all the relevant one."""
    bag = hand_built.boxes(1, n=60)
    rows = bag.dense()
    order = (~bag.z).int().argsort(dim=1, stable=True)  # the relevant segment comes first
    result = []
    for way in (order, order.flip(1)):
        turned = rows.gather(1, way[..., None].expand_as(rows))
        moved = Bag(turned, bag.y, bag.z.gather(1, way))
        trust = examine(
            hand_built.perfect(), paradigm, moved, CLASSES, probe=False, audited=audit_of(1, 60)
        )
        result.append(trust.evidence["even_accuracy"].mean)
    assert result[0] == pytest.approx(result[1])
    assert result[0] < 1


def test_a_class_read_from_the_background_is_named():
    bag, twice = hand_built.without_z(hand_built.boxes(1)), [hand_built.background()] * 2
    trust = examine(twice, "lvml", bag, CLASSES, audited=audit_of(1))
    assert modes(trust) == [[], [1], []]
    assert grades(trust) == ["trust", "do not trust", "trust"]
    assert trust.by_class[1]["accuracy"] > 0.95
    assert trust.by_class[1]["unattended"] > 0.7
    assert trust.by_class[1]["estimate"] < 0.1
    assert trust.verdict.grade == "do not trust"
    assert "'b'" in trust.verdict.summary
    assert any("background" in line for line in trust.verdict.why)
    assert any("--supervise-focus" in line for line in trust.verdict.next)


def test_two_kinds_of_error_are_distinguished_from_background():
    bag, twice = hand_built.without_z(hand_built.boxes(2)), [hand_built.two_wrongs()] * 2
    trust = examine(twice, "hard", bag, CLASSES, audited=audit_of(2))
    assert modes(trust) == [[], [], [2]]
    assert trust.by_class[2]["accuracy"] > 0.95
    assert trust.by_class[2]["marks"]["aversion"] > 0.9
    assert grades(trust) == ["trust", "trust", "do not trust"]


def test_uniform_but_accurate_is_found():
    bag = hand_built.without_z(hand_built.axes())
    trust = examine(hand_built.uniform(), "soft", bag, CLASSES)
    assert modes(trust) == [[3], [3], [3]]
    assert trust.evidence["accuracy"].mean == 1.0
    assert trust.evidence["entropy"].mean > 0.99
    assert trust.evidence["top_accuracy"].mean < 0.6
    assert trust.evidence["even_accuracy"].mean == 1.0  # uniform attention serves as well
    assert trust.verdict.grade == "do not trust"
    assert trust.evidence["probe_accuracy"].mean > 0.9  # what is unattended tells the label


def test_the_score_is_near_the_truth_it_does_not_see():
    for make, number in ((hand_built.perfect, 1), (hand_built.background, 1)):
        trust = examine(make(), "soft", hand_built.boxes(number), CLASSES, probe=False)
        for entry in trust.by_class:
            assert entry["estimate"] == pytest.approx(entry["measured"].mean, abs=0.05)
            assert entry["low"] <= entry["measured"].mean <= entry["high"]
            assert entry["chance"] == pytest.approx(1 / 9, abs=0.05)
            assert entry["measured_chance"] == pytest.approx(1 / 9)


def test_locations_are_measured_where_known_and_only_there():
    bag = hand_built.boxes(1)
    known = np.arange(len(bag)) < 120
    lies = replace(bag, z=torch.where(torch.from_numpy(known)[:, None], bag.z, ~bag.z))
    trust = examine(hand_built.background(), "lvml", lies, CLASSES, known=known, probe=False)
    ft = trust.localisation["ft"]
    assert trust.localisation["bags"] == 120
    assert [round(part["mean"]) for part in ft["classes"]] == [1, 0, 1]
    alpha = hand_built.background().attend(bag.x, None).alpha.detach().numpy()
    assert ft["all"]["mean"] == pytest.approx(focus_true(alpha, bag.z.numpy())[:120].mean())
    assert ft["all"]["low"] <= ft["all"]["mean"] <= ft["all"]["high"]
    assert trust.by_class[1]["known"] == int((bag.y[:120] == 1).sum())
    assert 0.6 < trust.localisation["segment_auroc"]["pooled"] < 1


@pytest.mark.parametrize("map", ["softmax", "sparsemax", "spherical"])
def test_padding_changes_nothing(map):
    bag = hand_built.boxes(1, n=60)
    model = hand_built.background()
    model = type(model)(model.f, model.g, map)
    plain, wide = (
        examine(model, "soft", entry, CLASSES).to_json() for entry in (bag, hand_built.padded(bag))
    )
    assert_alike(plain, wide)


def test_the_order_of_bags_changes_nothing_but_random_controls():
    bag = hand_built.boxes(1, n=90)
    order = torch.randperm(len(bag), generator=torch.Generator().manual_seed(1))
    first, second = (
        examine(hand_built.background(), "lvml", entry, CLASSES, probe=False)
        for entry in (bag, bag.take(order))
    )
    assert first.score == pytest.approx(second.score, abs=0.03)  # folds differ
    assert first.model_score == pytest.approx(second.model_score)
    assert modes(first) == modes(second)
    for name in ("accuracy", "sufficiency", "comprehensiveness", "deletion", "insertion"):
        assert first.evidence[name].mean == pytest.approx(second.evidence[name].mean, abs=1e-6)


def test_ragged_bags_are_examined_as_they_are():
    bag = hand_built.boxes(1, n=120)
    lengths = torch.randint(4, 10, (len(bag),), generator=torch.Generator().manual_seed(0)).tolist()
    first = bag.z.double().argsort(dim=1, descending=True, stable=True)  # the relevant one in front
    x = bag.x.gather(1, first[..., None].expand_as(bag.x))
    ragged = pad([row[:k] for row, k in zip(x, lengths, strict=True)], bag.y)
    trust = examine(hand_built.background(), "hard", ragged, CLASSES, probe=False)
    assert modes(trust) == [[], [1], []]


def test_several_models_are_compared_on_the_same_bags():
    bag = hand_built.without_z(hand_built.boxes(1))
    same = [hand_built.perfect(), hand_built.perfect()]
    trust = examine(same, "soft", bag, CLASSES, probe=False)
    assert trust.by_class[0]["stability"] == 1.0
    assert trust.evidence["seeds_top"].mean == 1.0
    assert trust.evidence["seeds_rank"].mean == pytest.approx(1.0)
    assert len(trust.scores) == len(trust.by_model) == 2
    mixed = examine(
        [hand_built.perfect(), hand_built.background()], "soft", [bag, bag], CLASSES, probe=False
    )
    assert mixed.by_class[1]["marks"]["seeds"] < 0.2  # they differ in class b only
    assert mixed.by_class[0]["marks"]["seeds"] > 0.9
    assert mixed.by_class[1]["flags"][0].members == 1
    assert mixed.by_model[0]["modes"] == [0, 0, 0]
    assert mixed.by_model[1]["modes"] == [0, 1, 0]


def test_a_class_that_means_nothing_is_there_is_not_accused():
    bag = hand_built.without_z(hand_built.boxes(1))
    trust = examine(
        [hand_built.background()] * 2,
        "lvml",
        bag,
        CLASSES,
        absent=("b",),
        probe=False,
        audited=audit_of(1),
    )
    assert grades(trust) == ["trust", "cannot tell", "trust"]
    assert trust.verdict.grade == "trust"
    assert trust.score > 0.95


def test_several_relevant_segments_are_allowed_for():
    """Two of nine segments are evidence: the runner-up that counts is the third."""
    bag = hand_built.boxes(1)
    x, z = bag.x.clone(), bag.z.clone()
    twin = (z.int().argmax(1) + 1) % bag.m
    rows = torch.arange(len(bag))
    x[rows, twin] = x[z]
    z[rows, twin] = True
    both = Bag(x, bag.y, z)
    inferred = examine(hand_built.perfect(), "soft", hand_built.without_z(both), CLASSES)
    declared = examine(
        hand_built.perfect(), "soft", hand_built.without_z(both), CLASSES, relevant=1
    )
    seen = examine(hand_built.perfect(), "soft", both, CLASSES)
    assert (seen.relevant, seen.relevant_from) == (2, "known")
    assert (inferred.relevant, inferred.relevant_from) == (2, "inferred")
    assert inferred.score > 0.97
    assert inferred.model_score > 0.97
    assert declared.model_score < 0.8  # evidence beside evidence looks like background to it
    assert declared.score > 0.97  # and not to the auditor


def test_everything_is_plain_json():
    trust = examine(hand_built.perfect(), "soft", hand_built.boxes(1, n=30), CLASSES)
    again = json.loads(json.dumps(trust.to_json(), allow_nan=False))
    assert again["by_class"][0]["name"] == "a"
    assert again["evidence"]["seeds_top"]["mean"] is None  # one model has no other to agree with


def test_a_class_without_bags_is_left_out():
    bag = hand_built.without_z(hand_built.boxes(1))
    some = bag.take((bag.y != 2).nonzero()[:, 0])
    trust = examine(hand_built.perfect(), "soft", some, CLASSES)
    assert trust.by_class[2]["verdict"]["grade"] == "cannot tell"
    assert trust.score > 0.95
    json.dumps(trust.to_json(), allow_nan=False)


def test_few_bags_cannot_tell():
    trust = examine(hand_built.perfect(), "soft", hand_built.boxes(1, n=12), CLASSES, probe=False)
    assert trust.verdict.grade == "cannot tell"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"absent": ("d",)}, "no class 'd'"),
        ({"classes": ("a", "b")}, "below the number of classes"),
        ({"relevant": 0}, "at least 1 segment"),
        ({"paradigm": "direct"}, "no attention"),
        ({"known": [True]}, "each of 30 bags"),
        ({"models": []}, "at least one model"),
    ],
)
def test_mistakes_are_named(changes, words):
    inputs = {
        "models": hand_built.perfect(),
        "paradigm": "soft",
        "bag": hand_built.boxes(1, n=30),
        "classes": CLASSES,
    }
    with pytest.raises(FoveateError, match=words):
        examine(**{**inputs, **changes})


def test_torchmil_models_can_be_examined():
    """An ABMIL made to look where |x₁| is large, and one that looks anywhere."""
    models = pytest.importorskip("torchmil.models")
    chance = torch.Generator().manual_seed(0)
    x = torch.randn(80, 6, 3, generator=chance)
    y = torch.arange(80) % 2
    place = torch.randint(6, (80,), generator=chance)
    z = torch.arange(6) == place[:, None]
    x[..., 0] = torch.where(z, 4.0 * (2 * y[:, None] - 1), 0.1 * x[..., 0])
    mask = torch.arange(6).expand(80, -1) < 6
    bag = Bag(x, y, z, mask)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        good, random = (
            models.ABMIL(in_shape=(3,), att_dim=4, att_act="relu").eval() for _ in range(2)
        )
    with torch.no_grad():
        good.pool.fc1.module.weight.zero_()
        good.pool.fc1.module.bias.zero_()
        good.pool.fc1.module.weight[:2, 0] = torch.tensor([1.0, -1.0])  # |x₁|
        good.pool.fc2.weight.copy_(torch.tensor([[5.0, 5.0, 0.0, 0.0]]))
        for model in (good, random):
            model.classifier.module.weight.copy_(torch.tensor([[3.0, 0.0, 0.0]]))
            model.classifier.module.bias.zero_()
    trust = examine(External(good, bag), "soft", bag, ("no", "yes"))
    assert trust.localisation["ft"]["all"]["mean"] == 1.0
    assert trust.score > 0.95
    assert grades(trust) == ["trust with care"] * 2  # one model shows nothing about stability
    twice = grades(examine(External([good, good], bag), "soft", bag, ("no", "yes")))
    assert set(twice) <= {"trust", "trust with care"}  # a linear g is overridden by one segment
    assert "trust" in twice
    assert trust.evidence["even_accuracy"].mean == 1.0  # attention is set from outside
    both = examine(External([good, random], bag), "soft", bag, ("no", "yes"), probe=False)
    assert both.scores[1] < both.scores[0] - 0.2
    padded = hand_built.padded(Bag(x, y, z))
    assert_alike(
        examine(External(random, bag), "soft", bag, ("no", "yes")).to_json(),
        examine(External(random, bag), "soft", padded, ("no", "yes")).to_json(),
    )
    with pytest.raises(FoveateError, match="must return answers"):
        External(torch.nn.ReLU().eval(), bag)


def assert_alike(a, b, at=""):
    """Equal up to rounding, all the way down."""
    assert type(a) is type(b), at
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_alike(a[key], b[key], f"{at}.{key}")
    elif isinstance(a, list):
        assert len(a) == len(b)
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_alike(x, y, f"{at}[{k}]")
    elif isinstance(a, float):
        assert a == pytest.approx(b, abs=2e-5), at
    else:
        assert a == b, at
