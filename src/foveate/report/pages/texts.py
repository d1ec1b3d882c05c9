"""A page of texts whose words are shaded by α, β and Δ, side by side, over training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foveate.errors import FoveateError
from foveate.records.record import Array, Record
from foveate.report.first_screen import LEVELS, RIGHT, WRONG
from foveate.report.next_steps import Step
from foveate.report.rendering import page_writer, render_page

__all__ = ["ShadedText", "texts_of", "texts_page", "write_texts_page"]

LONGEST = 400  # words of a text that are shown
FIRST = 2  # texts above the results

VIEWS = (
    {
        "key": "alpha",
        "name": "α, attention",
        "kind": "look",
        "stops": ((0, "0"), (10, "0.01"), (32, "0.1"), (71, "0.5"), (100, "1")),
        "scale": "(opacity is the square root of α)",
    },
    {
        "key": "beta",
        "name": "β, what the position says by itself",
        "kind": "sign",
        "stops": ((-100, "0"), (-50, "¼"), (0, "½"), (50, "¾"), (100, "1")),
        "scale": "probability of the label",
    },
    {
        "key": "delta",
        "name": "Δ, what moves the model",
        "kind": "sign",
        "stops": ((-100, "against"), (0, "0"), (100, "for the label")),
        "scale": "relative to the largest |Δ| of the text at the step",
    },
)


@dataclass(frozen=True)
class ShadedText:
    """A text and what a model made of it, at every step.

    Args:
        tokens: Its words.
        label: Its true class.
        says: What the model says of it at each step, in words, S of them.
        alpha: Attention, shape (S, L).
        beta: Probability of the label at each position by itself, shape (S, L).
        delta: Gradient influence on the label, shape (S, L).
        outcome: Right or Wrong at the last step; empty where it is not known.
        row: The row of the text in its file, from 0.
    """

    tokens: Sequence[str]
    label: str
    says: Sequence[str]
    alpha: Array
    beta: Array
    delta: Array
    outcome: str = ""
    row: int | None = None


def texts_page(
    texts: Sequence[ShadedText],
    captions: Sequence[str],
    *,
    title: str,
    lead: str,
    results: Sequence[tuple[str, str, str]] = (),
    steps: Sequence[Step] = (),
    setup: Mapping[str, str] | None = None,
    command: str = "",
) -> str:
    """Texts in three shades side by side, with a slider over the steps where there are several.

    Args:
        texts: What to show, one at least.
        captions: What each of the S steps is called, such as "step 100, accuracy 81 %".
        title: Heading of the page.
        lead: What it shows, in a sentence.
        results: Rows of name, value and meaning.
        steps: What to do next.
        setup: How it was made, by name.
        command: The command that repeats it.
    """
    if not texts or not captions:
        raise FoveateError("a page of texts needs a text and a step")
    arrays = [_text_arrays(text, len(captions), number) for number, text in enumerate(texts, 1)]
    return render_page(
        "texts.html",
        title=title,
        lead=lead,
        views=VIEWS,
        first=FIRST,
        results=results,
        steps=steps,
        texts=[
            {
                "tokens": list(text.tokens[:LONGEST]),
                "left_out": max(0, len(text.tokens) - LONGEST),
                "label": text.label,
                "outcome": text.outcome,
                "level": LEVELS.get(text.outcome, ""),
                "row": text.row,
                "says": text.says[-1],
                "levels": {key: level[-1].tolist() for key, level in levels.items()},
            }
            for text, levels in zip(texts, arrays, strict=True)
        ],
        frames={
            "captions": list(captions),
            "levels": np.concatenate(
                [levels[str(view["key"])] for levels in arrays for view in VIEWS], 1
            ).tolist(),
            "says": [[text.says[k] for text in texts] for k in range(len(captions))],
        },
        setup=setup or {},
        command=command,
    )


write_texts_page = page_writer(texts_page)


def texts_of(record: Record) -> tuple[list[ShadedText], list[str]]:
    """Texts and captions of the record of a reader (:mod:`foveate.jobs.read`).

    A text that is answered right and one that is answered wrong come first.
    """
    classes, texts = record.meta["classes"], []
    ends = np.cumsum([len(text["tokens"]) for text in record.meta["texts"]])
    for number, text in enumerate(record.meta["texts"]):
        tokens = slice(int(ends[number]) - len(text["tokens"]), int(ends[number]))
        alpha, beta, delta = (
            record.values[name][:, 0, tokens] for name in ("alpha", "beta", "delta")
        )
        p = _probabilities(record.values["logit"][:, 0, number])
        says = [_answer_text(classes, text["label"], step) for step in p]
        outcome = RIGHT if int(p[-1].argmax()) == text["label"] else WRONG
        label, row = classes[text["label"]], text.get("row")
        texts.append(ShadedText(text["tokens"], label, says, alpha, beta, delta, outcome, row))
    texts = _one_of_each_outcome_first(texts)
    reached = record.values["accuracy"][:, 0]
    if not record.t[-1]:
        return texts, [f"{100 * reached[-1]:.0f} % of texts right"]
    captions = [
        f"step {step:,} of {record.t[-1]:,}: {100 * share:.0f} % of held-out texts right"
        for step, share in zip(record.t.tolist(), reached.tolist(), strict=True)
    ]
    return texts, captions


def _one_of_each_outcome_first(texts: Sequence[ShadedText]) -> list[ShadedText]:
    first = [next((t for t in texts if t.outcome == kind), None) for kind in (RIGHT, WRONG)]
    chosen = [text for text in first if text is not None]
    return [*chosen, *(text for text in texts if not any(text is one for one in chosen))]


def _probabilities(logit: Array) -> Array:
    """Class probabilities (S, C) from log-odds of class 1 (S,) or scores (S, C)."""
    scores = np.column_stack([np.zeros_like(logit), logit]) if logit.ndim == 1 else logit
    grown = np.exp(scores - scores.max(1, keepdims=True))
    return grown / grown.sum(1, keepdims=True)


def _answer_text(classes: Sequence[str], label: int, p: Array) -> str:
    """What a model predicts, with its probability, and whether that is right."""
    predicted = int(p.argmax())
    verdict = "right" if predicted == label else "wrong"
    return f"says {classes[predicted]} with probability {p.max():.2f}, which is {verdict}"


def _text_arrays(text: ShadedText, steps: int, number: int) -> dict[str, Array]:
    """Shades from −100 to 100 of every quantity, shape (S, L) each."""
    form = (steps, len(text.tokens))
    for name in ("alpha", "beta", "delta"):
        values = np.asarray(getattr(text, name))
        if values.shape != form:
            raise FoveateError(f"text {number}: {name} must have shape {form}, got {values.shape}")
        if not np.isfinite(values).all():
            raise FoveateError(f"text {number}: {name} has values that are no numbers")
    if len(text.says) != steps:
        raise FoveateError(f"text {number}: {steps} steps need as many words, got {len(text.says)}")
    largest = np.abs(text.delta).max(1, keepdims=True, initial=0.0)
    shades = {
        "alpha": np.sqrt(np.clip(text.alpha, 0, 1)),
        "beta": 2 * np.asarray(text.beta) - 1,
        "delta": text.delta / np.where(largest > 0, largest, 1.0),
    }
    return {name: _levels(values[:, :LONGEST]) for name, values in shades.items()}


def _levels(values: Array) -> Any:
    return np.rint(100 * np.clip(values, -1, 1)).astype(int)
