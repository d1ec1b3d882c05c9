"""Forward and backward pass of fully connected networks of a stack, into reused memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from foveate.models.focus import FCAM
from foveate.models.nets import Layers, Linear

__all__ = ["Chain", "Layer", "Memory", "Table", "layers_of", "table_of"]

ACTIVATIONS = {nn.ReLU: "relu", nn.Tanh: "tanh"}
threshold_backward = torch.ops.aten.threshold_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input


@dataclass(frozen=True)
class Layer:
    """An affine layer in the rows of a parameter matrix, and the activation that follows it.

    Args:
        weight: Column of the matrix where the weight starts.
        bias: Column where the bias starts; None if there is none.
        outputs: Number of outputs.
        inputs: Number of inputs.
        activation: "relu", "tanh" or "" for none.
    """

    weight: int
    bias: int | None
    outputs: int
    inputs: int
    activation: str


def layers_of(module: nn.Module, prefix: str, starts: Mapping[str, int]) -> list[Layer] | None:
    """The layers of a network of affine maps with ReLU or tanh between them; None for any other.

    Args:
        module: The network.
        prefix: Its name in the model.
        starts: The column at which each named parameter of the model starts.
    """
    if type(module) not in (nn.Sequential, Layers):
        return None
    parts = [part for part in module.named_children() if not _flattens(part[1])]
    linears, between = parts[::2], [part for _, part in parts[1::2]]
    if (
        len(linears) != len(between) + 1
        or any(type(part) not in (nn.Linear, Linear) for _, part in linears)
        or any(type(part) not in ACTIVATIONS for part in between)
        or any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())
    ):
        return None
    names = [f"{prefix}.{name}" for name, _ in linears]
    if any(f"{name}.weight" not in starts for name in names):  # shared with another layer
        return None
    after = [ACTIVATIONS[type(part)] for part in between] + [""]
    return [
        Layer(starts[f"{name}.weight"], starts.get(f"{name}.bias"), *_sizes(part), activation)
        for name, (_, part), activation in zip(names, linears, after, strict=True)
    ]


def _sizes(layer: nn.Module) -> tuple[int, int]:
    """Number of outputs and of inputs."""
    outputs, inputs = layer.get_parameter("weight").shape
    return outputs, inputs


def _flattens(part: nn.Module) -> bool:
    return type(part) is nn.Flatten and (part.start_dim, part.end_dim) == (1, -1)


class Table(NamedTuple):
    """An embedding in the rows of a parameter matrix, and the network of f that follows it.

    Args:
        start: Column of the matrix where it starts.
        rows: Number of its rows.
        d: Numbers of a row.
        network: The rest of f.
        prefix: Name of the rest of f in the model.
    """

    start: int
    rows: int
    d: int
    network: nn.Module
    prefix: str

    def of(self, flat: Tensor) -> Tensor:
        """The table of every member as a view, shape (S, rows, d)."""
        part = flat[:, self.start : self.start + self.rows * self.d]
        return part.unflatten(1, (self.rows, self.d))


def table_of(model: FCAM, starts: Mapping[str, int]) -> Table | None:
    """The table of a model whose f is an embedding and a network, and whose g reads its rows.

    Args:
        model: The model.
        starts: The column at which each named parameter of the model starts.
    """
    f = model.f
    if type(f) is not nn.Sequential or len(f) != 2:
        return None
    (name, words), (others, network) = f.named_children()
    if not isinstance(words, nn.Embedding):
        return None
    options = (words.padding_idx, words.max_norm, words.scale_grad_by_freq, words.sparse)
    if model.layer != name or options != (None, None, False, False) or words._forward_hooks:
        return None
    rows, d = words.weight.shape
    return Table(starts[f"f.{name}.weight"], rows, d, network, f"f.{others}")


class Memory:
    """Named blocks of memory that one step after another uses."""

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self._template = torch.empty(0, dtype=dtype, device=device)
        self._blocks: dict[str, Tensor] = {}

    def of(self, name: str, *shape: int) -> Tensor:
        """A block of a shape with any content; it overwrites other blocks of this name."""
        size = prod(shape)
        block = self._blocks.get(name, self._template)
        if block.numel() < size:
            block = self._blocks[name] = self._template.new_zeros(size)
        return block[:size].view(shape)


class Chain:
    """A network of S members, its activations in columns: from (S, d, N) to (S, o, N).

    Args:
        layers: The layers.
        flat: Parameters of the members, shape (S, P).
        grad: Where their gradients are written, shape (S, P).
        columns: Number of inputs N.
        memory: Where activations are stored.
        name: Prefix of the blocks of memory.
        last_bias: Whether the bias of the last layer is applied and gets a gradient. A constant
            added to all scores does not change attention: its gradient is 0.
    """

    def __init__(
        self,
        layers: list[Layer],
        flat: Tensor,
        grad: Tensor,
        columns: int,
        memory: Memory,
        name: str,
        last_bias: bool = True,
    ) -> None:
        S, last = len(flat), len(layers) - 1
        self.activations = [layer.activation for layer in layers]
        self.weights = [_matrix(flat, layer) for layer in layers]
        self.weight_grads = [_matrix(grad, layer) for layer in layers]
        biased = [
            layer.bias is not None and (k < last or last_bias) for k, layer in enumerate(layers)
        ]
        self.biases = [
            _column(flat, layer) if used else None
            for layer, used in zip(layers, biased, strict=True)
        ]
        self.bias_grads = [
            _column(grad, layer) if used else None
            for layer, used in zip(layers, biased, strict=True)
        ]
        self.outputs = [
            memory.of(f"{name} output {k}", S, layer.outputs, columns)
            for k, layer in enumerate(layers)
        ]
        self._output_rows = [output.mT for output in self.outputs]
        self._transposed = [weight.mT for weight in self.weights]
        self.deltas = [
            memory.of(f"{name} delta {k}", S, layer.outputs, columns)
            for k, layer in enumerate(layers[:-1])
        ]

    def forward(self, x: Tensor) -> Tensor:
        """The outputs (S, o, N) of inputs (S, d, N)."""
        for weight, bias, activation, output in zip(
            self.weights, self.biases, self.activations, self.outputs, strict=True
        ):
            if bias is None:
                torch.bmm(weight, x, out=output)
            else:
                torch.baddbmm(bias, weight, x, out=output)
            if activation == "relu":
                output.relu_()
            elif activation == "tanh":
                output.tanh_()
            x = output
        return x

    def backward(self, d: Tensor, rows: Tensor, into: Tensor | None = None) -> None:
        """Write the gradients of all parameters.

        Args:
            d: Gradient with respect to the outputs, shape (S, o, N).
            rows: The inputs of the forward pass, transposed, shape (S, N, d).
            into: Where the gradient with respect to the inputs is written, shape (S, d, N).
        """
        scale: Tensor | None = None  # factor of the rows of d, applied to the products with d
        for k in reversed(range(len(self.weights))):
            weight, bias_grad = self.weights[k], self.bias_grads[k]
            below = self._output_rows[k - 1] if k else rows
            torch.bmm(d, below, out=self.weight_grads[k])
            if bias_grad is not None:
                torch.sum(d, 2, keepdim=True, out=bias_grad)
            if scale is not None:
                self.weight_grads[k].mul_(scale)
                if bias_grad is not None:
                    bias_grad.mul_(scale)
                weight = weight * scale
            if k:
                d, scale = self._through(weight, d, k - 1)
            elif into is not None:
                transposed = self._transposed[0] if scale is None else weight.mT
                torch.bmm(transposed, d, out=into)

    def _through(self, weight: Tensor, d: Tensor, k: int) -> tuple[Tensor, Tensor | None]:
        """The gradient before activation k, or with one output the same without the factor."""
        delta, scale = self.deltas[k], None
        if weight.shape[1] == 1:  # postpone the product with the single row of the weight
            d, scale = d.expand_as(delta), weight.mT
        else:
            d = torch.bmm(weight.mT, d, out=delta)
        backward = threshold_backward if self.activations[k] == "relu" else tanh_backward
        threshold = (0,) if self.activations[k] == "relu" else ()
        backward(d, self.outputs[k], *threshold, grad_input=delta)
        return delta, scale


def _matrix(flat: Tensor, layer: Layer) -> Tensor:
    part = flat[:, layer.weight : layer.weight + layer.outputs * layer.inputs]
    return part.unflatten(1, (layer.outputs, layer.inputs))


def _column(flat: Tensor, layer: Layer) -> Tensor:
    start = layer.bias or 0
    return flat[:, start : start + layer.outputs].unsqueeze(2)
