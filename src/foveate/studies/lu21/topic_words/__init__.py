"""Topic words: score and embedding norm rise together, on synthetic sentences and on SST. [lu21]"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

import torch
from pydantic import Field

from foveate.data.files.hub import is_available
from foveate.data.sst import HUB_ID
from foveate.data.topic_words import topic_words
from foveate.jobs.experiment import EXPERIMENTS, Records, Scale, Work
from foveate.records.published import Cell
from foveate.records.record import Array, Record
from foveate.settings import AtLeastTwo, Count, Positive, Settings
from foveate.studies.lu21.topic_words.gradient_descent import Descent, descend
from foveate.studies.lu21.topic_words.published import PUBLISHED, topic_word_cells
from foveate.studies.lu21.topic_words.reviews import REVIEWS, TOP, Reading, Reviews, review_part
from foveate.studies.lu21.topic_words.sentences import Sentences
from foveate.studies.published import Reproduction
from foveate.text.models.word_attention import Classifier, WordAttention, classifier
from foveate.types import StepProgress

__all__ = ["SYNTHETIC_RUNS", "SyntheticRun", "TopicWords", "TopicWordsSettings"]


class TopicWordsSettings(Settings):
    """Sizes of the task and lengths of the descents."""

    seeds: Count = 10  # the paper shows single runs
    n: Count = 3999  # [lu21] Sec. 5
    n_test: Count = 1000  # the paper has none; accuracy and attention are read on these
    m: Count = 20  # [lu21] Sec. 5: other words in a sentence
    topics: AtLeastTwo = 4  # [lu21] Sec. 5
    per_topic: Count = 2  # [lu21] Sec. 5
    others: Count = 5000  # [lu21] Sec. 5
    lr: Positive = 0.1  # [lu21] Sec. 5
    epochs: Count = 5000  # [lu21] Sec. 5
    ablation_epochs: Count = 6000  # [lu21] Sec. 5
    ablation_sd: Positive = 0.1  # [lu21] Sec. 5: embeddings at the start of the ablations
    limit_epochs: Count = 2000  # ours: steps divided by the loss, far beyond the paper's time
    every: Count = 50
    """Epochs between measurements."""
    sst_seeds: Annotated[int, Field(ge=0)] = 3
    """Trainings on SST; 0 leaves it out."""
    sst_made_up: bool = False
    """Sentences of our own in place of SST, to try the course out without its files."""
    sst_epochs: Count = 100_000  # an upper bound; the paper stops by validation loss alone
    sst_lr_fc: Positive = 0.1  # [lu21] Sec. 5
    sst_lr_tc: Positive = 0.1  # [lu21] Sec. 5
    sst_patience: Positive = 200.0  # [lu21] Sec. 5: 2,000 epochs at .1, as learning rate × epochs
    sst_every: Count = 100
    """Epochs between measurements on SST, and looks at its validation loss."""


@dataclass(frozen=True)
class SyntheticRun:
    """Differences of a model of the synthetic task from the default."""

    kind: Classifier
    frozen: tuple[str, ...] = ("query",)
    ablation: bool = False
    limit: bool = False


SYNTHETIC_RUNS = {
    "fc": SyntheticRun("fc"),
    "tc": SyntheticRun("tc"),
    "tl": SyntheticRun("tl"),
    "fc-query": SyntheticRun("fc", frozen=()),
    "fc-limit": SyntheticRun("fc", limit=True),
    "full": SyntheticRun("tc", ablation=True),
    "kf": SyntheticRun("tc", ("query", "keys"), ablation=True),
    "ef": SyntheticRun("tc", ("query", "embeddings"), ablation=True),
}


@EXPERIMENTS.register("topic-words")
class TopicWords(Reproduction):
    """The score–embedding-norm identity, its consequences, and its error on SST."""

    published = PUBLISHED
    about = "the identity between a topic word's score and embedding norm, on made-up text and SST"
    criteria: ClassVar[Mapping[str, str]] = {
        "lu21:C1": "With the query held, for each of FC, TC and TL and in every seed: the relative "
        "gap between ‖ν_t‖ and the norm the identity gives from the score is below 1 % for all "
        "topic words at the end, and below 2 % at every measurement once the score exceeds .1. "
        "Holds for all three classifiers, in part for some. (With a trained query the gap is "
        "measured and reported.)",
        "lu21:C2": "FC, in every seed: (a) gradient descent as published ends with a training loss "
        "below .05, and attention on the topic word (held-out sentences) is higher at the end than "
        "half-way; (b) since the approach is logarithmic in time, the same path is walked on with "
        "steps divided by the loss, and there attention ends above .95 with a loss below .05. "
        "Holds with both; in part with (a), or with attention above .5 in (b).",
        "lu21:C3": "The topic words' mean score, averaged over all epochs, is higher with FC than "
        "with TL and higher with TC than with TL, each with the 95 % interval of the difference "
        "over seeds above 0. Holds with both, in part with one.",
        "lu21:C4": "TC with embeddings N(0, .1²): epochs until the training loss is half of what "
        "it was at the start; with keys frozen (KF) and with embeddings frozen (EF) it takes more "
        "than in the full model, in every seed (never counts as one more than all epochs). Holds "
        "for both ablations, in part for one.",
        "lu21:C5": "In the full model of C4, within the first quarter of training, some topic word "
        "has a measurement at which its score is at least .005 below its start and its norm at "
        "least 1 % below its start. Holds if so in at least half of the seeds, in part if in any.",
        "lu21:C6": "On SST-2 and SST-5 with FC and TC, means over seeds: the purity |p⁺ − p⁻| of "
        f"the {TOP} highest-scored words, on average, is at least .05 higher at the end than at "
        "the first measurement after the start; and the median relative gap of the identity over "
        "these words at the end is below 10 %. Holds with both in all four settings, in part with "
        "both in some or with one of the two in all; no finding where SST's files are not there.",
    }
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": TopicWordsSettings(
            seeds=2,
            n=160,
            n_test=80,
            m=4,
            others=60,
            epochs=60,
            ablation_epochs=60,
            limit_epochs=60,
            every=5,
            sst_seeds=2,
            sst_made_up=True,
            sst_epochs=20,
            sst_every=5,
        ),
        "small": TopicWordsSettings(
            sst_seeds=5,
            sst_epochs=1200,
            sst_lr_fc=1.0,  # ten of the paper's epochs in one: larger steps along the same flow
            sst_lr_tc=4.0,  # forty in one
            sst_every=10,
        ),
        "paper": TopicWordsSettings(),
    }

    def parts(self, settings: TopicWordsSettings) -> Mapping[str, Work]:
        synthetic = {
            name: partial(_synthetic_part, settings, run) for name, run in SYNTHETIC_RUNS.items()
        }
        if not settings.sst_seeds or not (settings.sst_made_up or is_available("sst", HUB_ID)):
            return synthetic
        real = {n: partial(review_part, run, _reading(settings, run)) for n, run in REVIEWS.items()}
        return {**synthetic, **real}

    def cells(self, settings: TopicWordsSettings, records: Records) -> list[Cell]:
        return topic_word_cells(settings, records)

    def differs(self, settings: TopicWordsSettings, records: Records) -> list[str]:
        if (settings.sst_lr_fc, settings.sst_lr_tc) == (0.1, 0.1) or "sst2-fc" not in records:
            return []
        return [
            f"SST: learning rate {settings.sst_lr_fc:g} (FC) and {settings.sst_lr_tc:g} (TC) for "
            f"{settings.sst_epochs:,} epochs at most, in place of .1 and as many times more epochs."
        ]


def _reading(settings: TopicWordsSettings, reviews: Reviews) -> Reading:
    lr = settings.sst_lr_fc if reviews.kind == "fc" else settings.sst_lr_tc
    patience = max(1, round(settings.sst_patience / lr))
    return Reading(
        settings.sst_seeds,
        lr,
        settings.sst_epochs,
        patience,
        settings.sst_every,
        settings.sst_made_up,
    )


def _synthetic_part(
    settings: TopicWordsSettings, run: SyntheticRun, checkpoint: Path, progress: StepProgress
) -> Record:
    """Train one kind of model on synthetic sentences, a new set for every seed."""
    sizes = {
        "m": settings.m,
        "topics": settings.topics,
        "per_topic": settings.per_topic,
        "others": settings.others,
    }
    topic = settings.topics * settings.per_topic
    dtype = torch.float64 if run.limit else torch.float32
    test = Sentences(
        [topic_words("test", n=settings.n_test, seed=i, **sizes) for i in range(settings.seeds)],
        dtype,
    )
    descent = Descent(
        lambda: WordAttention(
            topic + settings.others,
            classifier(
                run.kind, 10, settings.topics
            ),  # [lu21] Sec. 5: key, embedding and query of 10
            frozen=run.frozen,
            embedding_sd=settings.ablation_sd if run.ablation else 1e-6,  # [lu21] Sec. 5
            query_sd=0.3,  # [lu21] Sec. 5
        ),
        [topic_words("train", n=settings.n, seed=i, **sizes) for i in range(settings.seeds)],
        seeds=range(settings.seeds),
        lr=settings.lr,
        by_loss=run.limit,
        dtype=dtype,
    )

    def measure(descent: Descent) -> dict[str, Array]:
        held_out = descent.read(test)
        return {
            "loss": descent.read(descent.train)["loss"],
            "accuracy": held_out["accuracy"],
            "a_z": held_out["a_z"],
            "s": descent.scores[:, :topic].double().numpy(),
            "norm": descent.norms[:, :topic].double().numpy(),
            "q_norm": descent.state["query"].norm(dim=-1).double().numpy(),
        }

    ordinary = settings.ablation_epochs if run.ablation else settings.epochs
    epochs = settings.limit_epochs if run.limit else ordinary
    # With steps divided by the loss much happens between two of them.
    every = max(1, settings.every // 10) if run.limit else settings.every
    return descend(
        descent, measure, epochs=epochs, every=every, checkpoint=checkpoint, progress=progress
    )
