"""A gated recurrent unit with the interface of the LSTM, for the released copy model. [snell21]"""

import torch
from torch import Tensor, nn

from foveate.errors import FoveateError
from foveate.text.models.lstm import State, look_up

__all__ = ["GRU"]


class GRU(nn.Module):
    """One layer in one direction, torch's ``nn.GRU`` over word ids.

    Args:
        inputs: Size of an embedding.
        d: Size of a state.
    """

    def __init__(self, inputs: int, d: int) -> None:
        super().__init__()
        self.cell = nn.GRU(inputs, d)
        self.out = d

    def forward(
        self,
        ids: Tensor,
        table: Tensor,
        mask: Tensor | None = None,
        first: list[State] | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, list[State]]:
        """The states of texts of equal length, (B, L, d), and the last state, as :class:`LSTM`.

        Args:
            ids: Words, shape (B, L).
            table: Embeddings, shape (V, inputs).
            mask: None, or all True: texts of different lengths are not supported.
            first: State before the first word; None for 0.
            generator: Unused; one layer has no dropout.
        """
        if mask is not None and not bool(mask.all()):
            raise FoveateError("the GRU reads texts of equal length only; use the LSTM")
        start = None if first is None else first[0].h[None].contiguous()
        h, _ = self.cell(look_up(table, ids.t()), start)
        return h.transpose(0, 1), [State(h[-1], h[-1])]
