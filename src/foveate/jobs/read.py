"""A reader trained on a user's own texts, and what it looks at in held-out ones as it learns."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.records.record import Array, Record
from foveate.text.batches import Batches
from foveate.text.corpora import LabelledTexts
from foveate.text.corpora.encoding import held_out
from foveate.text.loop import Course, built, follow, measurement_steps
from foveate.text.models.reader import Reader, signed
from foveate.text.probes.texts import influence, probe_texts
from foveate.text.tokens import MARKS, UNKNOWN, Tokens, Vocabulary, truncate

__all__ = ["OwnTexts", "ReadingPlan", "chosen", "frequent", "parted", "read_texts_job"]

READABLE = 120  # words to a shown text, where there are such
FEWEST = 5


@dataclass(frozen=True)
class ReadingPlan:
    """Sizes of the reader, and how it is trained and shown.

    Args:
        steps: Steps of training.
        embedding: Size of an embedding. [snell21]: 300
        d: Size of a state in each direction. [snell21]: 256
        batch: Texts to a step.
        lr: Learning rate of Adam.
        longest: Texts are cut after so many words.
        shown: Number of held-out texts to show.
        measured: Number of held-out texts that accuracy is measured on.
        seed: Decides weights, order and what is shown.
    """

    steps: int = 400
    embedding: int = 64
    d: int = 64
    batch: int = 32
    lr: float = 2e-3
    longest: int = 400
    shown: int = 8
    measured: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("steps", "embedding", "d", "batch", "longest", "shown", "measured"):
            if getattr(self, name) < 1:
                raise FoveateError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.lr > 0:
            raise FoveateError(f"lr must be above 0, got {self.lr}")


@dataclass(frozen=True)
class OwnTexts:
    """Texts in two parts, and the held-out ones as they were written.

    Args:
        data: As the reader sees them, rare words unknown.
        written: The validation texts with all their words.
        words: All words.
    """

    data: LabelledTexts
    written: Tokens
    words: Vocabulary


def parted(texts: LabelledTexts, share: float, least: int, seed: int) -> OwnTexts:
    """Hold some texts out, and make unknown what the others have less than ``least`` times.

    Args:
        texts: Texts that are all for training and whose words are all known.
        share: Share of texts to hold out.
        least: Words seen less often in training are unknown.
        seed: Decides which texts.
    """
    held = held_out(len(texts.train), share, "own texts", seed)
    if not held.any() or held.all():
        raise FoveateError(f"{texts.about}: {len(held)} texts are too few to hold some out")
    known, vocabulary = frequent(texts.train, texts.vocabulary, least, ~held)
    data = replace(
        texts,
        train=known.take(~held),
        y_train=texts.y_train[~held],
        validation=known.take(held),
        y_validation=texts.y_train[held],
        vocabulary=vocabulary,
    )
    return OwnTexts(data, texts.train.take(held), texts.vocabulary)


def frequent(
    tokens: Tokens, vocabulary: Vocabulary, least: int, train: Tensor | None = None
) -> tuple[Tokens, Vocabulary]:
    """The texts by the ids of frequent words; others are unknown.

    Args:
        tokens: Texts.
        vocabulary: Their words.
        least: Occurrences that make a word frequent.
        train: Which texts are counted, shape (n,); all unless given.

    Example:
        >>> tokens, words = frequent(Tokens.of([[5, 4, 5]]), Vocabulary(["a", "b"]), 2)
        >>> tokens[0], words.words[-1]
        ([4, 1, 4], 'b')
    """
    counted = tokens if train is None else tokens.take(train)
    seen = torch.bincount(counted.ids, minlength=len(vocabulary))
    kept = (seen >= max(1, least)).nonzero().flatten()
    kept = kept[kept >= len(MARKS)]
    number = torch.full((len(vocabulary),), UNKNOWN)
    number[kept] = torch.arange(len(kept)) + len(MARKS)
    return Tokens(number[tokens.ids], tokens.start), Vocabulary(vocabulary.decode(kept.tolist()))


def read_texts_job(
    texts: OwnTexts,
    plan: ReadingPlan,
    report: Callable[[int, int], None] = lambda _done, _total: None,
) -> Record:
    """Train the paper's classifier and read held-out texts at 0, 25, 50, 100, … steps.

    Args:
        texts: Texts of two classes.
        plan: Sizes.
        report: Called as ``report(steps done, steps in all)``.

    Returns:
        A record with ``accuracy`` of held-out texts and, of the shown ones, ``logit`` (T, 1, n) and
        ``alpha``, ``beta`` and ``delta`` of all their words (T, 1, N); ``meta`` has their words.
    """
    data = texts.data
    if len(data.classes) != 2:
        raise FoveateError(
            f"{data.about}: a reader tells two classes apart, there are {len(data.classes)}: "
            f"{', '.join(data.classes[:6])}"
        )
    if len(data.y_train.unique()) < 2:
        raise FoveateError(f"{data.about}: two classes are needed among the texts to learn from")
    to_read, written = (truncate(part, plan.longest) for part in (data.validation, texts.written))
    rows = chosen(to_read, data.y_validation, plan)
    record = follow(
        [partial(_course, data, plan, to_read, rows)], measurement_steps(plan.steps), report=report
    )
    shown = [
        {"tokens": texts.words.decode(written[row]), "label": int(data.y_validation[row])}
        for row in rows.tolist()
    ]
    meta = {"classes": list(data.classes), "texts": shown, "plan": asdict(plan), **data.counts}
    return Record(record.t, record.values, record.final, meta)


def chosen(texts: Tokens, y: Tensor, plan: ReadingPlan) -> Tensor:
    """Rows of the texts to show: the two classes in turn, of readable length where there are such.

    Args:
        texts: Held-out texts.
        y: Their labels 0 or 1, shape (n,).
        plan: How many, and the seed that decides which.
    """
    order = torch.randperm(len(texts), generator=generator("shown texts", plan.seed))
    lengths = texts.lengths[order]
    odd = ((lengths > READABLE) | (lengths < FEWEST)).long()
    order = order[odd.argsort(stable=True)]
    turns = torch.cat([torch.arange(int((y == c).sum())) * 2 + c for c in (0, 1)])
    by_class = torch.cat([order[y[order] == c] for c in (0, 1)])
    return by_class[turns.argsort()][: plan.shown]


def _course(data: LabelledTexts, plan: ReadingPlan, to_read: Tokens, rows: Tensor) -> Course:
    make = partial(Reader, len(data.vocabulary), embedding=plan.embedding, d=plan.d)
    model: Reader = built(make, "own texts", plan.seed)  # type: ignore[assignment]
    train = truncate(data.train, plan.longest)
    stream = Batches(train, data.y_train, plan.batch, "own texts", plan.seed)
    some = torch.randperm(len(to_read), generator=generator("measured texts", plan.seed))
    some = some[: plan.measured]
    shown, y_shown = to_read.take(rows), data.y_validation[rows]

    def loss(step: int) -> Tensor:
        ids, mask, y = stream.at(step)
        return torch.nn.functional.softplus(-signed(model(ids, mask).logit, y)).mean()

    def measure(_step: int) -> dict[str, Array]:
        probes = probe_texts(model, shown, y_shown)
        reached = probe_texts(model, to_read.take(some), data.y_validation[some])
        return {
            "accuracy": np.asarray(reached.right.mean()),
            "logit": probes.logit,
            "alpha": probes.alpha,
            "beta": probes.beta,
            "delta": influence(model, shown, y_shown),
        }

    return Course(model, loss, measure, plan.lr)
