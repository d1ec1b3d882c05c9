"""Read labelled texts with a classifier of the transformers library, without training it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from foveate.errors import FoveateError
from foveate.jobs.read import Reading, ReadingPlan, example_rows
from foveate.records.record import Record
from foveate.text.corpora import LabelledTexts
from foveate.text.tokens import truncate
from foveate.types import Array, StepProgress

if TYPE_CHECKING:
    from foveate.text.transformers.encoder import TextEncoder

__all__ = ["check_untrained", "read_with_transformer"]

TOGETHER = 8  # texts whose words are forced together


def read_with_transformer(
    data: LabelledTexts,
    encoder: "TextEncoder",
    order: Sequence[int],
    plan: ReadingPlan,
    report: StepProgress = lambda _done, _total: None,
) -> Reading:
    """α, β and Δ of every word of every text.

    β is the probability of the label with all attention on the word, in all layers and heads; where
    the mean over words is classified, that of the word as a text of its own.

    Args:
        data: Texts that are all in the training part.
        encoder: The model.
        order: The model's number of every class.
        plan: How long texts may be, and how many are on the page.
        report: Called as ``report(texts done, texts in all)``.
    """
    tokens, y = truncate(data.train, plan.longest), data.y_train
    texts = [data.vocabulary.decode(tokens[i]) for i in range(len(tokens))]
    columns = np.asarray(order)
    read = encoder.read(texts)
    p = read.p[:, columns]
    values: dict[str, list[Array]] = {"alpha": read.alpha, "beta": [], "delta": []}
    label_scores = columns[y.numpy()]
    for start in range(0, len(texts), TOGETHER):
        rows = range(start, min(start + TOGETHER, len(texts)))
        subset = [texts[i] for i in rows]
        values["beta"] += _evidence(encoder, subset, label_scores[rows.start : rows.stop])
        values["delta"] += encoder.influence(subset, label_scores[rows.start : rows.stop].tolist())
        report(rows.stop, len(texts))
    right = p.argmax(1) == y.numpy()
    example_numbers = example_rows(tokens, y, plan)
    examples = [
        {"tokens": texts[i], "label": int(y[i]), "row": i} for i in example_numbers.tolist()
    ]
    meta = {"classes": list(data.classes), "texts": examples, "plan": {"longest": plan.longest}}
    per_text = {
        name: np.concatenate([rows[i] for i in example_numbers.tolist()])[None, None]
        for name, rows in values.items()
    }
    logit = np.log(np.maximum(p[example_numbers.numpy()], 1e-300))[None, None]
    accuracy = np.full((1, 1), right.mean())
    record = Record(np.zeros(1, int), {**per_text, "logit": logit, "accuracy": accuracy}, {}, meta)
    return Reading(
        record,
        None,
        tokens.start.numpy(),
        {name: np.concatenate(rows) for name, rows in values.items()},
        float(right.mean()),
        [word for text in texts for word in text],
    )


def _evidence(encoder: "TextEncoder", texts: Sequence[Sequence[str]], y: Array) -> list[Array]:
    """β of every word of some texts."""
    if encoder.forceable:
        copies = [text for text in texts for _ in text]
        one_hot = [row for text in texts for row in np.eye(len(text))]
        p = encoder.forced(copies, one_hot)
    else:
        p = encoder.read([[word] for text in texts for word in text]).p
    lengths = [len(text) for text in texts]
    label_p = p[np.arange(len(p)), np.repeat(y, lengths)]
    return np.split(label_p, np.cumsum(lengths)[:-1])


def check_untrained(plan: ReadingPlan) -> None:
    """Refuse settings of training for a model that is read as it is."""
    usual = ReadingPlan(longest=plan.longest, shown=plan.shown, seed=plan.seed)
    for name in ("steps", "embedding", "d", "batch", "lr"):
        if getattr(plan, name) != getattr(usual, name):
            raise FoveateError(f"--{name} is for training; --model is read as it is")
