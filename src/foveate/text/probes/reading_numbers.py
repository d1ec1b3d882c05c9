"""Numbers of a reader on held-out texts: agreement, τ, and scores on rationales."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foveate.metrics.agreement import agreement, fair_agreement, random_level
from foveate.metrics.kendall import kendall
from foveate.metrics.ragged import top
from foveate.types import Array

__all__ = ["agreement_numbers", "rationale_numbers", "token_columns"]

PAIRS = (("alpha", "beta"), ("delta", "beta"), ("alpha", "delta"))


def agreement_numbers(values: Mapping[str, Array], start: Array) -> dict[str, Any]:
    """A (as published and with fair ties) and Kendall's τ of α, β and Δ, over texts.

    Args:
        values: ``alpha``, ``beta`` and ``delta`` of all tokens, shape (N,) each.
        start: Where each text begins, and N at the end, shape (n + 1,).
    """
    numbers: dict[str, Any] = {"random": float(random_level(np.diff(start)).mean())}
    for first, second in PAIRS:
        u, v = values[first], values[second]
        tau = kendall(u, v, start)
        defined = np.isfinite(tau)
        numbers[f"{first}, {second}"] = {
            "A": float(agreement(u, v, start).mean()),
            "A_fair": float(fair_agreement(u, v, start).mean()),
            "tau": float(tau[defined].mean()) if defined.any() else None,
        }
    return numbers


def rationale_numbers(
    values: Mapping[str, Array], start: Array, rationales: Sequence[Array | None]
) -> dict[str, Any] | None:
    """How well α, β and Δ rank words of rationales; None where no text has a usable one.

    Args:
        values: ``alpha``, ``beta`` and ``delta`` of all tokens, shape (N,) each.
        start: Where each text begins, and N at the end, shape (n + 1,).
        rationales: A flag per token for each text, or None; flags beyond the end of a shortened
            text are left out.

    Returns:
        The number of texts whose rationale marks some but not all tokens; the share of tokens
        marked (``chance``); the attention on marked tokens (``mass``); for each quantity the mean
        area under the ROC curve (``auc``) and the share of texts whose largest value is marked
        (``top``).
    """
    lengths = np.diff(start)
    flags = [None if r is None else r[:n] for r, n in zip(rationales, lengths, strict=True)]
    usable = [k for k, r in enumerate(flags) if r is not None and 0 < r.sum() < len(r)]
    if not usable:
        return None
    best = {name: top(rows, start) for name, rows in values.items()}
    slices = {k: slice(int(start[k]), int(start[k + 1])) for k in usable}
    mass = [values["alpha"][slices[k]][flags[k]].sum() for k in usable]
    return {
        "texts": len(usable),
        "chance": float(np.mean([flags[k].mean() for k in usable])),  # type: ignore[union-attr]
        "mass": float(np.mean(mass)),
        **{
            name: {
                "auc": float(np.mean([_auc(rows[slices[k]], flags[k]) for k in usable])),
                "top": float(np.mean([flags[k][best[name][k]] for k in usable])),  # type: ignore[index]
            }
            for name, rows in values.items()
        },
    }


def token_columns(
    values: Mapping[str, Array],
    start: Array,
    words: Sequence[str],
    rows: Array,
    rationales: Sequence[Array | None] | None = None,
) -> dict[str, list[Any]]:
    """A table with one row per token: its text's row in the file, position, word, α, β, Δ.

    Args:
        values: ``alpha``, ``beta`` and ``delta``, shape (N,) each.
        start: Where each text begins, and N at the end, shape (n + 1,).
        words: All words, N of them.
        rows: The row of each text in the user's file, from 0, shape (n,).
        rationales: A flag per token for each text, or None.
    """
    lengths = np.diff(start)
    columns: dict[str, list[Any]] = {
        "row": np.repeat(rows, lengths).tolist(),
        "position": (np.arange(start[-1]) - np.repeat(start[:-1], lengths)).tolist(),
        "word": list(words),
        **{name: np.asarray(value, float).tolist() for name, value in values.items()},
    }
    if rationales is not None:
        flags = (
            [None] * n if r is None else r[:n].astype(int).tolist()
            for r, n in zip(rationales, lengths.tolist(), strict=True)
        )
        columns["rationale"] = [flag for text in flags for flag in text]
    return columns


def _auc(values: Array, flags: Array | None) -> float:
    """The probability that a relevant token has a larger value than another, ties half."""
    relevant, other_values = values[flags], values[~np.asarray(flags)]
    above = (relevant[:, None] > other_values).mean() + 0.5 * (
        relevant[:, None] == other_values
    ).mean()
    return float(above)
