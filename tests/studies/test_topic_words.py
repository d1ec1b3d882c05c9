"""Topic words: the descent against the one loop, the identity, words of reviews, a smoke run."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch

from foveate.charts.render import to_svg
from foveate.data.sst import load_sst, make_corpus
from foveate.data.topic_words import sentences, topic_words
from foveate.dynamics.lu21 import embedding_norm
from foveate.errors import FoveateError
from foveate.jobs.experiment import findings_of, start_experiment
from foveate.metrics.intervals import mean_interval
from foveate.records.record import Record
from foveate.studies.lu21.topic_words import SYNTHETIC_RUNS, TopicWords
from foveate.studies.lu21.topic_words import reviews as review_module
from foveate.studies.lu21.topic_words.curves import band
from foveate.studies.lu21.topic_words.gradient_descent import Descent, cross_entropy, descend
from foveate.studies.lu21.topic_words.reviews import REVIEWS, TRACED_SENTENCE, made_up, word_facts
from foveate.studies.lu21.topic_words.sentences import Sentences
from foveate.text.models.word_attention import TABLES, WordAttention, classifier
from foveate.training.loop import fit

SIZES = {"m": 3, "topics": 3, "per_topic": 1, "others": 12}


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
    descent = Descent(make, train, seeds=(3, 5), lr=0.8, dtype=torch.float64)
    losses = torch.stack([descent.step() for _ in range(7)])
    for name, expected in record.trained.tensors().items():
        torch.testing.assert_close(descent.state[name], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(losses.T, record.final["losses"], rtol=1e-6)
    read = descent.read(descent.train)
    np.testing.assert_allclose(read["loss"], record.last("loss"), rtol=1e-9)
    np.testing.assert_allclose(read["accuracy"], record.last("accuracy"))
    np.testing.assert_allclose(read["a_z"], record.last("a_z"), rtol=1e-9)
    moved = {name for name in TABLES if not torch.equal(descent.state[name], start(make, name))}
    assert moved == set(TABLES) - set(frozen)


def start(make, name: str) -> torch.Tensor:
    return Descent(make, bags(), seeds=(3, 5), lr=1.0, dtype=torch.float64).state[name]


def test_masked_words_are_not_counted() -> None:
    index = torch.tensor([[0, 1, 1], [2, 0, 0]])
    mask = torch.tensor([[True, True, True], [True, False, False]])
    text = Sentences([sentences(index, 4, torch.tensor([0, 1]), None, mask)])
    assert text.by_sentence.to_dense().tolist() == [[1, 2, 0, 0], [0, 0, 1, 0]]
    assert torch.equal(text.by_word.to_dense(), text.by_sentence.to_dense().T)


def test_cross_entropy_and_its_gradient(rng: torch.Generator) -> None:
    logits = torch.randn(2, 9, 4, generator=rng, dtype=torch.float64).requires_grad_()
    y = torch.randint(4, (2, 9), generator=rng)
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
    descent = Descent(build(sd=1e-6), train, seeds=(0, 1), lr=lr, dtype=torch.float64)
    for _ in range(round(time / lr)):
        descent.step()
        descent.state["embeddings"][:, 3:] = 0
        descent.state["keys"][:, 3:] = 0
    s, norm = descent.scores[:, :3].numpy(), descent.norms[:, :3].numpy()
    assert s.min() > 0.5
    theory = embedding_norm(s, 20, descent.state["query"].norm(dim=-1, keepdim=True).numpy())
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


def test_a_killed_descent_resumes_to_the_same_bits(tmp_path: Path) -> None:
    def run(checkpoint: Path | None, progress=None) -> Record:
        descent = Descent(build("tl"), bags(), seeds=(0, 1), lr=0.5)
        settings = {"epochs": 23, "every": 4, "checkpoint": checkpoint, "save_seconds": 0.0}
        return descend(descent, measure, progress=progress, **settings)

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


def test_early_stopping_freezes_one_member_and_ends_with_the_last() -> None:
    descent = Descent(build(), bags(), seeds=(0, 1), lr=0.5)
    best = {0: 4, 1: 10}  # when each member's validation loss is lowest

    def rising(now: Descent) -> Mapping[str, np.ndarray]:
        t = len(seen) * 2
        seen.append(now.state["embeddings"].clone())
        return {"validation_loss": np.array([abs(t - best[i]) for i in range(2)], float)}

    seen: list[torch.Tensor] = []
    record = descend(descent, rising, epochs=100, every=2, patience=6)
    assert record.t[-1] == 16  # six epochs after the second member's best
    assert torch.equal(seen[5][0], seen[-1][0])  # the first was held at 10
    assert not torch.equal(seen[4][0], seen[5][0])
    assert not torch.equal(seen[5][1], seen[-1][1])


# Reviews


def test_facts_of_words_matches_manual_computation() -> None:
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


def test_the_synthetic_reviews_contain_every_tracked_word() -> None:
    for classes in (2, 5):
        corpus = made_up(classes)
        assert set(review_module.TRACKED_WORDS) | set(TRACED_SENTENCE.split()) <= set(corpus.words)
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
    assert record.meta["traced"] == TRACED_SENTENCE.split()
    assert record.last("loss")[0] < 0.6 < record.values["loss"][0, 0]
    assert record.last("accuracy")[0] > 0.7
    top = set(record.meta["top_words"][0])
    assert {"bad", "best", "moving", "dull"} <= top


# The whole


def test_smoke_runs_and_its_figures_draw(tmp_path: Path) -> None:
    run = start_experiment("topic-words", "smoke", out=tmp_path / "a")
    records = run.records()
    assert set(records) == {*SYNTHETIC_RUNS, *REVIEWS}
    result = findings_of(run)
    assert [f.claim for f in result] == list(TopicWords.criteria)
    assert result[-1].summary.startswith("On made-up sentences")
    assert (records["kf"].values["s"] == 0).all()
    assert np.ptp(records["ef"].values["norm"], axis=0).max() == 0
    assert np.ptp(records["fc"].values["q_norm"], axis=0).max() == 0
    assert np.ptp(records["fc-query"].values["q_norm"], axis=0).min() > 1e-6
    last = records["fc"].values["s"][-1]
    assert np.abs(last[0] - last[1]).max() > 1e-6  # seeds differ
    settings = TopicWords.scales["smoke"]
    for name, chart in TopicWords().figures(settings, records).items():
        chart.to_dict()  # against the schema
        drawn = to_svg(chart)
        assert "<svg" in drawn
        assert "NaN" not in drawn, name
        assert chart.description


def test_a_band_is_the_interval_of_every_time(rng: torch.Generator) -> None:
    values = torch.rand(3, 7, generator=rng).numpy()
    for row, *ends in zip(values, *band(values), strict=True):
        assert ends == pytest.approx(mean_interval(row))
