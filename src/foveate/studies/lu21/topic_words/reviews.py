"""Word attention on film reviews: the highest-scored words, five words, one sentence. [lu21] 5"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from foveate.data.sst import SPLITS, UNKNOWN, Corpus, Texts, load_sst, make_corpus
from foveate.records.record import Array, Record
from foveate.studies.lu21.topic_words.gradient_descent import Descent, Measure, descend
from foveate.studies.lu21.topic_words.sentences import Sentences
from foveate.text.models.word_attention import Classifier, WordAttention, classifier
from foveate.types import StepProgress

__all__ = [
    "REVIEWS",
    "TOP",
    "TRACED_SENTENCE",
    "TRACKED_WORDS",
    "Reading",
    "Reviews",
    "made_up",
    "review_part",
    "word_facts",
]

TOP = 100  # highest-scored words looked at. [lu21] Sec. 5
TRACKED_WORDS = ("powerful", "stupid", "solid", "suffers", "mess")  # [lu21] Sec. 5
TRACED_SENTENCE = "a powerful sequel and one of the best films of the year"  # [lu21] Sec. 5


@dataclass(frozen=True)
class Reviews:
    """A setting on SST: its classes, classifier and embedding size. [lu21] Sec. 5"""

    label: str
    classes: Literal[2, 5]
    kind: Classifier
    embedding: int


REVIEWS = {
    "sst2-fc": Reviews("SST-2 FC", 2, "fc", 200),
    "sst2-tc": Reviews("SST-2 TC", 2, "tc", 100),
    "sst5-fc": Reviews("SST-5 FC", 5, "fc", 200),
    "sst5-tc": Reviews("SST-5 TC", 5, "tc", 100),
}


@dataclass(frozen=True)
class Reading:
    """Duration and rate of a training.

    Args:
        seeds: Number of trainings.
        lr: Learning rate.
        epochs: Epochs at most.
        patience: Epochs without a lower validation loss after which a training stops.
        every: Epochs between measurements.
        made_up: Whether synthetic sentences replace SST.
    """

    seeds: int
    lr: float
    epochs: int
    patience: int
    every: int
    made_up: bool


def review_part(
    reviews: Reviews, reading: Reading, checkpoint: Path, progress: StepProgress
) -> Record:
    """Train on one setting and return its record; embeddings start as on the synthetic task."""
    corpus = made_up(reviews.classes) if reading.made_up else load_sst(reviews.classes)
    seeds, size = range(reading.seeds), len(corpus.words)
    descent = Descent(
        lambda: WordAttention(
            size,
            classifier(reviews.kind, reviews.embedding, reviews.classes),
            embedding=reviews.embedding,
        ),
        [corpus.train] * reading.seeds,
        seeds=seeds,
        lr=reading.lr,
    )
    record = descend(
        descent,
        _measure(corpus, reading.seeds),
        epochs=reading.epochs,
        every=reading.every,
        patience=reading.patience,
        checkpoint=checkpoint,
        progress=progress,
    )
    facts = {
        "made_up": reading.made_up,
        "vocabulary": size - 1,
        "traced": [corpus.words[i] for i in corpus.ids(TRACED_SENTENCE)],
        "top_words": [[corpus.words[i] for i in row] for row in record.values["top"][-1]],
    }
    return replace(record, meta={**record.meta, **facts})


def _measure(corpus: Corpus, seeds: int) -> Measure:
    """What is recorded: losses, highest-scored words, followed words, the traced sentence."""
    count, purity, others = word_facts(corpus)
    tracked = [corpus.ids(word)[0] for word in TRACKED_WORDS]
    traced = corpus.ids(TRACED_SENTENCE)
    validation = Sentences([corpus.validation] * seeds)

    def measure(descent: Descent) -> dict[str, Array]:
        s, norm = descent.scores.double().numpy(), descent.norms.double().numpy()
        in_vocabulary = np.delete(np.arange(s.shape[1]), UNKNOWN)
        top = in_vocabulary[np.argsort(-s[:, in_vocabulary], axis=1, kind="stable")[:, :TOP]]
        held_out = descent.read(validation)
        return {
            "loss": descent.read(descent.train)["loss"],
            "validation_loss": held_out["loss"],
            "accuracy": held_out["accuracy"],
            "top": top,
            "top_s": np.take_along_axis(s, top, 1),
            "top_norm": np.take_along_axis(norm, top, 1),
            "top_purity": purity[top],
            "top_count": count[top],
            "top_m": others[top],
            "s": s[:, tracked],
            "norm": norm[:, tracked],
            "alpha": descent.scores[:, traced].softmax(-1).double().numpy(),
            "q_norm": descent.state["query"].norm(dim=-1).double().numpy(),
        }

    return measure


def word_facts(corpus: Corpus) -> tuple[Array, Array, Array]:
    """Sentences that hold each word, its purity, and the other words of such a sentence, all (W,).

    Purity is |p⁺ − p⁻|, shares of positive and negative sentences among those with the word; m is
    their mean length less one. Words of no training sentence get 0. [lu21] Sec. 5
    """
    bag = corpus.train
    assert bag.mask is not None
    sums = np.zeros((4, len(corpus.words)))  # sentences, positive, negative, summed length
    for row, mask, sentiment in zip(bag.index.numpy(), bag.mask.numpy(), corpus.tone, strict=True):
        sums[:, np.unique(row[mask])] += np.array(
            [[1], [sentiment > 0], [sentiment < 0], [mask.sum()]]
        )
    count = np.maximum(sums[0], 1)
    return sums[0], np.abs(sums[1] - sums[2]) / count, np.maximum(sums[3] / count - 1, 0)


def made_up(classes: Literal[2, 5], sentences: int = 90) -> Corpus:
    """Synthetic sentences, to test the training where SST's files are missing; not evidence.

    One polar word among neutral ones decides each label; the traced sentence comes first.
    """
    polar = {0: ("stupid", "mess"), 1: ("suffers",), 2: ("year",), 3: ("solid",), 4: ("powerful",)}

    def split(seed: int) -> Texts:
        rng = np.random.default_rng(seed)
        rows, labels = [TRACED_SENTENCE.split()], [4]
        for i in range(sentences):
            neutral = [f"word{k}" for k in rng.integers(150, size=rng.integers(4, 9))]
            rows.append([*neutral, str(rng.choice(polar[i % 5]))])
            labels.append(i % 5)
        return rows, np.array(labels)

    return make_corpus({name: split(i) for i, name in enumerate(SPLITS)}, classes)
