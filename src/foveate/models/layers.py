"""ReLU networks as one autograd function."""

from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["Layers"]

LARGE_INPUT = (
    2**20
)  # numbers of a layer's input: above, a product with a transposed weight is slower


class Layers(nn.Sequential):
    """A flattening, then linear layers with a ReLU between any two.

    It computes the same as the layers in sequence; as one function it is a fifth faster in a stack.
    If a layer has another type or a forward hook, the layers run one by one.
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

    Biases and ReLUs are applied in place, and the gradient of a weight has the memory layout of the
    weight.
    """

    @staticmethod
    def forward(x: Tensor, *parameters: Any) -> tuple[Tensor, ...]:
        outputs: list[Tensor] = []
        for w, b in zip(parameters[::2], parameters[1::2], strict=True):
            h = outputs[-1].relu_() if outputs else x
            out = h @ (w.mT if h.numel() < LARGE_INPUT else w.mT.contiguous())
            outputs.append(out if b is None else out.add_(b.unsqueeze(-2)))
        return tuple(outputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output[:-1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs, *output[:-1])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, ...]:
        x, *saved = ctx.saved_tensors
        depth = len(grads)
        weights, biases = saved[: 2 * depth : 2], saved[1 : 2 * depth : 2]
        below, d, gradients = (x, *saved[2 * depth :]), grads[-1], []
        scale: Tensor | None = None  # factor of d's columns, applied to the products with d
        for k in reversed(range(depth)):
            bias = None if biases[k] is None else d.sum(-2)
            weight, w = _outer(d, below[k]), weights[k]
            if scale is not None:
                bias = None if bias is None else bias * scale
                weight, w = weight * scale.unsqueeze(-1), w * scale.unsqueeze(-1)
            gradients += [bias, weight]
            if k and w.shape[-2] == 1:  # d is one column: postpone its product with w
                d, scale = d.expand(below[k].shape), w[..., 0, :]
            elif k or ctx.needs_input_grad[0]:
                d, scale = d @ w, None
            if k:
                d = torch.ops.aten.threshold_backward(d, below[k], 0)
        return d if ctx.needs_input_grad[0] else None, *reversed(gradients)

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
    """The products dᵀh, shape (…, o, i), in the faster order for the layout of the factors."""
    if d.shape[-1] == 1 or h.stride(-2) < h.stride(-1):
        return (h.mT @ d).mT
    return d.mT @ h
