"""Findings of the direct classifier. [pvr22] Sec. 3.1"""

from foveate.jobs.experiment import Records
from foveate.metrics.focus import ACCURATE
from foveate.metrics.intervals import mean_interval
from foveate.records.findings import Finding
from foveate.records.record import Record
from foveate.studies.pvr22.direct_classifier import CLAIM_SET, DirectSettings, part_name
from foveate.studies.verdicts import Outcome, at_most, combine, tally_text

__all__ = ["data_title", "findings"]

NEAR_CHANCE = 0.15


def data_title(name: str) -> str:
    """A data set in words."""
    return {"cifar10": "CIFAR-10"}.get(name, name.replace("error-mode-", "mode "))


def findings(settings: DirectSettings, records: Records) -> list[Finding]:
    """One finding, on the claim about mosaics of images."""
    most = settings.n[0]
    sets = [name for name in settings.sets if part_name(name, most) in records]
    texts = []
    for name in sets:
        chance = 1 / records[part_name(name, most)].meta["classes"]
        sizes = [_summary_text(records[part_name(name, n)], n) for n in settings.n]
        texts.append(f"{data_title(name)} (chance {chance:.2f}): {'; '.join(sizes)}")
    claim_set = CLAIM_SET if CLAIM_SET in sets else sets[0]
    record = records[part_name(claim_set, most)]
    train, test = (record.final[f"{k}_accuracy"] for k in ("train", "test"))
    excess = mean_interval(test - 1 / record.meta["classes"])
    outcomes: list[Outcome] = [
        "met" if train.mean() >= ACCURATE else "missed",
        at_most(excess, NEAR_CHANCE),
    ]
    if claim_set != CLAIM_SET:
        outcomes = ["untestable", "untestable"]
    widths = "-".join(str(width) for width in settings.hidden)
    finding = Finding(
        "pvr22:C5",
        combine(outcomes),
        *excess,
        f"held-out accuracy above chance after {most} mosaics of {data_title(claim_set)}",
        f"Accuracy on training / held-out mosaics: {'. '.join(texts)}. {tally_text(outcomes)}",
        "accuracy",
        f"The paper names no network: here hidden layers of {widths} units on {settings.m} "
        "concatenated segments, Adam. Test mosaics are cut from test images.",
    )
    return [finding]


def _summary_text(record: Record, n: int) -> str:
    train, test = (record.final[f"{k}_accuracy"].mean() for k in ("train", "test"))
    return f"{train:.2f} / {test:.2f} after {n}"
