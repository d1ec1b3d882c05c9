r"""Long short-term memory over ragged texts, with a custom backward pass.

:math:`(i, f, o, g) = W_x x_t + W_h h_{t-1} + b`, :math:`c_t = σ(f) c_{t-1} + σ(i) \tanh g`,
:math:`h_t = σ(o) \tanh c_t`, as in torch's ``nn.LSTM`` but for the order of the gates. Two things
make it faster: words come as ids, so :math:`W_x` multiplies every word of a batch once, however
often it occurs; and the gradient of :math:`W_h` is one product over all steps in place of one per
step. After the end of a text the state is constant, so padding never reaches a state.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

__all__ = ["LSTM", "State", "drop", "look_up"]


class State(NamedTuple):
    """Hidden and cell state of one layer, each (B, d)."""

    h: Tensor
    c: Tensor


class _Recurrence(torch.autograd.Function):
    """All steps of one layer in one direction, time first."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, h0: Tensor, c0: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """From gate inputs (T, B, 4d), W_h (4d, d) and the first state to h (T, B, d), last c."""
        steps, rows, d = inputs.shape[0], *h0.shape
        gates = torch.empty_like(inputs)
        h = inputs.new_empty(steps + 1, rows, d)
        c, squashed = torch.empty_like(h), inputs.new_empty(steps, rows, d)
        h[0], c[0] = h0, c0
        transposed = weight.t().contiguous()
        for t in range(steps):
            torch.addmm(inputs[t], h[t], transposed, out=gates[t])
            gates[t, :, : 3 * d].sigmoid_()
            gates[t, :, 3 * d :].tanh_()
            i, f, o, g = gates[t].split(d, 1)
            torch.mul(f, c[t], out=c[t + 1]).addcmul_(i, g)
            torch.tanh(c[t + 1], out=squashed[t])
            torch.mul(o, squashed[t], out=h[t + 1])
            if mask is not None:
                _keep_finished_states(h, t, mask[t])
                _keep_finished_states(c, t, mask[t])
        ctx.save_for_backward(gates, h, c, squashed, weight)
        ctx.mask = mask
        return h[1:], c[-1]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Backpropagation through time; the weights' gradient is one product over all steps."""
        gates, h, c, squashed, weight = ctx.saved_tensors
        mask, (dh_all, dc) = ctx.mask, grads
        steps, _, d = squashed.shape
        dgates = torch.empty_like(gates)
        dh, dc = torch.zeros_like(h[0]), dc.clone()
        for t in reversed(range(steps)):
            dh = dh + dh_all[t]
            finished = None if mask is None else ~mask[t][:, None]
            i, f, o, g = gates[t].split(d, 1)
            through = torch.addcmul(dc, dh * o, 1 - squashed[t].square())
            gate_gradient = dgates[t]
            torch.mul(through * g, i - i * i, out=gate_gradient[:, :d])
            torch.mul(through * c[t], f - f * f, out=gate_gradient[:, d : 2 * d])
            torch.mul(dh * squashed[t], o - o * o, out=gate_gradient[:, 2 * d : 3 * d])
            torch.mul(through * i, 1 - g.square(), out=gate_gradient[:, 3 * d :])
            if finished is None:
                dh, dc = gate_gradient @ weight, through * f
            else:
                gate_gradient.masked_fill_(finished, 0.0)
                dh = torch.where(finished, dh, gate_gradient @ weight)
                dc = torch.where(finished, dc, through * f)
        dweight = dgates.reshape(-1, 4 * d).t() @ h[:-1].reshape(-1, d)
        return dgates, dweight, dh, dc, None


def _keep_finished_states(states: Tensor, t: int, unfinished: Tensor) -> None:
    """Where a text has ended, step t + 1 repeats step t."""
    states[t + 1] = torch.where(unfinished[:, None], states[t + 1], states[t])


class _Layer(nn.Module):
    """One layer in one direction, initialised as torch's ``nn.LSTM``."""

    def __init__(self, inputs: int, d: int) -> None:
        super().__init__()
        self.w_x = nn.Parameter(torch.empty(4 * d, inputs))
        self.w_h = nn.Parameter(torch.empty(4 * d, d))
        # Two biases, as the published numbers of parameters count them.
        self.b_x = nn.Parameter(torch.empty(4 * d))
        self.b_h = nn.Parameter(torch.empty(4 * d))
        self.d = d
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights from the uniform distribution on ±1/√d."""
        bound = self.d**-0.5
        for weight in (self.w_x, self.w_h, self.b_x, self.b_h):
            nn.init.uniform_(weight, -bound, bound)

    def gate_inputs(self, x: Tensor) -> Tensor:
        """Gate inputs from the words or the layer below, (…, 4d)."""
        return nn.functional.linear(x, self.w_x, self.b_x + self.b_h)

    def forward(
        self, inputs: Tensor, mask: Tensor | None, first: State | None
    ) -> tuple[Tensor, State]:
        if first is None:
            zero = inputs.new_zeros(inputs.shape[1], self.d)
            first = State(zero, zero)
        h, c = _Recurrence.apply(inputs, self.w_h, first.h, first.c, mask)
        return h, State(h[-1], c)


class _Level(nn.Module):
    """One layer in one direction or both, concatenated."""

    def __init__(self, inputs: int, d: int, directions: int) -> None:
        super().__init__()
        self.forth = _Layer(inputs, d)
        self.back = _Layer(inputs, d) if directions == 2 else None

    def forward(
        self, x: "Tensor | _Words", unfinished: Tensor | None, first: State | None
    ) -> tuple[Tensor, State]:
        """States (L, B, ways·d) and the last state, the mean of both directions."""
        h, last = self.forth(_gate_inputs(self.forth, x), unfinished, first)
        if self.back is None:
            return h, last
        # Reversed, padding comes first, and the state keeps its initial value.
        reversed_unfinished = None if unfinished is None else unfinished.flip(0)
        other, end = self.back(_gate_inputs(self.back, x).flip(0), reversed_unfinished, first)
        mean = State((last.h + end.h) / 2, (last.c + end.c) / 2)
        return torch.cat([h, other.flip(0)], -1), mean


class LSTM(nn.Module):
    """A stack of layers, in one direction or both.

    Args:
        inputs: Size of an embedding.
        d: Size of a state (in each direction).
        layers: Number of layers.
        both: Whether the LSTM is bidirectional.
        dropout: Share of the values between layers set to 0 while training.
    """

    def __init__(
        self, inputs: int, d: int, *, layers: int = 1, both: bool = False, dropout: float = 0.0
    ) -> None:
        super().__init__()
        directions = 2 if both else 1
        sizes = [inputs] + [directions * d] * (layers - 1)
        self.levels = nn.ModuleList(_Level(size, d, directions) for size in sizes)
        self.dropout = dropout
        self.out = directions * d

    def forward(
        self,
        ids: Tensor,
        table: Tensor,
        mask: Tensor | None = None,
        first: list[State] | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, list[State]]:
        """The states of texts of word ids.

        Args:
            ids: Words, shape (B, L).
            table: Embeddings, shape (V, inputs).
            mask: True where there is a word, shape (B, L), words first; None where all are.
            first: State of every layer before the first word; None for 0.
            generator: Draws the dropout; None means no dropout.

        Returns:
            The last layer's states, shape (B, L, out), and the last state of every layer, the mean
            of both directions where there are two.
        """
        x: Tensor | _Words = _Words(ids.t(), table)
        unfinished = None if mask is None or bool(mask.all()) else mask.t()
        last = []
        for depth, level in enumerate(self.levels):
            h, end = level(x, unfinished, None if first is None else first[depth])
            last.append(end)
            x = drop(h, self.dropout, generator)
        return h.transpose(0, 1), last


class _Words:
    """Words of a batch, time first; each different one passes through a layer's input map once."""

    def __init__(self, ids: Tensor, table: Tensor) -> None:
        self.unique, self.position = ids.unique(return_inverse=True)
        self.table = table

    def through(self, layer: _Layer) -> Tensor:
        """The gate inputs of every word, (L, B, 4d)."""
        return look_up(layer.gate_inputs(look_up(self.table, self.unique)), self.position)


def _gate_inputs(layer: _Layer, x: "Tensor | _Words") -> Tensor:
    return x.through(layer) if isinstance(x, _Words) else layer.gate_inputs(x)


def look_up(table: Tensor, ids: Tensor) -> Tensor:
    """Rows of a table, shape (*ids.shape, d); the gradient adds up rows that repeat."""
    return nn.functional.embedding(ids, table)


def drop(x: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    """Dropout: set a share of the values to 0 and scale up the others; none without a generator."""
    if generator is None or not share:
        return x
    keep = torch.rand(x.shape, generator=generator) >= share
    return x * keep / (1 - share)
