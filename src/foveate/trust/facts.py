"""What a verdict on one class rests on."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from foveate.metrics.intervals import Interval
from foveate.trust.amount import Presence
from foveate.trust.error_modes import Flag

__all__ = ["ClassFacts", "exact_interval"]

NAN = float("nan")


@dataclass(frozen=True)
class ClassFacts:
    """What a verdict on one class rests on, means over models unless said otherwise.

    Args:
        name: The class.
        bags: How many bags it has.
        members: How many models there are.
        accuracy: Share of its bags that are classified right.
        model_score: The model-dependent score of attention, which does not decide.
        unattended: Probability that g gives the class to what other bags leave unattended.
        flags: Error modes by the model-dependent score.
        measured: FT where the relevance is known, with an exact interval, else None.
        known: Bags whose relevance is known.
        measured_chance: FT of a random segment on those bags.
        presence: (a) Whether the class has evidence.
        absent: Whether it was declared to mean that nothing is there.
        estimate: (b) Estimated FT; nan where nothing is estimated.
        low: Lower end of its interval.
        high: Upper end.
        chance: FT of a random segment, estimated.
        estimated_worst: The least estimated FT of a model.
        worst: The least measured FT of a model; nan where too few bags are known.
        keep_only: (c) Share of right answers that stay with the attended segments alone.
        removal: Share of right answers that change without the attended segments, beyond the share
            without as many others.
        background_flips: Share of right answers that one background segment overturns.
        overridden: Largest share that one segment of another class overturns beyond the reverse.
        overrider: Which class that is; empty where there is none, or where it was declared empty.
        poisoned: Share that one segment of a class that was declared empty overturns.
        repeat_flips: Largest share of right answers of a class, this or another, that change when
            the most attended segment of a bag is repeated.
        other_kind: (d) Whether there are two kinds of evidence and it is not known which is meant.
        chosen_kind: Which of two kinds is meant, "A" or "B"; empty where there is one kind or none
            was chosen.
        stability: (e) Agreement of models; nan with one model.
        steady: Share of bags whose top segment stays over the last epochs; nan where not known.
        worst_fold: FT by the models of the fold that has the least, with an exact interval; None
            where bags are not read by folds.
        visible: (f) Whether the auditor can see.
        reasons: Why it cannot.
        needs: What would help.
        auditors: How many classifiers of segments give an opinion.
        overfitted: Whether held-out loss rose while training loss fell.
        context: What was found where segments see each other before attention; empty where not.
        reread: Whether bags were read again with segments hidden or added; if not, (c) is unknown.
        external: Whether the models are from elsewhere, so that no option of this library's
            training is advised.
    """

    name: str
    bags: int
    members: int
    accuracy: float
    model_score: float = NAN
    unattended: float = NAN
    flags: Sequence[Flag] = ()
    measured: Interval | None = None
    known: int = 0
    measured_chance: float = NAN
    presence: Presence = "some"
    absent: bool = False
    estimate: float = NAN
    low: float = NAN
    high: float = NAN
    chance: float = NAN
    estimated_worst: float = NAN
    worst: float = NAN
    keep_only: float = 1.0
    removal: float = 1.0
    background_flips: float = 0.0
    overridden: float = 0.0
    overrider: str = ""
    poisoned: float = 0.0
    repeat_flips: float = 0.0
    other_kind: bool = False
    chosen_kind: str = ""
    stability: float = NAN
    steady: float = NAN
    worst_fold: Interval | None = None
    visible: bool = True
    reasons: tuple[str, ...] = field(default=())
    needs: tuple[str, ...] = field(default=())
    auditors: int = 2
    overfitted: bool = False
    context: str = ""
    reread: bool = True
    external: bool = False


def exact_interval(hits: float, bags: int, level: float = 0.95) -> Interval:
    """The share of hits with the interval of Clopper and Pearson, which holds for any number.

    Args:
        hits: How many bags are right; a mean over models may be fractional.
        bags: Out of how many.
        level: Coverage, at least.

    Example:
        >>> low = exact_interval(2, 2).low
        >>> round(low, 3)
        0.158
    """
    from scipy.special import betaincinv

    if bags < 1:
        return Interval(NAN, None, None)
    tail = (1 - level) / 2
    low = 0.0 if hits <= 0 else float(betaincinv(hits, bags - hits + 1, tail))
    high = 1.0 if hits >= bags else float(betaincinv(hits + 1, bags - hits, 1 - tail))
    return Interval(hits / bags, low, high)
