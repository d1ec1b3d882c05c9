"""ReLU networks that run as one function."""

from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["Layers"]

MANY = 2**20  # numbers of a layer's inputs: above, a product with a turned weight is a fifth slower


class Layers(nn.Sequential):
    """A flattening, then linear layers with a ReLU between any two.

    It gives what its layers give one after another; as one function it is a fifth faster in a
    stack. Where a layer is of another kind, or someone looks at its output, they run one by one.
    """

    def forward(self, x: Tensor) -> Tensor:
        kinds = [type(layer) for layer in self]
        plain = [nn.Flatten, *[nn.Linear, nn.ReLU] * (len(kinds) // 2 - 1), nn.Linear]
        if kinds != plain or any(layer._forward_hooks for layer in self):
            return super().forward(x)
        pairs = [(layer.weight, layer.bias) for layer in self if isinstance(layer, nn.Linear)]
        return _Chain.apply(x.flatten(1), *(part for pair in pairs for part in pair))[-1]


class _Chain(torch.autograd.Function):
    """From x (…, N, d) and the weights (…, o, i) and biases (…, o) of all layers to their outputs.

    Biases are added and negative numbers cut off in place, and the gradient of a weight is made in
    the order in which the weight lies.
    """

    @staticmethod
    def forward(x: Tensor, *parameters: Any) -> tuple[Tensor, ...]:
        outputs: list[Tensor] = []
        for w, b in zip(parameters[::2], parameters[1::2], strict=True):
            h = outputs[-1].relu_() if outputs else x
            out = h @ (w.mT if h.numel() < MANY else w.mT.contiguous())
            outputs.append(out if b is None else out.add_(b.unsqueeze(-2)))
        return tuple(outputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output[:-1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs, *output[:-1])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, ...]:
        x, *kept = ctx.saved_tensors
        depth = len(grads)
        weights, biases = kept[: 2 * depth : 2], kept[1 : 2 * depth : 2]
        below, d, found = (x, *kept[2 * depth :]), grads[-1], []
        scale: Tensor | None = None  # of d's columns, still to be multiplied on what is made of d
        for k in reversed(range(depth)):
            bias = None if biases[k] is None else d.sum(-2)
            weight, w = _outer(d, below[k]), weights[k]
            if scale is not None:
                bias = None if bias is None else bias * scale
                weight, w = weight * scale.unsqueeze(-1), w * scale.unsqueeze(-1)
            found += [bias, weight]
            if k and w.shape[-2] == 1:  # d is one column: its product with w waits
                d, scale = d.expand(below[k].shape), w[..., 0, :]
            elif k or ctx.needs_input_grad[0]:
                d, scale = d @ w, None
            if k:
                d = torch.ops.aten.threshold_backward(d, below[k], 0)
        return d if ctx.needs_input_grad[0] else None, *reversed(found)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Tensor | None) -> Any:
        members = [_by_member(info.batch_size, *pair) for pair in zip(inputs, in_dims, strict=True)]
        outputs = _Chain.apply(*members)
        return outputs, (0,) * len(outputs)


def _by_member(size: int, part: Tensor | None, axis: int | None) -> Tensor | None:
    if part is None:
        return None
    return part.expand(size, *part.shape) if axis is None else part.movedim(axis, 0)


def _outer(d: Tensor, h: Tensor) -> Tensor:
    """The products dᵀh, shape (…, o, i), in the order that suits how the factors lie in memory."""
    if d.shape[-1] == 1 or h.stride(-2) < h.stride(-1):
        return (h.mT @ d).mT
    return d.mT @ h
