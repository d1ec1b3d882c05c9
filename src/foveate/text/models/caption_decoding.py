"""Decoding of captions: the interface of greedy and beam search for a captioner."""

from dataclasses import dataclass

from torch import Tensor, nn

from foveate.text.models.captioner import (
    Captioner,
    CaptionOutput,
    ReadRule,
    State,
    features_at,
    position_read,
)

__all__ = ["CaptionDecoder"]


@dataclass(frozen=True)
class _DecodingState:
    """State of unfinished captions: images (n, …) once, states (n·k, hidden) per caption."""

    a: Tensor
    keys: Tensor
    h: Tensor
    c: Tensor

    def take(self, rows: Tensor) -> "_DecodingState":
        """Other captions of the same images: those of an image together, as many for each."""
        return _DecodingState(self.a, self.keys, self.h[rows], self.c[rows])


class CaptionDecoder:
    """A captioner that decodes word by word, for :mod:`foveate.text.models.decoding`.

    Args:
        model: The captioner.
        a: Features of n images, shape (n, L, d); :meth:`steps` takes rows of them.
        read_rule: "soft" or "top".
    """

    def __init__(self, model: Captioner, a: Tensor, read_rule: ReadRule) -> None:
        self.model, self.a, self.read_rule = model, a, read_rule
        self.table = model.table

    def steps(self, x: Tensor, mask: Tensor | None = None) -> _DecodingState:
        """Begin a caption for each of the images x (n,)."""
        a = self.a[x]
        state = self.model.begin(a, 1)
        return _DecodingState(a, self.model.key(a), state.h[:, 0], state.c[:, 0])

    def step(self, word: Tensor, decoding: _DecodingState) -> tuple[Tensor, _DecodingState]:
        """Scores of the next word (n·k, V) after ``word`` (n·k,), and the next state."""
        model, n = self.model, len(decoding.a)
        y_in, h, c = word.view(n, -1, 1), decoding.h.view(n, -1, decoding.h.shape[1]), decoding.c
        weights = model.attend(decoding.keys, h)
        position = position_read(weights, self.read_rule, None)
        context = weights @ decoding.a if position is None else features_at(decoding.a, position)
        embedded = model.from_word(nn.functional.embedding(y_in[..., 0], model.table))
        state = model.advance(embedded, context, State(h, c.view_as(h)))
        output = CaptionOutput(state.h[:, :, None], context[:, :, None], weights, weights)
        logits = model.logits(output, y_in).flatten(0, 2)
        return logits, _DecodingState(
            decoding.a, decoding.keys, state.h.flatten(0, 1), state.c.flatten(0, 1)
        )
