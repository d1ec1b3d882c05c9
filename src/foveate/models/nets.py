"""Networks for f and g: the registry, affine maps and ReLU networks."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from foveate.errors import FoveateError
from foveate.registry import Registry

__all__ = ["NETS", "Layers", "Linear", "Pair", "direct", "linear", "mlp", "pair", "with_dropout"]


LARGE_INPUT = (
    2**20
)  # numbers of a layer's input: above, a product with a transposed weight is slower


class Pair(NamedTuple):
    """A focus network, a classifier, and the layer of f that is averaged (None: the segment)."""

    f: nn.Module
    g: nn.Module
    layer: str | None = None


Builder = Callable[..., Pair]
NETS: Registry[Builder] = Registry("net", package="foveate.models")


class Linear(nn.Linear):
    """An affine map that computes a single output of column-major rows without a copy."""

    def forward(self, x: Tensor) -> Tensor:
        if self.out_features == 1 and x.stride(0) < x.stride(1):
            return (self.weight @ x.mT + self.bias).reshape(-1, 1)
        return super().forward(x)


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


def linear(inputs: int, outputs: int) -> nn.Module:
    """An affine map on flattened segments.

    Args:
        inputs: Numbers of a segment.
        outputs: Numbers of the result: 1 for a focus network, C for a classifier.

    Example:
        >>> import torch
        >>> linear(6, 2)(torch.zeros(5, 2, 3)).shape
        torch.Size([5, 2])
    """
    return nn.Sequential(nn.Flatten(), Linear(inputs, outputs))


def mlp(
    inputs: int, outputs: int, hidden: Sequence[int] = (64,), bias: bool = True
) -> nn.Sequential:
    """A ReLU network on flattened segments; hidden layer k is the submodule ``hidden{k}``.

    Args:
        inputs: Numbers of a segment.
        outputs: Numbers of the result: 1 for a focus network, C for a classifier.
        hidden: Widths of the hidden layers.
        bias: Whether the layers have biases.

    Example:
        >>> [name for name, _ in mlp(2, 1, (8, 8)).named_children()]
        ['flat', 'linear1', 'hidden1', 'linear2', 'hidden2', 'out']
    """
    net = Layers()
    net.add_module("flat", nn.Flatten())
    for k, width in enumerate(hidden, 1):
        net.add_module(f"linear{k}", nn.Linear(inputs, width, bias=bias))
        net.add_module(f"hidden{k}", nn.ReLU())
        inputs = width
    net.add_module("out", nn.Linear(inputs, outputs, bias=bias))
    return net


def with_dropout(net: nn.Module, share: float) -> nn.Module:
    """The network with dropout after every ReLU; parameters and names of layers stay.

    Args:
        net: A sequence of layers, possibly nested.
        share: Probability that a hidden number is set to 0 in training.

    Example:
        >>> [name for name, _ in with_dropout(mlp(2, 1), 0.5).named_children()]
        ['flat', 'linear1', 'hidden1', 'hidden1_dropout', 'out']
    """
    if not isinstance(net, nn.Sequential):
        return net
    changed = type(net)()
    for name, layer in net.named_children():
        changed.add_module(name, with_dropout(layer, share))
        if isinstance(layer, nn.ReLU):
            changed.add_module(f"{name}_dropout", nn.Dropout(share))
    return changed


def pair(name: str, shape: Sequence[int], classes: int, layer: str = "zeroth") -> Pair:
    """The registered networks ``name`` for segments of a shape.

    Args:
        name: A name in :data:`NETS`.
        shape: Shape of one segment.
        classes: Number of classes C.
        layer: "zeroth" to average segments, "last" to average f's last hidden layer. [pvr22] Sec. 5

    Example:
        >>> f, g = pair("linear", (2,), 3)[:2]
        >>> g[1].out_features
        3
    """
    if layer not in ("zeroth", "last"):
        raise FoveateError(f"layer must be 'zeroth' or 'last', got '{layer}'")
    return NETS.get(name)(tuple(shape), classes, last=layer == "last")


def direct(shape: Sequence[int], m: int, classes: int, hidden: Sequence[int] = (256,)) -> nn.Module:
    """A classifier of the concatenated bag, for the baseline without attention. [pvr22] Sec. 3.1"""
    return mlp(prod(shape) * m, classes, hidden)


@NETS.register("linear")
def _linear(shape: tuple[int, ...], classes: int, last: bool) -> Pair:
    if last:
        raise FoveateError("a linear focus network has no hidden layer to average")
    return Pair(linear(prod(shape), 1), linear(prod(shape), classes))


@NETS.register("mlp")
def _mlp(shape: tuple[int, ...], classes: int, last: bool) -> Pair:
    f = mlp(prod(shape), 1, (64,))
    return Pair(f, mlp(64 if last else prod(shape), classes, (64,)), "hidden1" if last else None)
