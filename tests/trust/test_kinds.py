"""Two kinds of evidence: found among words too, settled by an answer or by marks on few bags."""

import numpy as np
import pytest
import torch
from torch import nn

from foveate.bags.bag import Bag
from foveate.models.focus import FCAM
from foveate.trust.auditor import audit
from foveate.trust.co_occurrence import co_occurrence, word_split
from foveate.trust.examine import examine
from foveate.trust.kinds import kind_of_segments, kinds

from . import test_cases as cases

TOPICS, OTHERS, LENGTH, TAGS = 6, 60, 12, 100


def texts(right=1.0, n=240):
    """Texts of two classes with two topic words each, and a tag that is mostly right."""
    chance = torch.Generator().manual_seed(0)
    y = torch.arange(n) % 2
    words = 2 * TOPICS + torch.randint(OTHERS, (n, LENGTH), generator=chance)
    words[:, :2] = TOPICS * y[:, None] + torch.randint(TOPICS, (n, 2), generator=chance)
    honest = torch.rand(n, generator=chance) < right
    words[:, 2] = TAGS + torch.where(honest, y, torch.randint(2, (n,), generator=chance))
    order = torch.rand(n, LENGTH, generator=chance).argsort(1)
    return Bag(words.gather(1, order), y)


@pytest.mark.parametrize("right", [1.0, 0.9])
def test_a_tag_in_texts_is_another_kind_of_evidence(right):
    bag = texts(right)
    checked = audit([bag], 2)
    assigned = kind_of_segments([bag], checked, 2)
    tagged = bag.dense().numpy() == TAGS
    found = kinds(checked, assigned, checked.a.argmax(-1), 0)
    assert found.several
    of = (bag.y.numpy() == 0)[:, None] & np.ones(tagged.shape, bool)
    assert set(assigned[0][of & tagged]) != set(assigned[0][of & ~tagged])
    assert len(set(assigned[0][of & tagged])) == 1


def test_topic_words_alone_are_one_kind():
    words = texts().dense()
    plain = torch.where(words >= TAGS, 2 * TOPICS, words)
    bag = Bag(plain, texts().y)
    checked = audit([bag], 2)
    assigned = kind_of_segments([bag], checked, 2)
    assert not any(kinds(checked, assigned, checked.a.argmax(-1), c).several for c in (0, 1))


def test_a_word_is_split_from_the_others_by_how_often_it_accompanies_them():
    chance = np.random.default_rng(0)
    bag = np.repeat(np.arange(200), 2)
    alike = chance.integers(8, size=400)
    assert not word_split(alike, bag, alike).any()
    accompanied = np.where(np.arange(400) % 2, 50, alike)
    split = word_split(accompanied, bag, np.array([50, 3]))
    assert split[0] != split[1]
    _, observed, expected, z = co_occurrence((accompanied == 50).astype(int), bag)
    assert (observed, expected) == (1.0, 0.5)
    assert z == pytest.approx(np.sqrt(200), abs=1e-6)  # (200 - 100) / sqrt(200 / 4)


@pytest.mark.parametrize("chosen", ["tag", "object"])
def test_marks_on_three_bags_of_a_class_settle_which_kind_is_meant(chosen):
    bag = cases.case_bags("tag")
    tag = bag.x[..., cases.TAG] > 4
    z = tag if chosen == "tag" else bag.z
    few = np.arange(cases.N) < 9  # three bags of each class
    trust = examine(
        [cases.shortcut()] * 2, "soft", Bag(bag.x, bag.y, z), cases.CLASSES, known=few,
        audited=cases.audited("tag"), probe=False,
    )  # fmt: skip
    assert trust.answers["kinds"].mark == "good"
    assert "is meant, as declared or marked" in trust.answers["kinds"].text
    if chosen == "tag":
        assert trust.score > 0.9
    else:
        assert trust.verdict.grade == "do not trust"
        assert trust.score < 0.1
    two = np.arange(cases.N) < 6
    asked = examine(
        [cases.shortcut()] * 2, "soft", Bag(bag.x, bag.y, z), cases.CLASSES, known=two,
        audited=cases.audited("tag"), probe=False,
    )  # fmt: skip
    assert asked.answers["kinds"].mark == "bad"


def tag_reader():
    """Looks at the tag of a text and reads the class from it."""
    with torch.random.fork_rng(devices=[]):
        f = nn.Sequential()
        f.add_module("words", nn.Embedding(TAGS + 2, 2))
        f.add_module("score", nn.Linear(2, 1))
        g = nn.Linear(2, 2)
    with torch.no_grad():
        f.words.weight.zero_()
        f.words.weight[TAGS:] = 10 * torch.eye(2)
        f.score.weight.fill_(1.0)
        g.weight.copy_(torch.eye(2))
        g.bias.zero_()
    return FCAM(f, g, "softmax", "words")


def test_a_model_of_texts_that_reads_the_tag_is_not_trusted():
    trust = examine([tag_reader()] * 2, "soft", texts(), ("a", "b"), probe=False)
    assert trust.evidence["accuracy"].mean == 1.0
    assert cases.grades(trust) == ["cannot tell"] * 2
    assert trust.answers["kinds"].mark == "bad"
    chosen = {}
    for entry in trust.by_class:
        kinds_of_class = entry["answers"]["kinds"]
        name = max(("A", "B"), key=lambda k: kinds_of_class["attended"]["AB".index(k)])
        chosen[entry["name"]] = "B" if name == "A" else "A"  # not what the models look at
    settled = examine([tag_reader()] * 2, "soft", texts(), ("a", "b"), evidence=chosen, probe=False)
    assert cases.grades(settled) == ["do not trust"] * 2
