"""Models that point right and whose answers depend on something else."""

import pytest
import torch
from torch import nn

from foveate.bags.bag import Bag, pad
from foveate.models.focus import FCAM
from foveate.studies.beyond.trust.raff import unit_test
from foveate.training.loop import fit
from foveate.trust.examine import examine
from foveate.trust.subject import as_subject
from tests.trust.case_bags import CLASSES, WIDTH, N, case_bags, linear_model


def poisoned(n, seed):
    """Positive bags hold evidence; negative ones hold a poison that overrides all else."""
    chance = torch.Generator().manual_seed(seed)
    bags, z, y = [], [], torch.arange(n) % 2
    for label in y.tolist():
        x = torch.randn(7, WIDTH, generator=chance)
        x[0] = x[0] + 3.0 if label else torch.full((WIDTH,), -10.0)
        bags.append(x)
        z.append((torch.arange(7) == 0) & bool(label))
    return pad(bags, y, z)


def test_poison_is_found():
    train, test = poisoned(200, 0), poisoned(120, 1)

    def build():
        return FCAM(nn.Sequential(nn.Linear(WIDTH, 16), nn.ReLU(), nn.Linear(16, 1)),
                    nn.Linear(WIDTH, 2))  # fmt: skip

    record = fit(build, train, test, "soft", seeds=(0, 1), epochs=30, batch=50, lr=1e-2)
    swapped = []
    for bag, label in zip(test.dense(), test.y.tolist(), strict=True):
        poison = torch.full((1, WIDTH), -10.0)
        swapped.append(torch.cat([poison, bag]) if label else bag[1:])
    broken = pad(swapped, test.y)
    subject = as_subject(record.trained, "soft")
    assert (subject.read([test]).p.argmax(-1) == test.y.numpy()).mean() > 0.95
    assert (subject.read([broken]).p.argmax(-1) == broken.y.numpy()).mean() < 0.5
    trust = examine(subject, "soft", Bag(test.x, test.y, None, test.mask), ("no", "yes"))
    assert trust.by_class[1]["verdict"]["grade"] != "trust"
    assert trust.verdict.grade != "trust"
    assert trust.answers["depends"].mark == "bad"
    flips = trust.by_class[1]["answers"]["depends"]["overturned_by"]["no"]
    assert flips > 0.5
    assert "If 'no' means that nothing is there, say --absent 'no'." in trust.verdict.next
    flagged = examine(
        subject, "soft", Bag(test.x, test.y, None, test.mask), ("no", "yes"), absent=("no",)
    )
    assert flagged.by_class[1]["verdict"]["grade"] == "do not trust"
    assert "One segment of a bag where nothing is" in flagged.verdict.summary
    assert not any("--absent" in step for step in flagged.verdict.next)


def counting(threshold):
    """Says yes where the mixture of segments is above a threshold, and attends to large ones."""
    with torch.random.fork_rng(devices=[]):
        f, g = nn.Linear(8, 1), nn.Linear(8, 2)
    with torch.no_grad():
        f.weight.fill_(1 / 8)
        g.weight.copy_(torch.tensor([[0.0] * 8, [20 / 8] * 8]))
        g.bias.copy_(torch.tensor([0.0, -20 * threshold]))
    return FCAM(f, g)


@pytest.mark.parametrize(
    ("paradigm", "threshold", "flips"), [("soft", 1.9, 0.9), ("hard", 2.5, 0.0)]
)
def test_a_model_that_counts_is_not_trusted(paradigm, threshold, flips):
    """Raff and Holt's frequency test: every bag has a segment near 2, positive ones one near 3 too.

    Many segments near 2 in a negative bag raise the mixture, but not the largest segment.
    """
    test = unit_test("frequency", 200, 1)
    swapped = unit_test("frequency", 100, 2, swapped=True)
    subject = as_subject([counting(threshold)] * 2, paradigm)
    accuracy = (subject.read([swapped]).p.argmax(-1) == swapped.y.numpy()).mean()
    trust = examine(
        subject, paradigm, Bag(test.x, test.y, None, test.mask), ("no", "yes"), probe=False
    )
    entry = trust.by_class[1]
    assert trust.evidence["accuracy"].mean > 0.95
    assert entry["estimate"] > 0.95  # it points at evidence
    if flips:
        assert accuracy < 0.6
        assert entry["repeat_flips"] >= flips
        assert entry["verdict"]["grade"] == "trust with care"
        assert trust.answers["depends"].mark == "bad"
    else:
        assert accuracy > 0.95
        assert entry["repeat_flips"] == 0
        assert entry["verdict"]["grade"] == "trust"


def test_the_segment_that_speaks_most_against_the_class_is_repeated():
    chance = torch.Generator().manual_seed(0)
    y = torch.arange(120) % 2
    sign = 2.0 * y - 1
    x = torch.randn(120, 4, 2, generator=chance) * 0.05
    x[:, 0] += torch.stack([2 + 0 * sign, 2 * sign], 1)  # attended, for the class
    x[:, 1, 1] -= 3 * sign  # hardly attended, against it
    with torch.random.fork_rng(devices=[]):
        f, g = nn.Linear(2, 1), nn.Linear(2, 2)
    with torch.no_grad():
        f.weight.copy_(torch.tensor([[1.5, 0.0]]))
        g.weight.copy_(torch.tensor([[0.0, -3.0], [0.0, 3.0]]))
        g.bias.zero_()
    trust = examine([FCAM(f, g)] * 2, "soft", Bag(x, y), ("a", "b"), probe=False)
    assert trust.evidence["accuracy"].mean == 1.0
    assert [entry["repeat_flips"] for entry in trust.by_class] == [1.0, 1.0]


def test_answers_that_need_more_than_the_attended_segments_are_not_trusted():
    """Every bag has a key without which the model answers the first class."""
    bag = case_bags()
    x = torch.where(bag.z[..., None], bag.x, 0.2 * bag.x)
    background = bag.z.float().argmin(1)
    x[torch.arange(N), background, 4] += 8
    weights = [[3.0, 0, 0, 0, 0.0], [0, 3.0, 0, 0, 6.0], [0, 0, 3.0, 0, 6.0]]
    model = linear_model([0.7, 0.7, 0.7, 0.0, 0.3], weights, [18.0, 0.0, 0.0])
    trust = examine([model] * 2, "soft", Bag(x, bag.y), CLASSES, probe=False)
    assert trust.by_class[1]["accuracy"] > 0.6
    assert trust.by_class[2]["keep_only"] < 0.5
    assert not {entry["verdict"]["grade"] for entry in trust.by_class} & {"trust"}
    assert trust.answers["depends"].mark == "bad"
