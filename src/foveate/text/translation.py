"""Training of a translation model as in [snell21] A.8, and its translations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from foveate.metrics.bleu import bleu
from foveate.randomness import generator
from foveate.records.record import Array
from foveate.text.corpora import Pairs, SentencePairs
from foveate.text.loop import MemberTraining, built
from foveate.text.models.decoding import translate
from foveate.text.models.seq2seq import Attention, Readout, Seq2Seq, shifted
from foveate.text.probes.pairs import PairBatch, append_end
from foveate.text.tokens import Epochs, Tokens, Vocabulary

__all__ = [
    "PairStream",
    "Translator",
    "checkpoints",
    "example_pair",
    "joined",
    "translated_bleu",
    "translation_loss",
    "translation_training",
    "translator",
]

EXAMPLE_LENGTHS = (7, 12)  # least and most words of the sentence shown in figures
Measure = Callable[[Seq2Seq, int], Mapping[str, Array]]


@dataclass(frozen=True)
class Translator:
    """Sizes of a translation model, and how it is trained. [snell21] A.8

    Args:
        d: Size of embeddings and states.
        layers: Layers of encoder and decoder.
        dropout: Share dropped between layers while training.
        batch: Pairs to a step.
        lr: Learning rate of Adam.
        readout: See :class:`foveate.text.models.seq2seq.Seq2Seq`.
        attention: "uniform" holds attention equal.
    """

    d: int = 256
    layers: int = 2
    dropout: float = 0.5
    batch: int = 16
    lr: float = 1e-3
    readout: Readout = "relu"
    attention: Attention = "free"

    def uniform(self) -> "Translator":
        """The same with attention held uniform."""
        return replace(self, attention="uniform")


def checkpoints(steps: int) -> list[int]:
    """Steps to measure at: 0, 50, 100, 500, 1000, 1500, then every 2,000, and the last. A.8

    Example:
        >>> checkpoints(4500)
        [0, 50, 100, 500, 1000, 1500, 2000, 4000, 4500]
    """
    first = (0, 50, 100, 500, 1000, 1500)
    return sorted({*(step for step in first if step < steps), *range(2000, steps, 2000), steps})


def translator(data: SentencePairs, sizes: Translator, *name: str | int) -> Seq2Seq:
    """A new model for the words of ``data``; ``name`` decides its weights.

    Source and target share words and embeddings where they share a vocabulary of pieces.
    """
    shared = data.target_vocabulary is data.source_vocabulary
    make = partial(
        Seq2Seq,
        len(data.source_vocabulary),
        sizes.d,
        layers=sizes.layers,
        both=True,
        dropout=sizes.dropout,
        readout=sizes.readout,
        attention=sizes.attention,
        outputs=None if shared else len(data.target_vocabulary),
    )
    return built(make, "translation", *name)  # type: ignore[return-value]


def joined(*parts: Pairs) -> Pairs:
    """The pairs of all parts, one after the other, without their links."""
    source = _concatenated([part.source for part in parts])
    return Pairs(source, _concatenated([part.target for part in parts]))


def example_pair(pairs: Pairs) -> int:
    """The first pair of middling length, which figures show."""
    low, high = EXAMPLE_LENGTHS
    usable = ((pairs.lengths >= low) & (pairs.lengths <= high)).all(1).nonzero()
    return int(usable[0]) if len(usable) else 0


def _concatenated(parts: list[Tokens]) -> Tokens:
    lengths = torch.cat([part.lengths for part in parts])
    start = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return Tokens(torch.cat([part.ids for part in parts]), start)


class PairStream:
    """The pairs of every step, of similar length, determined by ``name`` and the step.

    Args:
        pairs: Training pairs.
        size: Pairs to a step.
        name: Name of the random stream.
    """

    def __init__(self, pairs: Pairs, size: int, *name: str | int) -> None:
        self.source, self.target = pairs.source, append_end(pairs.target)
        self.epochs = Epochs(pairs.lengths, size, "order of pairs", *name)

    def at(self, step: int) -> PairBatch:
        """The batch of step 1, 2, …"""
        return PairBatch.of(self.source, self.target, self.epochs.rows(step))


def translation_loss(model: Seq2Seq, batch: PairBatch, noise: torch.Generator | None) -> Tensor:
    """Cross-entropy, the mean over target words with END; padding is excluded."""
    reading = model.read(batch.x, shifted(batch.y), batch.mask, noise)
    context, s = model.context(reading)[batch.real], reading.s[batch.real]
    return nn.functional.cross_entropy(model.logits(context, s), batch.y[batch.real])


def translation_training(
    model: Seq2Seq, train: Pairs, sizes: Translator, measure: Measure, *name: str | int
) -> MemberTraining:
    """The training of ``model``; ``name`` identifies the random streams of order and dropout.

    Args:
        model: The model.
        train: Training pairs.
        sizes: Batch, learning rate and dropout.
        measure: Called as ``measure(model, step)`` at every checkpoint.
        name: Data set, kind of model, seed.
    """
    stream = PairStream(train, sizes.batch, *name)

    def loss(step: int) -> Tensor:
        return translation_loss(model, stream.at(step), generator("dropout", *name, step))

    return MemberTraining(model, loss, lambda step: dict(measure(model, step)), sizes.lr)


def translated_bleu(
    model: Seq2Seq, pairs: Pairs, vocabulary: Vocabulary, *, width: int, most: int
) -> float:
    """BLEU of the model's translations of ``pairs``, from 0 to 100.

    The reference is the target as its pieces, or words, spell it.

    Args:
        model: The model.
        pairs: Sentences and references.
        vocabulary: Words of the targets.
        width: Width of the beam; 1 is greedy.
        most: At most so many words to a translation, END included.
    """
    translations = translate(model, pairs.source, most=most, width=width)
    references = [vocabulary.text(pairs.target[i]) for i in range(len(pairs))]
    return bleu([vocabulary.text(words) for words in translations], references)
