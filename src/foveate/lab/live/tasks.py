"""Tasks of the lab as bags, models and plans; sizes that a core trains in about a minute."""

from functools import partial
from typing import NamedTuple

from foveate.bags.bag import Bag
from foveate.data import DATASETS
from foveate.data.topic_words import topic_words
from foveate.errors import FoveateError
from foveate.lab.requests import TASKS, TrainJob
from foveate.models.focus import FCAM
from foveate.models.nets import pair
from foveate.text.models.word_attention import WordAttention, classifier
from foveate.training.plan import Plan
from foveate.training.stack import Build

__all__ = ["Prepared", "prepared"]

BAGS = 0  # the seed of the bags: members differ in their weights alone
TOPICS, PER_TOPIC, OTHER_TOPICS, OTHER_WORDS = (
    4,
    2,
    200,
    10,
)  # smaller than [lu21], to be seen in a minute


class Prepared(NamedTuple):
    """All that a training is made from; ``words`` names the ids of segments that are words."""

    build: Build
    train: Bag
    test: Bag
    classes: tuple[str, ...]
    plan: Plan
    words: tuple[str, ...] = ()


def prepared(job: TrainJob) -> Prepared:
    """Bags, untrained model and plan of a job."""
    return _sentences(job) if job.task == "topic-words" else _registered(job)


def _registered(job: TrainJob) -> Prepared:
    """A registered data set with the networks of its recipe."""
    data, task = DATASETS.get(job.task)(), TASKS[job.task]
    recipe = data.recipe
    train = data.load("train", n=task.n, m=recipe.m, seed=BAGS)
    test = data.load("test", n=task.n_test, m=recipe.m, seed=BAGS)
    plan = Plan(
        epochs=job.epochs,
        batch=min(recipe.batch, task.n),
        lr=recipe.lr,
        optimizer=recipe.optimizer,  # type: ignore[arg-type]
        every=1,
    )
    build = partial(_model, recipe.net, train.segment_shape, len(data.classes), job.map)
    return Prepared(build, train, test, data.classes, plan)


def _model(net: str, shape: tuple[int, ...], classes: int, map: str) -> FCAM:
    f, g, layer = pair(net, shape, classes)
    return FCAM(f, g, map, layer)


def _sentences(job: TrainJob) -> Prepared:
    """Topic words: keys and embeddings of words are what is learnt. [lu21] Sec. 3"""
    if job.map != "softmax":
        raise FoveateError(f"the model of topic words attends by softmax, got '{job.map}'")
    task = TASKS[job.task]
    sizes = {"m": OTHER_WORDS, "topics": TOPICS, "per_topic": PER_TOPIC, "others": OTHER_TOPICS}
    train = topic_words("train", n=task.n, seed=BAGS, **sizes)
    test = topic_words("test", n=task.n_test, seed=BAGS, **sizes)
    words = tuple(f"topic {k // PER_TOPIC}{'ab'[k % PER_TOPIC]}" for k in range(TOPICS * PER_TOPIC))
    words += tuple(f"w{k}" for k in range(OTHER_TOPICS))
    plan = Plan(epochs=job.epochs, batch=250, lr=0.01, optimizer="adam", every=1)
    return Prepared(
        partial(_word_model, len(words)),
        train,
        test,
        tuple(f"topic {k}" for k in range(TOPICS)),
        plan,
        words,
    )


def _word_model(words: int) -> WordAttention:
    return WordAttention(words, classifier("tc", 10, TOPICS), embedding_sd=0.1)
