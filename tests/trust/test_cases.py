"""Cases that broke the verdict before, made small: each must get the verdict it deserves."""

import functools
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from foveate.bags.bag import Bag, pad
from foveate.cli.trust_results import print_trust
from foveate.errors import FoveateError
from foveate.metrics.intervals import Interval
from foveate.models.focus import FCAM
from foveate.report.trust_files import TrustResults
from foveate.studies.beyond.trust.raff import unit_test
from foveate.training.loop import fit
from foveate.trust.advice import compare
from foveate.trust.auditor import audit
from foveate.trust.crossfitted import CrossFitted
from foveate.trust.examine import examine
from foveate.trust.subject import as_subject
from foveate.trust.verdict import Verdict

CLASSES = ("a", "b", "c")
N, M, WIDTH = 240, 8, 5
TAG = 3  # the number of a segment that a tag or a stain writes to


@functools.cache
def case_bags(case="plain", n=N, seed=0):
    """Bags whose relevant segments have 5 in the number of their class."""
    chance = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 3
    x = torch.randn(n, M, WIDTH, generator=chance)
    count = 3 if case == "several" else 1
    order = torch.rand(n, M, generator=chance).argsort(1)
    z = torch.zeros(n, M, dtype=torch.bool).scatter(1, order[:, :count], True)
    if case == "absent":
        z &= (y != 2)[:, None]
    x += 5 * z[..., None] * nn.functional.one_hot(y, WIDTH)[:, None]
    if case == "tag":  # one background segment tells the class as well
        x[torch.arange(n), order[:, -1], TAG] = 8.0 + 4 * y
    if case == "stain":
        x[..., TAG] = 8.0 * y[:, None]
    return Bag(x, y, z)


def linear_model(f_w, g_w, g_b):
    with torch.random.fork_rng(devices=[]):
        f, g = nn.Linear(WIDTH, 1), nn.Linear(WIDTH, 3)
    with torch.no_grad():
        f.weight.copy_(torch.tensor([f_w]))
        g.weight.copy_(torch.tensor(g_w))
        g.bias.copy_(torch.tensor(g_b))
    return FCAM(f, g)


def good():
    """Looks where a class speaks and reads it there; without evidence its answer is arbitrary."""
    g_w = [[3.0 * (i == j) for j in range(WIDTH)] for i in range(3)]
    return linear_model([6.0, 6.0, 6.0, 0.0, 0.0], g_w, [0.0, 0.0, 0.0])


def shortcut():
    """Looks at the tag and reads the class off its height."""
    g_w = [[0.0] * TAG + [2.0 * (8 + 4 * c), 0.0] for c in range(3)]
    return linear_model(
        [0.0, 0.0, 0.0, 6.0, 0.0], g_w, [-float((8 + 4 * c) ** 2) for c in range(3)]
    )


@functools.cache
def audited(case):
    bag = case_bags(case)
    return audit([Bag(bag.x, bag.y)], 3)


def examined(model, case, *, known=False, **flags):
    bag = case_bags(case)
    subject = [model, model]
    examined = bag if known else Bag(bag.x, bag.y)
    return examine(subject, "soft", examined, CLASSES, audited=audited(case), probe=False, **flags)


def grades(trust):
    return [entry["verdict"]["grade"] for entry in trust.by_class]


def test_several_relevant_segments_are_no_reason_for_distrust():
    trust = examined(good(), "several")
    assert set(grades(trust)) <= {"trust", "trust with care"}
    assert trust.score > 0.95
    assert (trust.relevant, trust.relevant_from) == (3, "inferred")
    assert trust.by_class[0]["answers"]["evidence"]["count"] == pytest.approx(3, abs=0.3)


def test_a_tag_on_a_background_segment_is_never_trusted():
    trust = examined(shortcut(), "tag")
    ft = examined(shortcut(), "tag", known=True).localisation["ft"]["all"]["mean"]
    assert ft == 0.0
    assert trust.evidence["accuracy"].mean == 1.0
    assert grades(trust) == ["cannot tell"] * 3
    assert trust.answers["kinds"].mark == "bad"
    assert any("--evidence" in step for step in trust.verdict.next)
    kinds = [bag["kind"] for bag in trust.examples]
    assert kinds == ["right, for a reason that is not known"]
    bag, chosen = case_bags("tag"), {}
    for c, entry in enumerate(trust.by_class):
        examples = entry["answers"]["kinds"]["examples"]
        tagged = {
            k: np.mean([float(bag.x[i, j, TAG]) > 4 for i, j in v]) for k, v in examples.items()
        }
        assert sorted(tagged.values()) == [0.0, 1.0]  # the kinds are the tag and the object
        chosen[CLASSES[c]] = min(tagged, key=tagged.get)
    settled = examined(shortcut(), "tag", evidence=chosen)
    assert grades(settled) == ["do not trust"] * 3
    assert settled.examples[0]["kind"] == "right, but looking elsewhere"
    assert settled.score < 0.1
    other = examined(good(), "tag", evidence=chosen)
    assert other.score > 0.9
    assert other.examples[0]["kind"] == "right for the right reason"
    assert "do not trust" not in grades(other)


def test_examples_follow_known_relevance_where_the_auditor_cannot_say():
    [example] = examined(shortcut(), "tag", known=True).examples
    assert example["kind"] == "right, but looking elsewhere"
    assert (example["evidence"], example["known"]) == (0.0, True)
    attention = {number: (alpha, evidence) for number, alpha, evidence in example["segments"]}
    assert max(attention, key=lambda j: attention[j][0]) == example["segment"]
    assert attention[example["segment"]][1] == 0.0
    assert sum(evidence for _, evidence in attention.values()) >= 1
    assert sum(alpha for alpha, _ in attention.values()) == pytest.approx(1, abs=1e-2)
    assert examined(shortcut(), "tag").examples[0]["evidence"] is None


def accompanied(n, seed):
    """Two classes; a companion is in 80 % of the bags of one class and in 20 % of the other.

    The companion is a segment of its own kind and a label that is known.
    """
    chance = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 2
    x = torch.randn(n, M, WIDTH, generator=chance)
    order = torch.rand(n, M, generator=chance).argsort(1)
    x[torch.arange(n), order[:, 0], y] += 6
    has = torch.rand(n, generator=chance) < torch.where(y == 1, 0.8, 0.2)
    x[torch.arange(n)[has], order[has, 1], TAG] += 6
    return Bag(x, y), has.numpy()[:, None], order[:, 1].numpy()


def test_a_companion_whose_label_is_known_is_no_evidence():
    bag, has, place = accompanied(400, 0)
    rows = np.flatnonzero(has[:, 0] & (bag.y.numpy() == 1))
    without = audit([bag], 2).e[0][rows, place[rows]].mean()
    matched = audit([bag], 2, labels=has)
    assert without > 0.5  # r = .8 / .2 = 4, so that e = .75 exactly
    assert matched.e[0][rows, place[rows]].mean() < 0.25  # r = 1 where the label is as frequent
    assert matched.matched
    assert len(matched.opinions) == 3  # boosting, forest, and other labels explained away


def test_a_mark_on_every_segment_is_evidence_everywhere():
    trust = examined(good(), "stain")
    assert [e["answers"]["evidence"]["presence"] for e in trust.by_class] == ["everywhere"] * 3
    assert grades(trust) == ["cannot tell"] * 3
    assert "stain" in trust.answers["evidence"].text


def test_the_console_shows_examples_of_both_kinds(capsys, tmp_path):
    trust = examined(shortcut(), "tag")
    paths = tmp_path / "trust.json", tmp_path / "trust.html"
    print_trust(
        TrustResults((trust.to_json(),), "tags", "generated", *paths, "foveate trust"),
        as_json=False,
    )
    printed = capsys.readouterr().out
    tagged = {}
    for kind, share in zip("AB", trust.by_class[0]["answers"]["kinds"]["attended"], strict=True):
        [line] = [row for row in printed.splitlines() if f"kind {kind} of 'a'" in row]
        assert f"looked at in {100 * share:.0f} %" in line
        places = re.findall(r"bag (\d+), segment (\d+)", line)
        tagged[kind] = {bool(case_bags("tag").x[int(i), int(j), TAG] > 4) for i, j in places}
    assert sorted(tagged.values(), key=str) == [{False}, {True}]


def test_a_class_that_means_nothing_is_there_is_inferred():
    trust = examined(good(), "absent")
    presence = [e["answers"]["evidence"]["presence"] for e in trust.by_class]
    assert presence == ["some", "some", "nothing"]
    assert grades(trust)[2] == "cannot tell"
    assert trust.verdict.grade in ("trust", "trust with care")
    assert "nothing is there" in trust.by_class[2]["verdict"]["summary"]


def test_a_class_whose_marked_bags_hold_nothing_relevant_means_that_nothing_is_there():
    trust = examined(good(), "absent", known=True)
    assert [entry["absent"] for entry in trust.by_class] == [False, False, True]
    assert "marked" in trust.by_class[2]["verdict"]["summary"]
    few = np.arange(N) < 3 * 14  # 14 marked bags of each class are too few to tell
    trust = examine([good()] * 2, "soft", case_bags("absent"), CLASSES, known=few,
                    audited=audited("absent"), probe=False)  # fmt: skip
    assert not any(entry["absent"] for entry in trust.by_class)


def test_a_random_focus_gets_its_chance_level():
    model = linear_model([0.0, 0.0, 0.0, 0.0, 6.0], good().g.weight.tolist(), [0.0] * 3)
    trust = examined(model, "plain")
    for entry in trust.by_class:
        assert entry["estimate"] == pytest.approx(entry["chance"], abs=0.1)
        assert entry["chance"] == pytest.approx(1 / M, abs=0.05)
    assert trust.verdict.grade == "do not trust"


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


def test_weak_evidence_in_many_segments_is_no_clear_evidence():
    chance = torch.Generator().manual_seed(0)
    y = torch.arange(160) % 2
    x = torch.randn(160, 30, 3, generator=chance)
    z = torch.rand(160, 30, generator=chance).argsort(1) < 10
    x[..., 0] += 0.6 * z * (2 * y - 1)[:, None]
    bag = Bag(x, y, z)
    checked = audit([Bag(x, y)], 2)
    with torch.random.fork_rng(devices=[]):
        f, g = nn.Linear(3, 1), nn.Linear(3, 2)
    trust = examine(
        [FCAM(f, g)] * 2, "soft", Bag(bag.x, bag.y), ("a", "b"), audited=checked, probe=False
    )
    assert checked.cover.mean() > 0.7  # weak candidates add up to a seeming certainty
    assert trust.by_class[0]["answers"]["looks"]["clear"] < 0.6
    assert grades(trust) == ["cannot tell"] * 2
    assert "no clear evidence" in trust.by_class[0]["verdict"]["summary"]
    assert np.isnan(trust.score)


def test_attention_that_oscillates_at_the_end_of_training_is_not_trusted():
    calm, restless = (examined(good(), "plain", last_epochs=share) for share in (0.95, 0.4))
    assert calm.answers["stable"].mark == "good"
    assert restless.answers["stable"].mark == "bad"
    assert "60 % of bags" in restless.answers["stable"].text
    assert "trust" not in grades(restless)
    several = examined(good(), "several", last_epochs=0.4)  # the top may change among three
    assert several.answers["stable"].mark == "good"


def test_a_small_set_with_known_relevance_gets_its_exact_interval():
    bag = case_bags(n=12)
    trust = examine([good(), good()], "soft", bag, CLASSES, probe=False)
    entry = trust.by_class[0]
    assert entry["known"] == 4
    assert entry["measured"].low == pytest.approx(0.398, abs=0.001)
    assert any("4 of 4" in line for line in entry["verdict"]["why"])
    assert np.isnan(trust.score)


def test_cross_fitted_models_read_every_bag_once():
    bag, size = case_bags(), N // 2
    rows = [np.arange(size), np.arange(size, N)]
    inside = good()
    folds = CrossFitted([(as_subject([inside] * 2, "soft"), part) for part in rows])
    whole = as_subject([inside] * 2, "soft")
    np.testing.assert_allclose(folds.read([bag]).alpha, whole.read([bag]).alpha, atol=1e-6)
    checked = audit([bag], 3)
    first, second = (
        examine(s, "soft", bag, CLASSES, audited=checked, probe=False) for s in (folds, whole)
    )
    assert first.score == pytest.approx(second.score)
    assert first.by_class[0]["removal"] == pytest.approx(second.by_class[0]["removal"])
    assert first.bags == N
    with pytest.raises(FoveateError, match="every bag exactly once"):
        CrossFitted([(whole, rows[0]), (whole, rows[0])])


def test_a_fold_whose_models_look_elsewhere_is_enough_against_trust():
    bag, rows = case_bags(), np.array_split(np.arange(N), 4)
    lost = linear_model([0.0, 0.0, 0.0, 0.0, 6.0], good().g.weight.tolist(), [0.0] * 3)
    models = [good(), good(), good(), lost]
    folds = CrossFitted(
        [(as_subject([m] * 2, "soft"), part) for m, part in zip(models, rows, strict=True)]
    )
    for z in (None, bag.z):  # estimated and measured
        trust = examine(folds, "soft", Bag(bag.x, bag.y, z), CLASSES, audited=audited("plain"),
                        probe=False)  # fmt: skip
        for entry in trust.by_class:
            *others, last = entry["answers"]["stable"]["folds"]
            assert min(others) >= 0.7
            assert last < 0.4
            assert entry["worst_fold"].mean == last
            assert entry["verdict"]["grade"] != "trust"
        assert trust.answers["stable"].mark == "bad"
        assert "one fold" in trust.answers["stable"].text
    both = CrossFitted([(as_subject([good()] * 2, "soft"), part) for part in rows])
    trust = examine(both, "soft", bag, CLASSES, audited=audited("plain"), probe=False)
    assert trust.answers["stable"].mark == "good"
    assert "worst fold has FT" in trust.answers["stable"].text


def test_answers_that_need_more_than_the_attended_segments_are_not_trusted():
    """Every bag has a key without which the model answers the first class."""
    bag = case_bags()
    x = torch.where(bag.z[..., None], bag.x, 0.2 * bag.x)
    background = bag.z.float().argmin(1)
    x[torch.arange(N), background, 4] += 8
    weights = [[3.0, 0, 0, 0, 0.0], [0, 3.0, 0, 0, 6.0], [0, 0, 3.0, 0, 6.0]]
    model = linear_model([0.7, 0.7, 0.7, 0.0, 0.3], weights, [18.0, 0.0, 0.0])
    trust = examine([model] * 2, "soft", Bag(x, bag.y), CLASSES, probe=False)
    entry = trust.by_class[1]
    assert entry["accuracy"] > 0.6
    assert entry["keep_only"] < 0.5
    assert entry["verdict"]["grade"] != "trust"
    assert trust.answers["depends"].mark == "bad"


def test_a_set_of_usual_size_gets_a_verdict_out_of_fold():
    """As many bags as MUSK1 has: a fifth of them is too few, all of them by folds are enough."""
    bag = case_bags(n=92)
    bag = Bag(bag.x, bag.y)
    held_out = bag.take(slice(0, 18))
    assert judge_few(held_out).verdict.grade == "cannot tell"
    parts = np.array_split(np.arange(92), 5)
    folds = CrossFitted([(as_subject([good()] * 2, "soft"), rows) for rows in parts])
    trust = examine(folds, "soft", bag, CLASSES, probe=False)
    assert trust.bags == 92
    assert trust.verdict.grade in ("trust", "trust with care")


def judge_few(bag):
    return examine([good(), good()], "soft", bag, CLASSES, probe=False)


def test_of_equally_accurate_models_the_better_looking_one_is_named():
    one = replace(examined(good(), "plain"), paradigm="hard")
    other = replace(one, paradigm="soft", score=0.4, verdict=Verdict("do not trust", ""))
    [line] = compare([one, other], "soft")
    assert line.startswith("hard is as accurate")
    assert compare([one, other], "hard") == ()
    assert compare([one], "hard") == ()
    [line] = compare([other, replace(other, paradigm="lvml")], "soft")
    assert line == "None of the accurate models can be trusted (soft, lvml)."
    good_one = replace(one, evidence={**one.evidence, "accuracy": Interval(0.8, None, None)})
    [_, line] = compare([other, good_one], "soft")
    assert line == "hard has 'trust', but is less accurate (80 % against 94 %)."
