"""Three bags to look at: right for the right reason, right but looking elsewhere, and wrong."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from foveate.bags.bag import Bag
from foveate.trust.auditor import Audit
from foveate.trust.facts import ClassFacts
from foveate.trust.subject import Reading
from foveate.types import Array

__all__ = ["examples_of"]

EVIDENCE = 0.5  # probability from which on the top segment counts as evidence
MAX_SEGMENTS = 32  # of a bag, those with most attention, that are stored with it


def examples_of(
    reading: Reading,
    bags: Sequence[Bag],
    audit: Audit,
    a: Array,
    top: Array,
    known: Array,
    ids: Sequence[str] | None,
    facts: Sequence[ClassFacts],
) -> list[dict[str, Any]]:
    """Three bags of the first model: right for the right reason, looking elsewhere, and wrong.

    ``evidence`` is 1 or 0 where the relevance is known, else the auditor's probability, None where
    the evidence of the class is not settled; a right bag is then shown without a reason.
    ``segments`` has a row for each segment: its number, attention, and evidence.

    Args:
        reading: What the models make of the bags.
        bags: One set for all members, or one each.
        audit: Where evidence is.
        a: Probability that a segment is evidence of the kind that is meant, shape (K, k, m).
        top: The most attended segment of each audited bag, shape (S, k).
        known: Which bags' relevance is known, shape (1 or S, n).
        ids: Names of the bags; their numbers where None.
        facts: Of every class.
    """
    p = reading.p[0, audit.bag_index]
    if np.isnan(p).any():
        return []
    y, predicted = bags[0].y.numpy()[audit.bag_index], p.argmax(-1)
    measured = known[0, audit.bag_index]
    estimated = np.array([not np.isnan(f.estimate) for f in facts])[y]
    everywhere = np.where(estimated[:, None], a[0], np.nan)
    if bags[0].z is not None:
        relevant = np.asarray(bags[0].z)[audit.bag_index].astype(float)
        everywhere = np.where(measured[:, None], relevant, everywhere)
    evidence = np.take_along_axis(everywhere, top[0][:, None], 1)[:, 0]
    examples = []
    for kind, score in _scores(evidence, predicted == y, p.max(-1)).items():
        i = int(score.argmax())
        if score[i] < 0:
            continue
        row = int(audit.bag_index[i])
        name = str(row) if ids is None else str(ids[row])
        entry = {"kind": kind, "bag": name, "segment": int(top[0, i]), "class": int(y[i])}
        value = None if np.isnan(evidence[i]) else float(evidence[i])
        entry |= {"predicted": int(predicted[i]), "evidence": value, "known": bool(measured[i])}
        present = np.flatnonzero(audit.mask[0, i])
        entry["segments"] = _segments(reading.alpha[0, row], everywhere[i], present)
        examples.append(entry)
    return examples


def _segments(alpha: Array, evidence: Array, present: Array) -> list[list[float | None]]:
    """Number, attention and evidence of the segments with most attention, in their order.

    Args:
        alpha: Attention, shape (m,).
        evidence: Evidence, nan where it is not known, shape (m,).
        present: Numbers of the segments that exist.
    """
    if np.isnan(alpha[present]).any():
        return []
    attended = present[np.argsort(-alpha[present], kind="stable")[:MAX_SEGMENTS]]
    return [
        [
            int(j),
            round(float(alpha[j]), 4),
            None if np.isnan(e := evidence[j]) else round(float(e), 4),
        ]
        for j in sorted(attended)
    ]


def _scores(evidence: Array, right: Array, sure: Array) -> dict[str, Array]:
    """How well each bag shows each kind of example; below 0 where it does not.

    Args:
        evidence: Whether the top segment is evidence; nan where not known.
        right: Whether the answer is right.
        sure: Probability of the answer.
    """
    known = right & ~np.isnan(evidence)
    a = np.nan_to_num(evidence)
    return {
        "right for the right reason": np.where(known & (a >= EVIDENCE), a + sure, -1.0),
        "right, but looking elsewhere": np.where(known & (a < EVIDENCE), sure - a + 1e-9, -1.0),
        "right, for a reason that is not known": np.where(
            right & ~known & ~known.any(), sure, -1.0
        ),
        "wrong": np.where(right, -1.0, sure),
    }
