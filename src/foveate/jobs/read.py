"""A reader trained on a user's texts: attention, word evidence and influence as it learns."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.records.record import Record
from foveate.text.batches import Batches
from foveate.text.corpora import LabelledTexts
from foveate.text.corpora.encoding import held_out
from foveate.text.loop import MemberTraining, built, follow, measurement_steps
from foveate.text.models.reader import Reader, label_log_odds
from foveate.text.probes.texts import influence, probe_texts
from foveate.text.tokens import MARKS, UNKNOWN, Tokens, Vocabulary, truncate
from foveate.types import Array, StepProgress

__all__ = [
    "Reading",
    "ReadingPlan",
    "SplitTexts",
    "example_rows",
    "frequent",
    "read_texts_job",
    "split_texts",
]

MAX_WORDS, MIN_WORDS = 120, 5  # most and fewest words of a text on the page, where possible


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
class SplitTexts:
    """Texts in two parts, and the held-out ones as they were written.

    Args:
        data: As the reader gets them, rare words unknown.
        written: The validation texts with all their words.
        words: All words.
        rows: The numbers of the validation texts among all texts, shape (n,).
    """

    data: LabelledTexts
    written: Tokens
    words: Vocabulary
    rows: Tensor


@dataclass(frozen=True)
class Reading:
    """A trained reader and what it does with held-out texts.

    Args:
        record: Accuracy over steps and, of some texts, α, β and Δ.
        model: The reader after the last step; None for a model from elsewhere.
        start: Where each held-out text begins, and N at the end, shape (n + 1,).
        values: ``alpha``, ``beta`` and ``delta`` of all held-out tokens at the end, (N,) each.
        accuracy: Share of held-out texts whose class is predicted.
        words: The words of all held-out tokens as written, N of them.
    """

    record: Record
    model: Reader | None
    start: Array
    values: Mapping[str, Array]
    accuracy: float
    words: list[str]


def split_texts(texts: LabelledTexts, share: float, least: int, seed: int) -> SplitTexts:
    """Hold out some texts; words that the others have less than ``least`` times are unknown.

    Args:
        texts: Texts that are all for training and whose words are all known.
        share: Share of texts to hold out.
        least: Words seen less often in training are unknown.
        seed: Decides which texts.
    """
    validation = held_out(len(texts.train), share, "own texts", seed)
    if not validation.any() or validation.all():
        raise FoveateError(f"{texts.about}: {len(validation)} texts are too few to hold some out")
    known, vocabulary = frequent(texts.train, texts.vocabulary, least, ~validation)
    data = replace(
        texts,
        train=known.take(~validation),
        y_train=texts.y_train[~validation],
        validation=known.take(validation),
        y_validation=texts.y_train[validation],
        vocabulary=vocabulary,
    )
    rows = validation.nonzero().flatten()
    return SplitTexts(data, texts.train.take(validation), texts.vocabulary, rows)


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
    occurrences = torch.bincount(counted.ids, minlength=len(vocabulary))
    chosen = (occurrences >= max(1, least)).nonzero().flatten()
    chosen = chosen[chosen >= len(MARKS)]
    number = torch.full((len(vocabulary),), UNKNOWN)
    number[chosen] = torch.arange(len(chosen)) + len(MARKS)
    return Tokens(number[tokens.ids], tokens.start), Vocabulary(vocabulary.decode(chosen.tolist()))


def read_texts_job(
    texts: SplitTexts,
    plan: ReadingPlan,
    report: StepProgress = lambda _done, _total: None,
) -> Reading:
    """Train the paper's classifier and read held-out texts at 0, 25, 50, 100, … steps.

    Args:
        texts: Texts of two or more classes.
        plan: Sizes.
        report: Called as ``report(steps done, steps in all)``.

    Returns:
        The reader, α, β and Δ of all held-out texts at the end, and a record with ``accuracy`` of
        held-out texts and, of the texts on the page, ``logit`` (T, 1, n, …) and ``alpha``, ``beta``
        and ``delta`` of all their words (T, 1, N); its ``meta`` has their words.
    """
    data = texts.data
    if len(data.y_train.unique()) < 2:
        raise FoveateError(f"{data.about}: two classes are needed among the texts to learn from")
    to_read, written = (truncate(part, plan.longest) for part in (data.validation, texts.written))
    rows = example_rows(to_read, data.y_validation, plan)
    make = partial(
        Reader,
        len(data.vocabulary),
        embedding=plan.embedding,
        d=plan.d,
        classes=len(data.classes),
    )
    model: Reader = built(make, "own texts", plan.seed)  # type: ignore[assignment]
    record = follow(
        [partial(_course, model, data, plan, to_read, rows)],
        measurement_steps(plan.steps),
        report=report,
    )
    examples = [
        {
            "tokens": texts.words.decode(written[row]),
            "label": int(data.y_validation[row]),
            "row": int(texts.rows[row]),
        }
        for row in rows.tolist()
    ]
    meta = {"classes": list(data.classes), "texts": examples, "plan": asdict(plan), **data.counts}
    probes = probe_texts(model, to_read, data.y_validation)
    delta = influence(model, to_read, data.y_validation)
    return Reading(
        Record(record.t, record.values, record.final, meta),
        model,
        probes.start,
        {"alpha": probes.alpha, "beta": probes.beta, "delta": delta},
        float(probes.right.mean()),
        texts.words.decode(written.ids.tolist()),
    )


def example_rows(texts: Tokens, y: Tensor, plan: ReadingPlan) -> Tensor:
    """Rows of the texts on the page: classes alternate, of readable length where possible.

    Args:
        texts: Held-out texts.
        y: Their labels, shape (n,).
        plan: How many, and the seed that decides which.
    """
    classes = range(max(2, int(y.max()) + 1))
    order = torch.randperm(len(texts), generator=generator("shown texts", plan.seed))
    lengths = texts.lengths[order]
    unsuitable = ((lengths > MAX_WORDS) | (lengths < MIN_WORDS)).long()
    order = order[unsuitable.argsort(stable=True)]
    ranks = torch.cat([torch.arange(int((y == c).sum())) * len(classes) + c for c in classes])
    by_class = torch.cat([order[y[order] == c] for c in classes])
    return by_class[ranks.argsort()][: plan.shown]


def _course(
    model: Reader, data: LabelledTexts, plan: ReadingPlan, to_read: Tokens, rows: Tensor
) -> MemberTraining:
    train = truncate(data.train, plan.longest)
    stream = Batches(train, data.y_train, plan.batch, "own texts", plan.seed)
    sample = torch.randperm(len(to_read), generator=generator("measured texts", plan.seed))
    sample = sample[: plan.measured]
    examples, labels = to_read.take(rows), data.y_validation[rows]

    def loss(step: int) -> Tensor:
        ids, mask, y = stream.at(step)
        return torch.nn.functional.softplus(-label_log_odds(model(ids, mask).logit, y)).mean()

    def measure(_step: int) -> dict[str, Array]:
        probes = probe_texts(model, examples, labels)
        measured = probe_texts(model, to_read.take(sample), data.y_validation[sample])
        return {
            "accuracy": np.asarray(measured.right.mean()),
            "logit": probes.logit,
            "alpha": probes.alpha,
            "beta": probes.beta,
            "delta": influence(model, examples, labels),
        }

    return MemberTraining(model, loss, measure, plan.lr)
