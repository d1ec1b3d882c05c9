"""Findings on claims C1–C4, C14, C16, C17 and C18. [snell21]"""

from typing import TYPE_CHECKING

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import Interval, mean_interval
from foveate.records.findings import Finding, Verdict
from foveate.records.record import Record
from foveate.studies.snell21.agreement.comparison import FAIR, PAPER, TAU, TRAINING
from foveate.studies.snell21.agreement.published import COLUMNS, RECORDED, title
from foveate.studies.snell21.agreement.record_values import (
    chosen,
    context,
    excess,
    fall,
    frozen_best,
    number,
    random,
    rise,
    top_performance,
)
from foveate.studies.snell21.agreement.wording import (
    count,
    deviation,
    low,
    mean_over_seeds,
    share_verdict,
    short,
)
from foveate.studies.verdicts import at_least, combine, tally_text

if TYPE_CHECKING:
    from foveate.studies.snell21.agreement import AgreementSettings

__all__ = ["findings"]

MIN_EXCESS = 0.05  # above the random level
SHARE = 0.1  # of ξ*, with BLEU
TABLE = {"snell21:C1": "alpha_uf", "snell21:C2": "uf_px", "snell21:C3": "delta_uf"} | {
    "snell21:C4": "alpha_beta"
}


def findings(settings: "AgreementSettings", records: Records) -> list[Finding]:
    """One finding per claim; none of C16 where SMS is not there."""
    counted = {name: r for name, r in records.items() if name != settings.outlier} or dict(records)
    texts = _of_texts(counted) or _of_texts(records)
    results = [_column(settings, counted, claim, name) for claim, name in TABLE.items()]
    results += [_frozen(settings, texts)] if texts else []
    results += [_outlier(settings, records)] if settings.outlier in records else []
    return [*results, _rise_and_fall(settings, counted), _training(settings, counted)]


def _of_texts(records: Records) -> Records:
    return {name: record for name, record in records.items() if record.meta["kind"] == "texts"}


def _column(settings: "AgreementSettings", records: Records, claim: str, name: str) -> Finding:
    """One of the four columns of Table 1."""
    outcomes = {
        data: at_least(mean_interval(excess(record, name) - random(record)))
        for data, record in records.items()
    }
    middle = mean_over_seeds(records, lambda record: excess(record, name))
    details = "; ".join(_entry(data, record, name) for data, record in records.items())
    return Finding(
        claim,
        combine(list(outcomes.values())),
        middle.mean,
        middle.low,
        middle.high,
        f"{COLUMNS[name]} above the random level, fair ties, mean over data sets",
        f"{tally_text(list(outcomes.values()))} Fair ties (paper's form, τ; random level): "
        f"{details}." + _comparison_text(name, records),
        "table",
        deviation(settings, records),
    )


def _entry(data: str, record: Record, name: str) -> str:
    fair, paper, tau = (short(number(record, name, measure=k)) for k in (FAIR, PAPER, TAU))
    parts = [f"{title(data)} {fair} ({paper}, {tau}; {short(random(record))})"]
    if name in RECORDED.get(data, {}):
        parts.append(f"recorded {short(RECORDED[data][name])}")
    if name in ("alpha_uf", "alpha_beta"):
        parts.append(f"ξ {short(context(record, name))} of ξ* {short(top_performance(record))}")
    return ", ".join(parts)


def _comparison_text(name: str, records: Records) -> str:
    """Comparisons of a column: counts instead of the proxy, β of another seed."""
    other = {"uf_px": ("uf_trans", "With the count table Trans(y|x) in place of the proxy")} | {
        "alpha_beta": ("alpha_beta_other", "With β of another seed, as the released code has it")
    }
    if name not in other:
        return ""
    key, words = other[name]
    summaries = ", ".join(
        f"{title(data)} {short(number(record, key))}"
        for data, record in records.items()
        if key in record.values
    )
    return f" {words}: {summaries}."


def _frozen(settings: "AgreementSettings", records: Records) -> Finding:
    gaps = {
        data: number(record, "alpha_uf") - frozen_best(record) for data, record in records.items()
    }
    below = {data: low(gap) > 0 for data, gap in gaps.items()}
    middle = mean_over_seeds(
        records, lambda record: number(record, "alpha_uf") - frozen_best(record)
    )
    details = "; ".join(
        f"{title(data)}: A(α_fr, α) {short(frozen_best(record))}, A(α, β_uf) "
        f"{short(number(record, 'alpha_uf'))}, random {short(random(record))}, accuracy "
        f"{short(top_performance(record, 'frozen_accuracy'))} of "
        f"{short(top_performance(record, 'partner_accuracy'))}"
        for data, record in records.items()
    )
    return Finding(
        "snell21:C14",
        share_verdict(list(below.values())),
        middle.mean,
        middle.low,
        middle.high,
        "A(α, β_uf) − A(α_fr, α), fair ties, mean over sets of texts",
        f"{count(below)} {details}.",
        "frozen",
        deviation(settings, records),
    )


def _outlier(settings: "AgreementSettings", records: Records) -> Finding:
    """SMS against the other sets of texts: agreement of attention between seeds."""
    difference = excess(records[settings.outlier], "alpha_alpha")
    others = {
        data: excess(record, "alpha_alpha")
        for data, record in records.items()
        if data != settings.outlier and record.meta["kind"] == "texts"
    }
    verdict: Verdict = "does not hold"
    gap = Interval(float("nan"), None, None)
    if others:
        seeds = min(map(len, (difference, *others.values())))
        mean = np.mean([values[:seeds] for values in others.values()], 0)
        gap = mean_interval(mean - difference[:seeds])
        if low(mean - difference[:seeds]) > 0:
            least = difference.mean() < min(values.mean() for values in others.values())
            verdict = "holds" if least else "holds in part"
    summaries = "; ".join(
        f"{title(data)} {short(values)} ({', '.join(short(value) for value in values)})"
        for data, values in {settings.outlier: difference, **others}.items()
    )
    alone = "" if others else " There is no other set of texts to compare with."
    return Finding(
        "snell21:C16",
        verdict,
        gap.mean if others else float(difference.mean()),
        gap.low,
        gap.high,
        f"A(α_A, α_B) above the random level: mean of the others minus {title(settings.outlier)}"
        if others
        else "A(α_A, α_B) above the random level",
        f"A(α_A, α_B) above the random level, mean and each pair of seeds: {summaries}.{alone}",
        "seeds",
        deviation(settings, records),
    )


def _rise_and_fall(settings: "AgreementSettings", records: Records) -> Finding:
    outcomes = [
        at_least(mean_interval(change(record)))
        for record in records.values()
        for change in (rise, fall)
    ]
    middle = mean_over_seeds(records, fall)
    details = "; ".join(
        f"{title(data)}: up by {short(rise(record))}, down by {short(fall(record))} (best at "
        f"step {_steps(record)} of {int(record.t[-1])})"
        for data, record in records.items()
    )
    return Finding(
        "snell21:C17",
        combine(outcomes),
        middle.mean,
        middle.low,
        middle.high,
        "fall of A(α, β_uf(τ)) from its best checkpoint to the end, mean over data sets",
        f"{tally_text(outcomes)} {details}.",
        "rise",
        deviation(settings, records),
    )


def _steps(record: Record) -> str:
    return ", ".join(f"{int(step)}" for step in record.t[chosen(record)])


def _training(settings: "AgreementSettings", records: Records) -> Finding:
    """Tables 6 and 7: the four columns on training data, and BLEU in ξ."""
    names = list(TABLE.values())
    least = {
        data: min(float(excess(record, name, TRAINING).mean()) for name in names)
        for data, record in records.items()
    }
    above = {data: value > MIN_EXCESS for data, value in least.items()}
    bleu = {
        data: (
            float(context(record, "alpha_uf", "partner_bleu").mean()),
            float(top_performance(record, "partner_bleu").mean()),
        )
        for data, record in records.items()
        if "partner_bleu" in record.values
    }
    verdict = share_verdict(list(above.values()))
    if verdict == "holds" and not (
        bleu and all(half_time >= SHARE * end for half_time, end in bleu.values())
    ):
        verdict = "holds in part"
    middle = mean_over_seeds(records, lambda record: excess(record, "alpha_uf", TRAINING))
    details = "; ".join(
        f"{title(data)} "
        + ", ".join(f"{COLUMNS[n]} {short(number(record, n, TRAINING))}" for n in names)
        + f" (random {short(random(record, TRAINING))})"
        for data, record in records.items()
    )
    with_bleu = "; ".join(
        f"{title(data)} ξ(α, β_uf) {half_time:.1f} of ξ* {end:.1f} BLEU"
        for data, (half_time, end) in bleu.items()
    )
    return Finding(
        "snell21:C18",
        verdict,
        middle.mean,
        middle.low,
        middle.high,
        "A(α, β_uf) above the random level on training data, mean over data sets",
        f"{count(above)} On training data: {details}. "
        + (f"{with_bleu}." if bleu else "No sentence pairs in this run: BLEU is not tested."),
        "training",
        deviation(settings, records),
    )
