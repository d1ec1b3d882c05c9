"""Question (f): can the auditor see at all? If not, nothing is said, and what would help is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foveate.trust.amount import Amount
from foveate.trust.auditor import Audit
from foveate.trust.contextual import Context
from foveate.trust.estimated_ft import EstimatedFT

__all__ = ["FEW", "Visibility", "visibility"]

FEW = 15  # bags of a class below which nothing is estimated
CLEAR = 0.6  # least probability of being evidence of a bag's surest segment, mean over bags
DISAGREEMENT = 0.2  # largest difference between two auditors' estimates
SHIFT = 1.35  # median r of a class's own bags from which on its background is another one
SHIFT_LABELS = 2.5  # the same where other labels of the bags are known and explained away
BLIND = 0.15  # accuracy of the models beyond what single segments tell
GROUPS = 0.1  # fall of the auditor's accuracy when whole groups are held out


@dataclass(frozen=True)
class Visibility:
    """Whether the estimate for one class may be believed.

    Args:
        visible: Whether it may.
        clear: Probability of being evidence of a bag's surest segment, mean over bags.
        disagreement: Between two auditors, of estimated FT.
        bags: Bags of the class that it learnt from.
        shift: Median likelihood ratio of the class's own segments; 1 without confounding.
        auditor_accuracy: Accuracy of the label from single segments, mean over classes.
        model_accuracy: Accuracy of the models, mean over classes.
        group_drop: Fall of the auditor's accuracy when whole groups are held out, None if unknown.
        context: Whether segments see each other before attention; None where not tested.
        reasons: Why it may not be believed, a sentence each.
        needs: What would help, a sentence each.
    """

    visible: bool
    clear: float
    disagreement: float
    bags: int
    shift: float
    auditor_accuracy: float
    model_accuracy: float
    group_drop: float | None
    context: bool | None
    reasons: tuple[str, ...]
    needs: tuple[str, ...]


def visibility(
    audit: Audit,
    c: int,
    name: str,
    amount: Amount,
    ft: EstimatedFT,
    *,
    model_accuracy: float,
    labels: bool = False,
    context: Context | None = None,
    tried: Sequence[str] = (),
    external: bool = False,
) -> Visibility:
    """Whether the auditor sees the evidence of class c.

    Args:
        audit: What it knows.
        c: Which class.
        name: Its name.
        amount: Question (a).
        ft: Question (b).
        model_accuracy: Of the examined models, mean over classes.
        labels: Whether other labels of the bags were explained away.
        context: What segments know of the others of their bag; None where it was not tested.
        tried: Options of training that were used already or do not apply, such as "folds".
        external: Whether the models are from elsewhere, so that no option of training is advised.
    """
    accuracy = float(np.nanmean(audit.bag_accuracy))
    folds = "" if external or "folds" in tried else ", or fit with --folds"
    other = _other_columns(labels, audit.group_drop is not None or "group" in tried)
    checks = [_few_bags(name, ft, folds)]
    checks += _data_checks(audit, c, name, amount, ft, labels, other)
    checks += _model_checks(audit, name, model_accuracy, accuracy)
    failed = [(reason, need) for bad, reason, need in checks if bad]
    return Visibility(
        visible=not failed,
        clear=ft.clear,
        disagreement=ft.disagreement,
        bags=int(audit.bags[c]),
        shift=float(audit.shift[c]),
        auditor_accuracy=accuracy,
        model_accuracy=model_accuracy,
        group_drop=audit.group_drop,
        context=None if context is None else context.contextual,
        reasons=tuple(reason for reason, _ in failed),
        needs=tuple(dict.fromkeys(need for _, need in failed)),
    )


def _few_bags(name: str, ft: EstimatedFT, folds: str) -> tuple[bool, str, str]:
    """Whether too few bags of a class were examined, and what would help."""
    return (
        ft.bags < FEW,
        f"'{name}' has {ft.bags} examined bags, and {FEW} are needed.",
        f"Give {FEW - ft.bags} more labelled bags of '{name}'{folds}.",
    )


def _other_columns(labels: bool, groups: bool) -> str:
    """What else may be named of the bags, as the start of a sentence; empty if all is known."""
    missing = [text for text, known in (("a group column", groups),
               ("the other labels of the bags", labels)) if not known]  # fmt: skip
    return f"Name {' or '.join(missing)}; or mark" if missing else "Mark"


def _data_checks(
    audit: Audit, c: int, name: str, amount: Amount, ft: EstimatedFT, labels: bool, other: str
) -> list[tuple[bool, str, str]]:
    """What may hide the evidence of class c in the data: whether it does, why, what would help."""
    shift = float(audit.shift[c])
    mark = f"the relevant segments of 20 bags of '{name}'."
    bags = int(audit.bags.sum())
    more = f"Twice as many labelled bags may help ({bags} more); or mark {mark}"
    return [
        (
            amount.presence == "unknown" or (amount.presence == "some" and ft.clear < CLEAR),
            f"The auditor sees no clear evidence: the surest segment of a bag of '{name}' is "
            f"evidence with probability {ft.clear:.2f}.",
            more,
        ),
        (
            ft.disagreement > DISAGREEMENT,
            f"Two auditors differ by {100 * ft.disagreement:.0f} points of FT.",
            more,
        ),
        (
            amount.presence != "everywhere" and shift >= (SHIFT_LABELS if labels else SHIFT),
            f"Most segments of bags of '{name}' differ from those of other bags (ratio "
            f"{shift:.1f}): another label, a site or a batch goes with the class, or more than "
            "half of a bag is evidence.",
            f"{other} {mark}",
        ),
    ]


def _model_checks(
    audit: Audit, name: str, model_accuracy: float, accuracy: float
) -> list[tuple[bool, str, str]]:
    """What single segments cannot show: whether it does, why, what would help."""
    drop = audit.group_drop
    mark = f"Mark the relevant segments of 20 bags of '{name}'."
    return [
        (
            model_accuracy - accuracy > BLIND,
            f"The models know more ({100 * model_accuracy:.0f} %) than single segments tell "
            f"({100 * accuracy:.0f} %): evidence lies in several segments together.",
            mark,
        ),
        (
            drop is not None and drop > GROUPS,
            f"In groups that it has not seen, the auditor loses {100 * (drop or 0):.0f} points of "
            "accuracy: part of the evidence belongs to the groups.",
            "Give bags of every class from more groups.",
        ),
    ]
