"""Topic words: the descent against the one loop, the identity, and findings in both directions."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from foveate.data.sst import load_sst, make_corpus
from foveate.data.topic_words import sentences, topic_words
from foveate.dynamics.lu21 import embedding_norm
from foveate.errors import FoveateError
from foveate.experiments.runner import findings_of, start_experiment
from foveate.experiments.topic_words import MADE, TopicWords, TopicWordsSettings
from foveate.experiments.topic_words import reviews as review_module
from foveate.experiments.topic_words.curves import DRAWS, band
from foveate.experiments.topic_words.descent import Descent, cross_entropy, descend
from foveate.experiments.topic_words.findings import (
    NO_SST,
    epochs_to_half,
    fallen,
    identity_gap,
    sst_gap,
)
from foveate.experiments.topic_words.reviews import REVIEWS, TRACED, made_up, word_facts
from foveate.experiments.topic_words.sentences import Sentences
from foveate.figures.render import to_svg
from foveate.metrics.intervals import bootstrap
from foveate.models.topic import TABLES, WordAttention, classifier
from foveate.record import Record
from foveate.train import fit

SIZES = {"m": 3, "topics": 3, "per_topic": 1, "others": 12}
USE = TopicWordsSettings(seeds=4, m=20, epochs=1000, ablation_epochs=1000)


def build(kind: str = "tc", frozen: tuple[str, ...] = ("query",), sd: float = 0.5):
    return lambda: WordAttention(15, classifier(kind, 10, 3), frozen=frozen, embedding_sd=sd)


def bags(n: int = 30, **sizes) -> list:
    return [topic_words("train", n=n, seed=i, **{**SIZES, **sizes}) for i in range(2)]


# The descent


@pytest.mark.parametrize(
    ("kind", "frozen"),
    [
        ("fc", ("query",)),
        ("tc", ("query",)),
        ("tl", ("query",)),
        ("tl", ()),
        ("tc", ("query", "keys")),
        ("tc", ("query", "embeddings")),
    ],
)
def test_the_descent_is_the_one_loop_on_full_batches(kind: str, frozen: tuple[str, ...]) -> None:
    train, make = bags(), build(kind, frozen)
    usual = {"optimizer": "sgd", "momentum": 0.0, "batch": 30, "epochs": 7, "dtype": "float64"}
    record = fit(make, train, train, "soft", seeds=(3, 5), lr=0.8, **usual)
    own = Descent(make, train, seeds=(3, 5), lr=0.8, dtype=torch.float64)
    losses = torch.stack([own.step() for _ in range(7)])
    for name, expected in record.trained.tensors().items():
        torch.testing.assert_close(own.state[name], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(losses.T, record.final["losses"], rtol=1e-6)
    read = own.read(own.train)
    np.testing.assert_allclose(read["loss"], record.last("loss"), rtol=1e-9)
    np.testing.assert_allclose(read["accuracy"], record.last("accuracy"))
    np.testing.assert_allclose(read["a_z"], record.last("a_z"), rtol=1e-9)
    moved = {name for name in TABLES if not torch.equal(own.state[name], start(make, name))}
    assert moved == set(TABLES) - set(frozen)


def start(make, name: str) -> torch.Tensor:
    return Descent(make, bags(), seeds=(3, 5), lr=1.0, dtype=torch.float64).state[name]


def test_masked_words_are_not_counted() -> None:
    index = torch.tensor([[0, 1, 1], [2, 0, 0]])
    mask = torch.tensor([[True, True, True], [True, False, False]])
    text = Sentences([sentences(index, 4, torch.tensor([0, 1]), None, mask)])
    assert text.by_sentence.to_dense().tolist() == [[1, 2, 0, 0], [0, 0, 1, 0]]
    assert torch.equal(text.by_word.to_dense(), text.by_sentence.to_dense().T)


def test_cross_entropy_and_its_gradient(chance: torch.Generator) -> None:
    logits = torch.randn(2, 9, 4, generator=chance, dtype=torch.float64).requires_grad_()
    y = torch.randint(4, (2, 9), generator=chance)
    expected = torch.stack([torch.nn.functional.cross_entropy(logits[i], y[i]) for i in range(2)])
    loss, grad = cross_entropy(logits.detach(), y)
    torch.testing.assert_close(loss, expected.detach())
    torch.testing.assert_close(grad, torch.autograd.grad(expected.sum(), logits)[0])


def test_cross_entropy_keeps_its_digits_where_it_is_tiny() -> None:
    logits = torch.tensor([[[90.0, 0.0], [0.0, 60.0]]], dtype=torch.float64)
    loss, grad = cross_entropy(logits, torch.tensor([[0, 1]]))
    expected = np.exp([-90.0, -60.0])
    assert loss.item() == pytest.approx(expected.mean(), rel=1e-12)
    np.testing.assert_allclose(-grad[0, [0, 1], [0, 1]] * 2, expected, rtol=1e-12)


def gap_after(lr: float, time: float = 300.0) -> float:
    """Largest relative gap when the other words are held at nothing, as the identity assumes."""
    train = bags(n=60, m=20)
    own = Descent(build(sd=1e-6), train, seeds=(0, 1), lr=lr, dtype=torch.float64)
    for _ in range(round(time / lr)):
        own.step()
        own.state["embeddings"][:, 3:] = 0
        own.state["keys"][:, 3:] = 0
    s, norm = own.scores[:, :3].numpy(), own.norms[:, :3].numpy()
    assert s.min() > 0.5
    theory = embedding_norm(s, 20, own.state["query"].norm(dim=-1, keepdim=True).numpy())
    return float(np.abs(norm / theory - 1).max())


def test_the_identity_is_kept_to_first_order_in_the_step() -> None:
    coarse, middle, fine = (gap_after(lr) for lr in (2.0, 1.0, 0.5))
    assert fine < 0.01
    assert coarse / middle == pytest.approx(2, rel=0.15)
    assert middle / fine == pytest.approx(2, rel=0.1)


def test_steps_divided_by_the_loss_walk_the_same_path() -> None:
    train = [topic_words("train", n=60, seed=0, **{**SIZES, "m": 20})]
    plain = Descent(build("fc"), train, seeds=(0,), lr=0.2, dtype=torch.float64)
    quick = Descent(build("fc"), train, seeds=(0,), lr=0.05, by_loss=True, dtype=torch.float64)
    for _ in range(1500):
        plain.step()
    reached, steps = plain.read(plain.train), 0
    while quick.read(quick.train)["loss"][0] > reached["loss"][0]:
        quick.step()
        steps += 1
    assert reached["loss"][0] < 0.1
    assert 20 < steps < 4000
    assert quick.read(quick.train)["a_z"] == pytest.approx(reached["a_z"], abs=0.01)
    torch.testing.assert_close(quick.scores, plain.scores, atol=0.02, rtol=0)


def measure(now: Descent) -> Mapping[str, np.ndarray]:
    return {"loss": now.read(now.train)["loss"], "s": now.scores.double().numpy()}


def test_a_killed_descent_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    def run(checkpoint: Path | None, tell=None) -> Record:
        own = Descent(build("tl"), bags(), seeds=(0, 1), lr=0.5)
        use = {"epochs": 23, "every": 4, "checkpoint": checkpoint, "save_seconds": 0.0}
        return descend(own, measure, tell=tell, **use)

    def kill(done: int, total: int) -> None:
        if done == 12:
            raise KeyboardInterrupt

    whole, file = run(None), tmp_path / "checkpoint.safetensors"
    with pytest.raises(KeyboardInterrupt):
        run(file, kill)
    resumed = run(file)
    assert whole.t.tolist() == [0, 4, 8, 12, 16, 20, 23] == resumed.t.tolist()
    for name in whole.values:
        np.testing.assert_array_equal(whole.values[name], resumed.values[name])
    np.testing.assert_array_equal(whole.final["losses"], resumed.final["losses"])
    weights, again = whole.trained.tensors(), resumed.trained.tensors()
    assert all(torch.equal(weights[name], again[name]) for name in weights)


def test_patience_holds_one_member_and_ends_with_the_last() -> None:
    own = Descent(build(), bags(), seeds=(0, 1), lr=0.5)
    best = {0: 4, 1: 10}  # when each member's validation loss is lowest

    def rising(now: Descent) -> Mapping[str, np.ndarray]:
        t = len(seen) * 2
        seen.append(now.state["embeddings"].clone())
        return {"validation_loss": np.array([abs(t - best[i]) for i in range(2)], float)}

    seen: list[torch.Tensor] = []
    record = descend(own, rising, epochs=100, every=2, patience=6)
    assert record.t[-1] == 16  # six epochs after the second member's best
    assert torch.equal(seen[5][0], seen[-1][0])  # the first was held at 10
    assert not torch.equal(seen[4][0], seen[5][0])
    assert not torch.equal(seen[5][1], seen[-1][1])


# Reviews


def test_facts_of_words_by_hand() -> None:
    texts = {
        "train": (
            [["good", "fun"], ["good", "dull", "dull"], ["bad"], ["fun", "so", "so", "so"]],
            np.array([4, 1, 0, 2]),
        ),
        "validation": ([["good"]], np.array([4])),
        "test": ([["bad"]], np.array([0])),
    }
    corpus = make_corpus(texts, 5)
    count, purity, others = word_facts(corpus)
    facts = {w: (count[i], purity[i], others[i]) for i, w in enumerate(corpus.words)}
    assert facts["good"] == (2, 0, 1.5)  # once positive, once negative; lengths 2 and 3
    assert facts["fun"] == (2, 0.5, 2)  # positive and neutral; lengths 2 and 4
    assert facts["dull"] == (1, 1, 2)  # a sentence counts once
    assert facts["so"] == (1, 0, 3)
    assert facts["bad"] == (1, 1, 0)
    assert facts[""] == (0, 0, 0)


def test_the_stand_in_has_every_word_that_is_followed() -> None:
    for classes in (2, 5):
        corpus = made_up(classes)
        assert set(review_module.FOLLOWED) | set(TRACED.split()) <= set(corpus.words)
        assert len(corpus.train) == (91 if classes == 5 else 73)


@pytest.mark.data
def test_a_few_epochs_on_the_real_sst(tmp_path: Path) -> None:
    try:
        corpus = load_sst(2)
    except FoveateError:
        pytest.skip("FOVEATE_DATA has no sst")
    reading = review_module.Reading(1, 4.0, 40, 40, 20, made_up=False)
    record = review_module.review_part(
        REVIEWS["sst2-fc"], reading, tmp_path / "checkpoint", lambda done, total: None
    )
    assert record.meta["vocabulary"] == len(corpus.words) - 1 == 14779
    assert record.meta["traced"] == TRACED.split()
    assert record.last("loss")[0] < 0.6 < record.values["loss"][0, 0]
    assert record.last("accuracy")[0] > 0.7
    top = set(record.meta["top_words"][0])
    assert {"bad", "best", "moving", "dull"} <= top


# Findings


def made_records(use: TopicWordsSettings = USE) -> dict[str, Record]:
    """Records in which every claim holds."""
    t = np.linspace(0, 1000, 21)
    seeds, chance = use.seeds, np.random.default_rng(0)
    tau = (t / 1000)[:, None, None]
    noise = 1 + 0.01 * chance.random((seeds, 8))
    q_norm = np.ones((21, seeds))

    def record(height: float, half: int, **changes) -> Record:
        s = height * tau * noise
        values = {
            "s": s,
            "norm": embedding_norm(s, use.m, 1.0, 0.0, 1e-6),
            "q_norm": q_norm,
            "loss": 1.4 * 0.01 ** np.repeat(tau[..., 0], seeds, 1),
            "a_z": 0.05 + 0.9 * np.repeat(tau[..., 0], seeds, 1),
            "accuracy": np.ones((21, seeds)),
        }
        losses = np.where(np.arange(1000) < half, 1.4, 0.1)[None].repeat(seeds, 0)
        return Record(t, {**values, **changes}, {"losses": losses}, {"lr": 0.1})

    fall = 0.3 * tau * (tau - 0.3) * np.ones((seeds, 8))
    off = {"norm": 1.5 * embedding_norm(2 * tau * noise, use.m, 1.0)}
    far = {"a_z": np.full((21, seeds), 0.97), "loss": np.full((21, seeds), 1e-9)}
    return {
        "fc": record(3, 100),
        "tc": record(2, 100),
        "tl": record(1, 100),
        "fc-query": record(2, 100, **off),
        "fc-limit": record(3, 100, **far),
        "full": record(1, 200, s=fall, norm=0.3 + fall),
        "kf": record(1, 400),
        "ef": record(1, 2000),
        **{name: review_record() for name in REVIEWS},
    }


def review_record(rise: float = 0.3, gap: float = 0.05) -> Record:
    t, seeds, words = np.arange(0, 101, 10), 2, 100
    tau = (t / 100)[:, None, None] * np.ones((1, seeds, words))
    s, m = tau * np.linspace(0.5, 2, words), np.full(tau.shape, 17.0)
    values = {
        "top": np.zeros(tau.shape, int),
        "top_s": s,
        "top_m": m,
        "top_norm": embedding_norm(s, m, 1.0) / (1 - gap),
        "top_purity": 0.5 + rise * tau,
        "top_count": np.full(tau.shape, 9.0),
        "s": s[..., :5],
        "norm": s[..., :5],
        "alpha": np.full((len(t), seeds, 12), 1 / 12),
        "q_norm": np.ones((len(t), seeds)),
        "loss": 1 - 0.5 * tau[..., 0],
        "validation_loss": 1 - 0.5 * tau[..., 0],
        "accuracy": 0.5 + 0.3 * tau[..., 0],
    }
    meta = {"lr": 1.0, "traced": TRACED.split(), "made_up": False}
    return Record(t, values, {}, meta)


def changed(name: str, **values) -> dict[str, Record]:
    records = made_records()
    old = records[name]
    return {**records, name: replace(old, values={**old.values, **values})}


def verdicts(records: Mapping[str, Record]) -> dict[str, str]:
    return {f.claim[5:]: f.verdict for f in TopicWords().findings(USE, records)}


def test_all_claims_hold_in_records_made_so() -> None:
    records = made_records()
    found = TopicWords().findings(USE, records)
    assert [f.claim for f in found] == list(TopicWords.criteria)
    assert {f.verdict for f in found} == {"holds"}
    figures = TopicWords().figures(USE, records)
    for finding in found:
        assert finding.figure in figures
        assert finding.low <= finding.effect <= finding.high
        assert finding.said.endswith(".")


def test_a_gap_in_one_classifier_is_in_part_and_in_all_is_none() -> None:
    records = made_records()
    bad = {name: records[name].values["norm"] * 1.015 for name in ("fc", "tc", "tl")}
    assert verdicts(changed("tl", norm=bad["tl"]))["C1"] == "holds in part"
    for name in bad:
        records[name] = changed(name, norm=bad[name])[name]
    assert verdicts(records)["C1"] == "does not hold"


def test_a_gap_on_the_way_counts_once_the_score_is_seen() -> None:
    norm = made_records()["fc"].values["norm"].copy()
    norm[10] *= 1.03
    assert verdicts(changed("fc", norm=norm))["C1"] == "holds in part"
    norm = made_records()["tl"].values["norm"].copy()
    norm[1] *= 1.5  # the score is .05 there
    assert verdicts(changed("tl", norm=norm))["C1"] == "holds"


def test_convergence_in_both_directions() -> None:
    low, high = np.full((21, 4), 0.4), np.full((21, 4), 0.2)
    assert verdicts(changed("fc-limit", a_z=low))["C2"] == "holds in part"
    assert verdicts(changed("fc", loss=high))["C2"] == "holds in part"
    records = changed("fc", loss=high)
    records["fc-limit"] = changed("fc-limit", a_z=low)["fc-limit"]
    assert verdicts(records)["C2"] == "does not hold"


def test_capacity_in_both_directions() -> None:
    s = made_records()["tl"].values["s"]
    assert verdicts(changed("tl", s=2.5 * s))["C3"] == "holds in part"
    assert verdicts(changed("tl", s=4 * s))["C3"] == "does not hold"


def test_promotion_in_both_directions() -> None:
    def with_half(**half: int) -> str:
        records = made_records()
        for name, at in half.items():
            losses = np.where(np.arange(1000) < at, 1.4, 0.1)[None].repeat(4, 0)
            records[name] = replace(records[name], final={"losses": losses})
        return verdicts(records)["C4"]

    assert with_half(kf=150) == "holds in part"
    assert with_half(kf=150, ef=200) == "does not hold"
    never = replace(made_records()["kf"], final={"losses": np.full((4, 1000), 1.4)})
    assert epochs_to_half(never).tolist() == [1001.0] * 4


def test_suppression_in_both_directions() -> None:
    full = made_records()["full"].values
    s, norm = full["s"].copy(), full["norm"].copy()
    s[:, 1:] = norm[:, 1:] = 1
    assert verdicts(changed("full", s=s, norm=norm))["C5"] == "holds in part"
    assert verdicts(changed("full", norm=np.abs(full["s"]) + 0.3))["C5"] == "does not hold"
    late = np.where(np.arange(21)[:, None, None] > 5, full["s"] - 1, 0.0)
    assert not fallen(changed("full", s=late, norm=0.3 + late)["full"]).any()


def test_reviews_in_both_directions() -> None:
    records = made_records()
    assert sst_gap(records["sst2-fc"]) == pytest.approx(0.05)
    flat = {**records, "sst5-tc": review_record(rise=0.04)}
    assert verdicts(flat)["C6"] == "holds in part"
    wide = {**records, **{name: review_record(gap=0.2) for name in REVIEWS}}
    assert verdicts(wide)["C6"] == "holds in part"  # purer everywhere
    neither = {**records, **{name: review_record(0.0, 0.2) for name in REVIEWS}}
    assert verdicts(neither)["C6"] == "does not hold"


def test_without_sst_nothing_is_said_of_it_but_that() -> None:
    records = {name: made_records()[name] for name in MADE}
    found = TopicWords().findings(USE, records)
    assert "lu21:C6" not in {f.claim for f in found}
    assert found[0].said.endswith(NO_SST)
    assert set(TopicWords().figures(USE, records)) == {f.figure for f in found}


def test_parts_of_sst_need_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def parts(**changes) -> set[str]:
        return set(TopicWords().parts(USE.model_copy(update=changes)))

    monkeypatch.setenv("FOVEATE_DATA", str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    assert parts() == set(MADE)
    (tmp_path / "sst").mkdir()
    assert parts() == {*MADE, *REVIEWS}
    assert parts(sst_seeds=0) == set(MADE)


def test_the_gap_is_measured_from_each_start() -> None:
    s = np.array([[[0.2]], [[1.2]]])
    norm0 = 0.3
    norm = np.stack([np.full((1, 1), norm0), embedding_norm(1.2, 5, 0.7, 0.2, norm0)[None, None]])
    record = Record(np.arange(2), {"s": s, "norm": norm, "q_norm": np.full((2, 1), 0.7)})
    np.testing.assert_allclose(identity_gap(record, 5), 0, atol=1e-12)


# The whole


def test_smoke_runs_and_its_figures_draw(tmp_path: Path) -> None:
    run = start_experiment("topic-words", "smoke", out=tmp_path / "a")
    records = run.records()
    assert set(records) == {*MADE, *REVIEWS}
    found = findings_of(run)
    assert [f.claim for f in found] == list(TopicWords.criteria)
    assert found[-1].said.startswith("On made-up sentences")
    assert (records["kf"].values["s"] == 0).all()
    assert np.ptp(records["ef"].values["norm"], axis=0).max() == 0
    assert np.ptp(records["fc"].values["q_norm"], axis=0).max() == 0
    assert np.ptp(records["fc-query"].values["q_norm"], axis=0).min() > 1e-6
    last = records["fc"].values["s"][-1]
    assert np.abs(last[0] - last[1]).max() > 1e-6  # seeds differ
    use = TopicWords.scales["smoke"]
    for name, chart in TopicWords().figures(use, records).items():
        chart.to_dict()  # against the schema
        drawn = to_svg(chart)
        assert "<svg" in drawn
        assert "NaN" not in drawn, name
        assert chart.description


def test_a_band_is_the_bootstrap_of_every_time(chance: torch.Generator) -> None:
    values = torch.rand(3, 7, generator=chance).numpy()
    for row, *ends in zip(values, *band(values), strict=True):
        assert ends == pytest.approx(bootstrap(row, draws=DRAWS))
