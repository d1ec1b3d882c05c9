"""The variants tried before the witness was chosen, each with its control."""

from collections.abc import Mapping

from foveate.attention.paradigms import (
    Hard,
    Hybrid,
    Marginal,
    Paradigm,
    Soft,
    TopMarginal,
    WithWitness,
    Witness,
)
from foveate.studies.beyond.witness.background_losses import (
    ConfidencePenalty,
    FadingUniformPenalty,
    NullClass,
    WithUniformPenalty,
)
from foveate.studies.beyond.witness.witness_variants import (
    ConfidenceWitness,
    DrawnMarginal,
    ExcessConfidenceWitness,
    FadingWitness,
    OneOptimizer,
    PowerLoss,
)

__all__ = ["FINALISTS", "VARIANT_PARADIGMS"]


def _witness(
    first: float = 1.0,
    second: float = 0.3,
    switch: float = 0.6,
    top: int = 3,
    kind: type[Witness] = Witness,
    witnesses: int = 1,
) -> Paradigm:
    sharp = TopMarginal(top)
    wide = WithWitness(Soft(), first, witnesses)
    return kind(switch=switch, phases=(wide, WithWitness(sharp, second) if second else sharp))


def _with_uniform_penalty(first: float, second: float) -> Paradigm:
    phases = (WithUniformPenalty(Soft(), first), WithUniformPenalty(TopMarginal(), second))
    return Witness(switch=0.6, phases=phases)


VARIANT_PARADIGMS: Mapping[str, Paradigm] = {
    "LVML": Marginal(),
    "hybrid": Hybrid(),
    "LVML, uniform penalty .3": WithUniformPenalty(Marginal(), 0.3),
    "LVML, uniform penalty 1": WithUniformPenalty(Marginal(), 1.0),
    "LVML, uniform penalty 3": WithUniformPenalty(Marginal(), 3.0),
    "LVML, witness .3": WithWitness(Marginal(), 0.3),
    "LVML, witness 1": WithWitness(Marginal(), 1.0),
    "soft then top 3, uniform penalty 1, .3": _with_uniform_penalty(1.0, 0.3),
    "soft then hard, witness 1, .3": Witness(
        switch=0.6, phases=(WithWitness(Soft()), WithWitness(Hard(), 0.3))
    ),
    "top 3 from the start, witness 1, .3": Witness(
        switch=0.6, phases=(WithWitness(TopMarginal()), WithWitness(TopMarginal(), 0.3))
    ),
    "soft then top 3, no witness": Witness(switch=0.6, phases=(Soft(), TopMarginal())),
    "witness 1, .3": _witness(),
    "witness 1, 0": _witness(second=0.0),
    "witness 1, .1": _witness(second=0.1),
    "witness 1, 1": _witness(second=1.0),
    "witness .3, .3": _witness(first=0.3),
    "witness 3, .3": _witness(first=3.0),
    "witness 1, .3 from .4": _witness(switch=0.4),
    "witness 1, .3 from .8": _witness(switch=0.8),
    "witness 1, .3, top 1": _witness(top=1),
    "witness 1, .3, top 5": _witness(top=5),
    "witness 3, 0": _witness(first=3.0, second=0.0),
    "witness 3, 0 from .8": _witness(first=3.0, second=0.0, switch=0.8),
    "witness 3, 0 from .4": _witness(first=3.0, second=0.0, switch=0.4),
    "witness 3, 0, top 5": _witness(first=3.0, second=0.0, top=5),
    "witness 3, 0 from .4, top 5": _witness(first=3.0, second=0.0, switch=0.4, top=5),
    "soft then LVML, witness 3, 0 from .4": Witness(
        switch=0.4, phases=(WithWitness(Soft(), 3.0), Marginal())
    ),
    "witness 1, 0, one optimiser": _witness(second=0.0, kind=OneOptimizer),
    "witness 3, 0, one optimiser": _witness(first=3.0, second=0.0, kind=OneOptimizer),
    "witness 3, 0 from .4, one optimiser": _witness(3.0, 0.0, 0.4, kind=OneOptimizer),
    "three witnesses 3, 0": _witness(3.0, 0.0, witnesses=3),
    "three witnesses 3, 0 from .4": _witness(3.0, 0.0, 0.4, witnesses=3),
    "three witnesses 9, 0 from .4": _witness(9.0, 0.0, 0.4, witnesses=3),
    # Their numbers name parts of runs: what comes later stands at the end.
    "LVML, uniform penalty 1 falling to 0": FadingUniformPenalty(Marginal(), 1.0),
    "LVML, uniform penalty 3, weighted by confidence": ConfidencePenalty(Marginal(), 3.0),
    "LVML, null class 1": NullClass(weight=1.0),
    "LVML to the power ½": PowerLoss(power=0.5),
    "LVML to the power 2": PowerLoss(power=2.0),
    "three witnesses 3 falling to 0": FadingWitness(
        switch=0.6, phases=(WithWitness(Soft(), 3.0, 3), TopMarginal())
    ),
    **{
        f"three witnesses {weight}, 0, weighted by confidence": Witness(
            switch=0.6, phases=(ConfidenceWitness(Soft(), float(weight), 3), TopMarginal())
        )
        for weight in (3, 10, 30)
    },
    "three witnesses 9, 0": _witness(9.0, 0.0, witnesses=3),
    "three witnesses 30, 0, weighted by excess confidence": Witness(
        switch=0.6, phases=(ExcessConfidenceWitness(Soft(), 30.0, 3), TopMarginal())
    ),
    **{
        f"top 2 and two witnesses {weight}, then top 3": Witness(
            switch=0.6, phases=(DrawnMarginal(weight=float(weight)), TopMarginal())
        )
        for weight in (3, 9)
    },
}
"""By name: the extra loss, and its weights in the two phases."""

FINALISTS = (
    "LVML",
    "hybrid",
    "witness 1, 0",
    "witness 3, 0",
    "three witnesses 3, 0",
    "three witnesses 3, 0 from .4",
    "three witnesses 10, 0, weighted by confidence",
    "three witnesses 30, 0, weighted by confidence",
    "three witnesses 9, 0",
    "top 2 and two witnesses 9, then top 3",
)
"""Those in reach of LVML on CIFAR-10 and of 95 % on digits, and what they are held against."""
