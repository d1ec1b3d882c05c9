"""What an examination found of some models with one paradigm, in plain numbers."""

from dataclasses import asdict, dataclass
from typing import Any

from foveate.metrics.intervals import Interval
from foveate.records import json_values
from foveate.trust.answers import Answer
from foveate.trust.verdict import Verdict

__all__ = ["Trust"]


@dataclass(frozen=True)
class Trust:
    """What was found of some models with one paradigm, in plain numbers.

    Args:
        paradigm: Whose inference was read.
        classes: Names of the classes.
        members: Number of models.
        bags: Bags that each was examined on.
        relevant: How many segments of a bag were taken to be evidence by the model-dependent score.
        relevant_from: Where that number comes from: "declared", "known", "inferred", or "assumed"
            where the auditor sees no evidence.
        verdict: On the whole.
        score: Estimated FT, mean over models, of the classes that can be judged; nan (null in JSON)
            where nothing is said.
        chance: FT that a random segment would have, measured where FT of the whole is, else
            estimated; nan where neither is.
        scores: The same as ``score`` of each model.
        model_score: The model-dependent score, which does not decide; ``model_scores`` has each
            model's.
        by_class: A verdict, the facts behind it, the answers and all marks for each class.
        by_model: Score, accuracy, grade and error modes of each model.
        answers: The six questions, each with a mark and a sentence.
        examples: Bags that are right for the right reason, right by luck, and wrong.
        audited: How many bags and segments the auditor scored, and of how many.
        evidence: Quantities with intervals over bags; of ``probe_accuracy`` over members.
        curves: Probability of the predicted class with a share of segments kept or removed.
        attended: Mean prediction of g where attention is, by class of the bag, (C, C).
        unattended: The same where attention is not, (C, C).
        localisation: Measures against known relevance, None where none is known.
        notes: What was recognised of a model from elsewhere, and what was not tested.

    Example:
        >>> import torch
        >>> from foveate import FCAM, Bag, examine, linear
        >>> with torch.random.fork_rng(devices=[]):
        ...     model = FCAM(linear(2, 1), linear(2, 2))
        >>> trust = examine(model, Bag(torch.ones(4, 3, 2), torch.tensor([0, 1, 0, 1])))
        >>> trust.members, trust.bags, list(trust.answers)[:2]
        (1, 4, ['evidence', 'looks'])
    """

    paradigm: str
    classes: tuple[str, ...]
    members: int
    bags: int
    relevant: int
    relevant_from: str
    verdict: Verdict
    score: float
    chance: float
    scores: tuple[float, ...]
    model_score: float
    model_scores: tuple[float, ...]
    by_class: tuple[dict[str, Any], ...]
    by_model: tuple[dict[str, Any], ...]
    answers: dict[str, Answer]
    examples: tuple[dict[str, Any], ...]
    audited: dict[str, int]
    evidence: dict[str, Interval]
    curves: dict[str, list[float]]
    attended: list[list[float]]
    unattended: list[list[float]]
    localisation: dict[str, Any] | None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it: numbers that do not exist are null."""
        values: dict[str, Any] = json_values.to_json(asdict(self))
        return values
