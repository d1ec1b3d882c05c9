"""The metrics that every record has: loss, accuracy, focus, sparsity of attention."""

from foveate.metrics.focus import QUADRANTS, focus_true, heat_map, saif
from foveate.metrics.metric import Evaluation, metric
from foveate.metrics.sparsity import distance, entropy_bits, nonzeros
from foveate.types import Array

__all__ = ["accuracy", "held_out_loss"]


@metric("loss", title="Held-out loss", unit="nats")
def held_out_loss(evaluation: Evaluation) -> Array:
    """The paradigm's loss on held-out bags."""
    return evaluation.loss.mean(-1)


@metric("accuracy", title="Accuracy", unit="%", summary=True, curve=True)
def accuracy(evaluation: Evaluation) -> Array:
    """The share of held-out bags whose most probable class is the true one."""
    return evaluation.correct.mean(-1)


@metric("ft", title="FT", unit="%", summary=True, curve=True, needs_relevance=True)
def _ft(evaluation: Evaluation) -> Array:
    """Focus true: the share of bags whose relevant segment has the highest focus score."""
    return evaluation.focused.mean(-1)


@metric("saif", title="SAIF", unit="%", summary=True, curve=True, needs_relevance=True)
def _saif(evaluation: Evaluation) -> Array:
    """Strongly accurate interpretable fraction: the share of bags where both a_z and the
    probability of the true class are at least 0.8; right, and visibly for the right reason.
    """
    return saif(evaluation.a_z, evaluation.p_y)


@metric("ft_alpha", title="FT by attention", unit="%", needs_relevance=True)
def _ft_alpha(evaluation: Evaluation) -> Array:
    """The share of bags whose relevant segment has the largest attention."""
    return focus_true(evaluation.scores_alpha, evaluation.relevant, evaluation.mask).mean(-1)


@metric("a_z", title="Attention on the relevant segment", needs_relevance=True)
def _a_z(evaluation: Evaluation) -> Array:
    """The attention on the relevant segment, from 0 to 1."""
    return evaluation.a_z.mean(-1)


@metric("heat", title="Heat map of focus and prediction", needs_relevance=True)
def _heat(evaluation: Evaluation) -> Array:
    """Share of bags by focus and by probability of the true class, five by five cells."""
    return heat_map(evaluation.a_z, evaluation.p_y)


@metric("nnz", title="NNZ")
def _nnz(evaluation: Evaluation) -> Array:
    """How many segments of a bag get more attention than 0.01, on average."""
    return nonzeros(evaluation.alpha).mean(-1)


@metric("dist", title="Dist")
def _dist(evaluation: Evaluation) -> Array:
    """How far the attention is from a single segment, min over j of ‖α − e_j‖."""
    return distance(evaluation.alpha).mean(-1)


@metric("ent", title="Ent", unit="bits")
def _ent(evaluation: Evaluation) -> Array:
    """Entropy of the attention, in bits; 0 when one segment has it all."""
    return entropy_bits(evaluation.alpha).mean(-1)


_QUADRANTS = {
    "ftpt": ("Both correct (FTPT)", "Focus true, prediction true."),
    "ffpt": ("Prediction only (FFPT)", "Focus false, prediction true: right for the wrong reason."),
    "ftpf": ("Focus only (FTPF)", "Focus true, prediction false."),
    "ffpf": ("Neither (FFPF)", "Focus false, prediction false."),
}


def _register_quadrant(name: str) -> None:
    title, description = _QUADRANTS[name]

    def share(evaluation: Evaluation) -> Array:
        return evaluation.quadrants[name]

    share.__doc__ = description
    metric(name, title=title, unit="%", needs_relevance=True)(share)


for _name in QUADRANTS:
    _register_quadrant(_name)
