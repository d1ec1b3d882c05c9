"""The networks of the papers, by name: convolutional ones, word vectors, and small ones."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import torch
from torch import Tensor, nn

from foveate.errors import FoveateError
from foveate.models.nets import NETS, Pair, linear, mlp

__all__ = ["VOCABULARY_ROWS", "Convolution"]

VOCABULARY_ROWS = 2**15  # rows of the embedding table where the number of words is not given


class Convolution(nn.Conv2d):
    """A convolution in the channels-last memory format.

    On a CPU, forward and backward pass with the pooling that follows take half the time.
    """

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.contiguous(memory_format=torch.channels_last))


@NETS.register("mode3")
def _mode3(shape: tuple[int, ...], classes: int, last: bool) -> Pair:
    """Linear f and g d-20-20-k, as in the third error mode. [pvr22] Sec. 4.3"""
    if last:
        raise FoveateError("a linear focus network has no hidden layer to average")
    return Pair(linear(prod(shape), 1), mlp(prod(shape), classes, (20, 20)))


@NETS.register("gaussians")
def _gaussians(shape: tuple[int, ...], classes: int, last: bool) -> Pair:
    """f d-50-50-1; g d-50-k, or 50-50-k on f's last hidden layer. [pvr22] appendix

    The released f has no biases and Xavier-normal weights; with biases it always finds the
    foreground, and the published error does not occur.
    """
    f = mlp(prod(shape), 1, (50, 50), bias=False)
    _xavier(f)
    return Pair(f, mlp(50 if last else prod(shape), classes, (50,)), "hidden2" if last else None)


@NETS.register("vr23")
def _vr23(shape: tuple[int, ...], classes: int, last: bool) -> Pair:
    """The CIFAR networks of the released code. [vr23] Sec. 2.4

    Up to ten classes the CIFAR-10 pair (613,866 and, with three classes, 62,039 parameters); above,
    the CIFAR-100 pair (613,280 and, with fifty classes, 116,218).
    """
    _needs_cifar(shape, "vr23")
    few_classes = classes <= 10
    f = nn.Sequential(
        *_conv(3, 32, 3, pool=True, bias=False),
        *_conv(32, 64, 3, pool=True, bias=False),
        *_conv(64, 64, 3, pool=False, bias=False),
        nn.Flatten(),
        *_dense((1024, 512, 64, 10, 1) if few_classes else (1024, 512, 64, 1), bias=False),
    )
    _xavier(f)
    if last:
        return Pair(f, nn.Sequential(*_dense((64, 64, classes))), _name_of_last(f, 64))
    a, b = (6, 16) if few_classes else (16, 32)
    tail = (25 * b, 120, 84, 10, classes) if few_classes else (25 * b, 120, classes)
    g = nn.Sequential(
        *_conv(3, a, 5, pool=True), *_conv(a, b, 5, pool=True), nn.Flatten(), *_dense(tail)
    )
    return Pair(f, g)


@NETS.register("pvr22")
def _pvr22(shape: tuple[int, ...], classes: int, last: bool) -> Pair:
    """The CIFAR networks of Table 2, with batch normalisation. [pvr22] Sec. 6.1

    The last layer is f's sixth convolution; its map is classified by the head of g alone.
    """
    _needs_cifar(shape, "pvr22")
    f = nn.Sequential()
    for k, (a, b) in enumerate(
        zip((3, 32, 64, 64, 128, 256), (32, 64, 64, 128, 256, 256), strict=True), 1
    ):
        f.add_module(f"conv{k}", Convolution(a, b, 3, padding=int(k == 6)))
        f.add_module(f"relu{k}", nn.ReLU())
        f.add_module(
            f"norm{k}" if k % 2 else f"pool{k}", nn.BatchNorm2d(b) if k % 2 else nn.MaxPool2d(2)
        )
    f.add_module("head", nn.Sequential(nn.Flatten(), *_dense((256, 64, 32, 10, 1))))
    if last:
        head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), *_dense((256, 128, classes)))
        return Pair(f, head, "relu6")
    blocks: list[nn.Module] = []
    for k, (a, b) in enumerate(
        zip((3, 128, 128, 256, 256, 512), (128, 128, 256, 256, 512, 512), strict=True), 1
    ):
        blocks += [Convolution(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU()]
        blocks += [nn.MaxPool2d(2)] if k % 2 == 0 else []
    return Pair(
        f,
        nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), *_dense((512, 128, classes))),
    )


@NETS.register("hatexplain-1")
def _hatexplain_1(shape: tuple[int, ...], classes: int, last: bool) -> Pair:
    """Word vectors of 100 numbers, f 100-200-1 and g 100-200-k on them. [vr23] Sec. 5

    Segments are word ids, of shape (); a shape (W,) gives the number of words. The word
    vectors are averaged, since ids cannot be, or f's hidden layer.
    """
    f = nn.Sequential()
    f.add_module("words", nn.Embedding(shape[0] if shape else VOCABULARY_ROWS, 100))
    f.add_module("score", mlp(100, 1, (200,)))
    g = mlp(200 if last else 100, classes, (200,))
    return Pair(f, g, "score.hidden1" if last else "words")


def _conv(a: int, b: int, size: int, *, pool: bool, bias: bool = True) -> list[nn.Module]:
    # Pooled before the ReLU: the same values and gradients, a quarter of the numbers.
    pooled = [nn.MaxPool2d(2)] if pool else []
    return [Convolution(a, b, size, bias=bias), *pooled, nn.ReLU()]


def _dense(widths: Sequence[int], bias: bool = True) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for a, b in pairwise(widths):
        layers += [nn.Linear(a, b, bias=bias), nn.ReLU()]
    return layers[:-1]


def _xavier(net: nn.Module) -> None:
    for module in net.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.xavier_normal_(module.weight)


def _name_of_last(f: nn.Sequential, width: int) -> str:
    """The name of the activation after the last linear layer of a width."""
    layers = [
        k
        for k, module in enumerate(f)
        if isinstance(module, nn.Linear) and module.out_features == width
    ]
    return str(layers[-1] + 1)


def _needs_cifar(shape: tuple[int, ...], name: str) -> None:
    if shape != (3, 32, 32):
        raise FoveateError(f"net '{name}' reads 3×32×32 images, got segments of shape {shape}")
