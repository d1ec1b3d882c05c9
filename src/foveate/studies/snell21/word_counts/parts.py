"""The work of each part of the word counts; all of it takes seconds."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from foveate.data.files.hub import is_available
from foveate.dynamics import snell21
from foveate.records.record import Array, Record
from foveate.studies.snell21.word_counts.toys import TOYS
from foveate.text.corpora import Pairs, load_pairs
from foveate.text.statistics.cooccurrence import bags, count_table, translation_probabilities
from foveate.text.statistics.ibm1 import fit_ibm1
from foveate.text.statistics.information import information
from foveate.text.statistics.optimal_attention import optimal_attention
from foveate.text.statistics.word_pairs import number
from foveate.text.tokens import Tokens
from foveate.types import StepProgress

if TYPE_CHECKING:
    from foveate.studies.snell21.word_counts import WordCountsSettings

__all__ = ["GAMMA", "counts", "derivative", "example", "tables"]


GAMMA = ((0.0, 0.0, 0.0), (0.0, -10.0, 5.0), (0.0, 5.0, -10.0))  # [snell21] A.1


def derivative(settings: "WordCountsSettings", _: Path, progress: StepProgress) -> Record:
    """Relative deviations from the limits, (dimension, seed): ``gamma``, ``theta``, ``printed``."""
    source, target = _renumber_words(load_pairs("made-up", train=settings.pairs).train)
    size = int(source.ids.max()) + 1, int(target.ids.max()) + 1
    texts = bags(source, size[0]), bags(target, size[1])
    table = count_table(source, target, size)
    limit, limit_theta = snell21.logit_limit(table), snell21.probability_limit(table)
    errors = np.empty((3, len(settings.dimensions), settings.seeds))
    for k, d in enumerate(settings.dimensions):
        for seed in range(settings.seeds):
            weights = snell21.initial(size, d, seed)
            theta = snell21.probability_rate(*weights, *texts)
            errors[0, k, seed] = _relative_error(snell21.logit_rate(*weights, *texts), limit)
            errors[1, k, seed] = _relative_error(theta, limit_theta)
            errors[2, k, seed] = _relative_error(theta, limit)
        progress(k + 1, len(settings.dimensions))
    values = dict(zip(("gamma", "theta", "printed"), errors, strict=True))
    about = {"inputs": size[0], "outputs": size[1], "pairs": len(source)}
    return Record(np.array(settings.dimensions, float), values, {}, about)


def counts(settings: "WordCountsSettings", _: Path, progress: StepProgress) -> Record:
    """For each corpus the largest difference between the two tables, and C's largest entry."""
    corpora = {"made-up": load_pairs("made-up", train=settings.pairs).train}
    if settings.multi30k and is_available("multi30k", "bentrevett/multi30k"):
        corpora["multi30k"] = load_pairs("multi30k", unit="words", train=settings.multi30k).train
    rows = []
    for done, pairs in enumerate(corpora.values(), 1):
        table = count_table(pairs.source, pairs.target)
        gap = abs(fit_ibm1(pairs.source, pairs.target, table.shape, iterations=1).counts - table)
        rows.append((gap.max(), table.max(), table.nnz))
        progress(done, len(corpora))
    columns = zip(("difference", "largest", "entries"), np.array(rows, float).T, strict=True)
    about = {"corpora": list(corpora), "pairs": [len(pairs) for pairs in corpora.values()]}
    return Record(np.zeros(1), {name: column[None] for name, column in columns}, {}, about)


def example(settings: "WordCountsSettings", _: Path, progress: StepProgress) -> Record:
    """The pathological example: β, the optimal α with its certificate, the loss on a grid."""
    gamma = torch.tensor(GAMMA, dtype=torch.float64)
    solution = optimal_attention(gamma[None], torch.eye(3), torch.zeros(1, 1, dtype=torch.long))
    steps = np.arange(settings.grid + 1) / settings.grid
    alpha = np.array([(1 - b - c, b, c) for b in steps for c in steps if b + c <= 1 + 1e-12])
    loss = -(torch.from_numpy(alpha) @ gamma).log_softmax(1)[:, 0]
    final = {
        "beta": gamma.softmax(1)[None, :, 0].numpy(),
        "alpha": solution.alpha[0].numpy(),
        "loss": solution.loss[0].numpy(),
        "gap": solution.gap[0].numpy(),
        "grid": alpha[None],
        "grid_loss": loss[None].numpy(),
    }
    progress(1, 1)
    return Record(np.zeros(1), {}, final, {})


def tables(settings: "WordCountsSettings", _: Path, progress: StepProgress) -> Record:
    """The count table of each tiny task, and the information within its sentences."""
    final, information_by_name = {}, {}
    for name, toy in TOYS.items():
        source, target = toy.tokens()
        table = count_table(source, target, (len(toy.inputs), len(toy.outputs)))
        final[name] = table.toarray()[None]
        information_by_name[name] = float(
            information(translation_probabilities(table, source, target).shares()).mean()
        )
    progress(1, 1)
    return Record(np.zeros(1), {}, final, {"information": information_by_name})


def _relative_error(rate: Array, limit: Array) -> float:
    return float(np.linalg.norm(rate - limit) / np.linalg.norm(limit))


def _renumber_words(pairs: Pairs) -> tuple[Tokens, Tokens]:
    """The pairs with ids for the words they hold, and no others."""

    def renumbered(tokens: Tokens) -> Tokens:
        _, ids = number(tokens.ids.numpy())
        return Tokens(torch.from_numpy(ids.astype(np.int64)), tokens.start)

    return renumbered(pairs.source), renumbered(pairs.target)
