"""Findings of the topic words. [lu21]"""

from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import trapezoid

from foveate.dynamics.lu21 import embedding_norm, relative_gap
from foveate.jobs.experiment import Records
from foveate.metrics.intervals import Interval, mean_interval
from foveate.records.findings import Finding, Verdict
from foveate.records.record import Array, Record
from foveate.studies.lu21.topic_words.reviews import REVIEWS
from foveate.studies.verdicts import above, verdict_of

if TYPE_CHECKING:
    from foveate.studies.lu21.topic_words import TopicWordsSettings

__all__ = [
    "epochs_to_half",
    "findings",
    "identity_gap",
    "sst_gap",
    "sst_theory",
    "suppressed_words",
]

CLASSIFIERS = ("fc", "tc", "tl")
NO_SST = (
    "C6 is not measured: SST was left out or its files are not here (set FOVEATE_DATA to a folder "
    "that holds sst/)."
)
MIN_SCORE = 0.1  # scores below are too near the start for a relative gap to mean anything


def findings(settings: "TopicWordsSettings", records: Records) -> list[Finding]:
    """One finding per claim, C1 to C6; none of C6 where nothing was trained on SST."""
    results = [
        _identity(settings, records),
        _convergence(records),
        _capacity(records),
        _promotion(records),
        _suppression(records),
    ]
    return [*results, _sst(settings, records)] if set(REVIEWS) <= set(records) else results


def identity_gap(record: Record, m: int) -> Array:
    """Relative gap of the identity for every topic word, shape (T, S, topic words)."""
    s, norm = record.values["s"], record.values["norm"]
    q_norm = record.values["q_norm"][..., None]
    return relative_gap(norm, embedding_norm(s, m, q_norm, s[0], norm[0]))


def _identity(settings: "TopicWordsSettings", records: Records) -> Finding:
    ends, paths, small = {}, {}, {}
    for name in (*CLASSIFIERS, "fc-query"):
        gap = identity_gap(records[name], settings.m)
        along_path = np.where(records[name].values["s"] > MIN_SCORE, gap, 0.0)
        ends[name], paths[name] = gap[-1].max(-1), along_path.max((0, 2))
        small[name] = bool((ends[name] < 0.01).all() and (paths[name] < 0.02).all())
    worst = mean_interval(100 * np.max([ends[name] for name in CLASSIFIERS], 0), within=(0, np.inf))
    summaries = "; ".join(
        f"{name.upper()} {_percent(ends[name].max())} at the end, {_percent(paths[name].max())} on "
        "the way"
        for name in CLASSIFIERS
    )
    gap_without = identity_gap(records["fc-query"], settings.m)[-1]
    left_out = "" if set(REVIEWS) <= set(records) else f" {NO_SST}"
    return Finding(
        "lu21:C1",
        verdict_of([small[name] for name in CLASSIFIERS]),
        *worst,
        "largest relative gap of the identity over topic words and classifiers at the end, %",
        f"Largest gap over {len(ends['fc'])} seeds and all topic words: {summaries}. With a "
        f"trained query (FC) the gap at the end is {_percent(np.median(gap_without))} in the "
        f"median and {_percent(gap_without.max())} at most.{left_out}",
        "identity",
    )


def _convergence(records: Records) -> Finding:
    plain, limit = records["fc"], records["fc-limit"]
    a, half = plain.values["a_z"], np.searchsorted(plain.t, plain.t[-1] / 2)
    has_converged = bool((plain.last("loss") < 0.05).all() and (a[-1] > a[half]).all())
    limit_a_z = limit.last("a_z")
    converged = bool((limit_a_z > 0.95).all() and (limit.last("loss") < 0.05).all())
    verdict: Verdict = "does not hold"
    if has_converged and converged:
        verdict = "holds"
    elif has_converged or bool((limit_a_z > 0.5).all()):
        verdict = "holds in part"
    return Finding(
        "lu21:C2",
        verdict,
        *mean_interval(limit_a_z, within=(0, 1)),
        "attention on the topic word at the end of the prolonged path, held-out sentences",
        f"After {plain.t[-1]:,} epochs the loss is {_mean(plain.last('loss'))} and attention "
        f"{_mean(a[-1])} ({_mean(a[half])} half-way, {_mean(a[0])} at the start). On the path "
        f"walked on with steps divided by the loss, attention reaches {_mean(limit_a_z)} "
        f"({limit_a_z.min():.3f} in the worst seed) when the loss is {_mean(limit.last('loss'))}; "
        "at a fixed rate that takes epochs of the order of one over that loss.",
        "convergence",
        "the prolonged path (step divided by the loss, double precision) is ours: at a fixed rate "
        "attention grows with the logarithm of time",
    )


def _capacity(records: Records) -> Finding:
    score = {name: records[name].values["s"].mean(-1) for name in CLASSIFIERS}
    average = {name: _over_time(records[name].t, s) for name, s in score.items()}
    more = {name: mean_interval(average[name] - average["tl"]) for name in ("fc", "tc")}
    least = mean_interval(np.minimum(average["fc"], average["tc"]) - average["tl"])
    details = ", ".join(
        f"{name.upper()} {_mean(average[name])} on average and {_mean(score[name][-1])} at the end"
        for name in CLASSIFIERS
    )
    return Finding(
        "lu21:C3",
        verdict_of([above(more["fc"]), above(more["tc"])]),
        *least,
        "mean score over all epochs, the lower of FC and TC less TL",
        f"Mean score of the topic words: {details}. FC less TL {_interval(more['fc'])}, TC less TL "
        f"{_interval(more['tc'])}.",
        "capacity",
    )


def epochs_to_half(record: Record) -> Array:
    """Epochs until the training loss is half its first value, one more than all if never, (S,)."""
    losses = record.final["losses"]
    low = losses <= losses[:, :1] / 2
    return np.where(low.any(1), low.argmax(1), losses.shape[1] + 1).astype(float)


def _promotion(records: Records) -> Finding:
    half = {name: epochs_to_half(records[name]) for name in ("full", "kf", "ef")}
    ratio = {name: half[name] / half["full"] for name in ("kf", "ef")}
    end = {name: _mean(records[name].final["losses"][:, -1]) for name in half}
    epochs = records["full"].final["losses"].shape[1]

    def epochs_of(name: str, label: str) -> str:
        unreached = int((half[name] > epochs).sum())
        when = (
            f"never in {unreached} of {len(half[name])} seeds"
            if unreached
            else f"{half[name].mean():,.0f}"
        )
        return f"{label} {when} (final loss {end[name]})"

    def times(name: str) -> str:
        least = "at least " if (half[name] > epochs).any() else ""
        return f"{least}{ratio[name].mean():.2f} times"

    return Finding(
        "lu21:C4",
        verdict_of([bool((ratio[name] > 1).all()) for name in ("kf", "ef")]),
        *mean_interval(np.minimum(ratio["kf"], ratio["ef"]), within=(0, np.inf)),
        "epochs to half the initial loss, the faster ablation over the full model",
        f"Epochs to half the initial loss: {epochs_of('full', 'full model')}, "
        f"{epochs_of('kf', 'keys frozen')}, {epochs_of('ef', 'embeddings frozen')}. "
        f"Over the full model: KF "
        f"{times('kf')}, EF {times('ef')}.",
        "ablations",
    )


def suppressed_words(record: Record) -> Array:
    """Topic words whose score and norm are both below their start early on, (S, topic words)."""
    early = record.t <= record.t[-1] / 4
    s, norm = record.values["s"][early], record.values["norm"][early]
    return ((s <= s[0] - 0.005) & (norm <= 0.99 * norm[0])).any(0)


def _suppression(records: Records) -> Finding:
    full = records["full"]
    words, lowest = suppressed_words(full), full.values["s"].min((0, 2))
    seeds = np.asarray(words.any(1))
    s, norm = np.diff(full.values["s"], axis=0), np.diff(full.values["norm"], axis=0)
    early = full.t[1:] <= full.t[-1] / 4
    same_direction = float((s * norm > 0)[early].mean())
    counts = ", ".join(f"{n.upper()} {int(_below_start(records[n]).sum())}" for n in CLASSIFIERS)
    verdict: Verdict = "does not hold"
    if seeds.any():
        verdict = "holds" if seeds.mean() >= 0.5 else "holds in part"
    return Finding(
        "lu21:C5",
        verdict,
        *mean_interval(words.sum(1), within=(0, words.shape[1])),
        f"topic words (of {words.shape[1]}) whose score and norm fall together at first",
        f"In {int(seeds.sum())} of {len(seeds)} seeds some topic word is suppressed first; the "
        f"lowest score is {lowest.min():.3f}. Early on, score and norm of a word move the same way "
        f"in {_percent(same_direction)} of all steps between measurements. "
        "From embeddings near 0 (the runs of C1) "
        f"as many of {words.size} scores dip .005 below their start: {counts}.",
        "suppression",
    )


def _below_start(record: Record) -> Array:
    return (record.values["s"] <= record.values["s"][0] - 0.005).any(0)


def sst_theory(record: Record) -> Array:
    """Norms that the identity gives to the highest-scored words at the end, (S, words)."""
    q_norm = record.last("q_norm")[:, None]
    return embedding_norm(record.last("top_s"), record.last("top_m"), q_norm)


def sst_gap(record: Record) -> Array:
    """Relative gap of the identity for the highest-scored words at the end, (S, words)."""
    return relative_gap(record.last("top_norm"), sst_theory(record))


def _above_theory(record: Record) -> float:
    return float((record.last("top_norm") > sst_theory(record)).mean())


def _sst(settings: "TopicWordsSettings", records: Records) -> Finding:
    reviews = {name: records[name] for name in REVIEWS}
    purity = {name: record.values["top_purity"].mean(-1) for name, record in reviews.items()}
    rise = {name: value[-1] - value[1] for name, value in purity.items()}
    gap = {name: np.median(sst_gap(record), -1) for name, record in reviews.items()}
    purer = [bool(value.mean() >= 0.05) for value in rise.values()]
    close = [bool(value.mean() < 0.10) for value in gap.values()]
    both = [a and b for a, b in zip(purer, close, strict=True)]
    verdict: Verdict = "does not hold"
    if all(both):
        verdict = "holds"
    elif any(both) or all(purer) or all(close):
        verdict = "holds in part"
    above = float(np.mean([_above_theory(record) for record in reviews.values()]))
    close_titles = [REVIEWS[name].label for name, ok in zip(reviews, both, strict=True) if ok]
    where = f"Both parts of the criterion are met in {', '.join(close_titles) or 'no setting'}."
    made_up = any(record.meta["made_up"] for record in reviews.values())
    synthetic_note = (
        "On made-up sentences in place of SST, which say nothing of it. " if made_up else ""
    )
    details = "; ".join(
        f"{REVIEWS[name].label}: purity {_mean(purity[name][1])} → {_mean(purity[name][-1])} "
        f"(lowest {_mean(purity[name][1:].mean(1).min())}), "
        f"median gap {_percent(gap[name].mean())}, "
        f"validation accuracy {_mean(reviews[name].last('accuracy'))}"
        for name in reviews
    )
    return Finding(
        "lu21:C6",
        verdict,
        *mean_interval(np.mean(list(rise.values()), 0)),
        "rise in mean purity of the 100 highest-scored words, mean over settings",
        f"{synthetic_note}{where} {details}. Norms lie above the identity for {_percent(above)} of "
        f"the words. {_traced_words_text(reviews)}",
        "sst",
        f"learning rate {settings.sst_lr_fc:g} (FC) and {settings.sst_lr_tc:g} (TC) "
        f"in place of .1 and as "
        "many times fewer epochs, the same patience in learning rate × epochs; embeddings start at "
        "N(0, 1e-12), which the paper does not specify",
    )


def _traced_words_text(records: Records) -> str:
    """Attention on "powerful" against "best" in the traced sentence."""
    parts = []
    for name, record in records.items():
        words = record.meta["traced"]
        powerful, best = (
            record.values["alpha"][-1, :, words.index(w)] for w in ("powerful", "best")
        )
        parts.append(f"{REVIEWS[name].label} {_mean(powerful)} / {_mean(best)}")
    even = 1 / len(words)
    return (
        f"In the traced sentence attention on 'powerful' / 'best' ends at {', '.join(parts)} "
        f"(uniform {even:.3f})."
    )


def _over_time(t: Array, values: Array) -> Array:
    return np.asarray(trapezoid(values, t, axis=0)) / (t[-1] - t[0])


def _interval(interval: Interval) -> str:
    if interval.low is None:
        return f"{interval.mean:.2f}"
    return f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def _mean(values: Array) -> str:
    return f"{np.mean(values):.3g}"


def _percent(share: float | Array) -> str:
    value = 100 * float(share)
    return f"{value:.2g} %" if value < 1 else f"{value:.1f} %"
