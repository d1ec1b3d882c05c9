"""EfficientNet-Lite0, the frozen encoder of images: plain torch, weights from one file."""

import copy
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from foveate.errors import FoveateError

__all__ = [
    "WEIGHTS",
    "EfficientNetLite0",
    "Layer",
    "SameConv2d",
    "efficientnet_lite0",
    "folded",
    "weights_file",
]

Layer = Literal["block10", "block15", "head", "pooled", "classes"]
"""What is given out: a grid (N, C, h, w), or a row (N, d) an image."""

WEIGHTS = "efficientnet_lite0_imagenet_fp16.safetensors"  # in $FOVEATE_DATA/weights

# Repeats, kernel, first stride, expansion, channels out.
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
STEM, HEAD, CLASSES = 32, 1280, 1000
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, as it was trained
EPS = 1e-3
FOLDS = (
    ("_conv_stem", "_bn0"),
    ("_conv_head", "_bn1"),
    ("_expand_conv", "_bn0"),
    ("_depthwise_conv", "_bn1"),
    ("_project_conv", "_bn2"),
)
COUNTERS = "num_batches_tracked"  # of training; not in the file


class SameConv2d(nn.Conv2d):
    """A convolution with TensorFlow's "SAME" padding: ⌈n/stride⌉ outputs, an odd pixel at the end.

    Example:
        >>> conv = SameConv2d(1, 1, 3, stride=2, bias=False)
        >>> with torch.no_grad():
        ...     _ = conv.weight.fill_(1.0)
        >>> conv(torch.ones(1, 1, 4, 4)).flatten().tolist()  # padded below and to the right only
        [9.0, 6.0, 6.0, 4.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        top, bottom = self._padding(x.shape[2])
        left, right = self._padding(x.shape[3])
        if top == bottom and left == right:  # torch can do this one without a copy
            return F.conv2d(x, self.weight, self.bias, self.stride, (top, left), 1, self.groups)
        padded = F.pad(x, (left, right, top, bottom))
        return F.conv2d(padded, self.weight, self.bias, self.stride, 0, 1, self.groups)

    def _padding(self, n: int) -> tuple[int, int]:
        size, stride = self.kernel_size[0], self.stride[0]
        total = max(0, (-(-n // stride) - 1) * stride + size - n)
        return total // 2, total - total // 2


class _Block(nn.Module):
    """An inverted residual: expand, filter each channel, project; added to the input if it fits."""

    def __init__(self, inputs: int, outputs: int, size: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = inputs * expansion
        self.adds = stride == 1 and inputs == outputs
        if expansion > 1:
            self._expand_conv = SameConv2d(inputs, inner, 1, bias=False)
            self._bn0 = _norm(inner)
        self._depthwise_conv = SameConv2d(inner, inner, size, stride, groups=inner, bias=False)
        self._bn1 = _norm(inner)
        self._project_conv = SameConv2d(inner, outputs, 1, bias=False)
        self._bn2 = _norm(outputs)

    def forward(self, x: Tensor) -> Tensor:
        h = x
        if hasattr(self, "_expand_conv"):
            h = F.relu6(self._bn0(self._expand_conv(h)), inplace=True)
        h = F.relu6(self._bn1(self._depthwise_conv(h)), inplace=True)
        h = self._bn2(self._project_conv(h))
        return h.add_(x) if self.adds else h


class EfficientNetLite0(nn.Module):
    """EfficientNet-Lite0: stem, sixteen inverted residuals, head; 4,652,008 learned numbers.

    Parts are called as in the file of weights, so that it loads strictly.

    Args:
        layer: What it gives out. At 224 pixels a side: 112×14×14 after block 10, 320×7×7 after
            block 15, 1280×7×7 after the head, its mean (1280,), or 1000 logits of ImageNet.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, layer: Layer = "pooled") -> None:
        super().__init__()
        if layer not in get_args(Layer):
            raise FoveateError(f"layer must be one of {', '.join(get_args(Layer))}, got '{layer}'")
        self.layer = layer
        self._conv_stem = SameConv2d(3, STEM, 3, 2, bias=False)
        self._bn0 = _norm(STEM)
        self._blocks = nn.ModuleList()
        inputs = STEM
        for repeats, size, stride, expansion, outputs in STAGES:
            for k in range(repeats):
                first = stride if k == 0 else 1
                self._blocks.append(_Block(inputs, outputs, size, first, expansion))
                inputs = outputs
        self._conv_head = SameConv2d(inputs, HEAD, 1, bias=False)
        self._bn1 = _norm(HEAD)
        self._fc = nn.Linear(HEAD, CLASSES)
        mean, std = (torch.tensor(v).view(3, 1, 1) for v in (MEAN, STD))
        self.register_buffer("mean", mean, persistent=False)
        self.register_buffer("std", std, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """From colour images in [0, 1], shape (N, 3, H, W), to the features of the layer."""
        x = (x - self.mean) / self.std
        x = F.relu6(self._bn0(self._conv_stem(x)), inplace=True)
        for position, block in enumerate(self._blocks):
            x = block(x)
            if self.layer == f"block{position}":
                return x
        x = F.relu6(self._bn1(self._conv_head(x)), inplace=True)
        if self.layer == "head":
            return x
        x = x.mean((2, 3))
        return x if self.layer == "pooled" else self._fc(x)


def folded(net: EfficientNetLite0) -> EfficientNetLite0:
    r"""The same function with each batch normalisation folded into the convolution before it.

    :math:`w' = \gamma w / \sqrt{v + \epsilon}`, :math:`b' = \beta - \gamma\mu / \sqrt{v +
    \epsilon}`; a copy in evaluation mode, channels last in memory, which is how it runs fastest.
    """
    net = copy.deepcopy(net).eval().requires_grad_(False)
    for part in net.modules():
        for conv, norm in FOLDS:
            if isinstance(inner := getattr(part, conv, None), SameConv2d):
                setattr(part, conv, fuse_conv_bn_eval(inner, getattr(part, norm)))
                setattr(part, norm, nn.Identity())
    net.requires_grad_(False)
    return net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def weights_file() -> Path | None:
    """Where the published weights are: ``$FOVEATE_DATA/weights``, or None."""
    root = os.environ.get("FOVEATE_DATA")
    path = Path(root) / "weights" / WEIGHTS if root else None
    return path if path is not None and path.is_file() else None


def efficientnet_lite0(
    weights: Path | None = None, layer: Layer = "pooled", *, fold: bool = True
) -> EfficientNetLite0:
    """The frozen network with weights from a safetensors file, which must hold all of them.

    Args:
        weights: The file; None for the one in ``$FOVEATE_DATA/weights``.
        layer: What the network gives out.
        fold: Whether batch normalisation is folded in.
    """
    path = weights or weights_file()
    if path is None:
        raise FoveateError(
            "the weights of efficientnet-lite0 are not here: set FOVEATE_DATA to a folder that "
            f"holds weights/{WEIGHTS}, or name the file with --weights"
        )
    with torch.random.fork_rng(devices=[]):  # what is drawn here is written over
        net = EfficientNetLite0(layer)
    tensors = _read(path)
    _must_match({k: v.shape for k, v in tensors.items()}, net, path)
    net.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    net.eval().requires_grad_(False)
    return folded(net) if fold else net


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=EPS)


def _read(path: Path) -> dict[str, Tensor]:
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise FoveateError(f"the weights {path} cannot be read: {error.strerror}") from None
    except SafetensorError as error:
        raise FoveateError(f"{path} is not a whole safetensors file ({error})") from None


def _must_match(shapes: Mapping[str, torch.Size], net: nn.Module, path: Path) -> None:
    expected = {k: v.shape for k, v in net.state_dict().items() if not k.endswith(COUNTERS)}
    odd = {
        "missing": [name for name in expected if name not in shapes],
        "unknown": [name for name in shapes if name not in expected],
        "of another shape": [
            name for name in expected if shapes.get(name, expected[name]) != expected[name]
        ],
    }
    if any(odd.values()):
        problems = [
            f"{len(v)} {k} ({', '.join(v[:3])}{' …' * (len(v) > 3)})" for k, v in odd.items() if v
        ]
        raise FoveateError(
            f"{path} does not hold the tensors of EfficientNet-Lite0: {'; '.join(problems)}"
        )
