"""Record and set attention through transformers' own attention interface.

An attention function named "foveate" is registered, and with it the mask function of eager
attention: without the second, models build no mask for an implementation they do not know, and
logits change silently. It calls the eager function of the model's own file, so that logits are
those of eager attention bit for bit; the weights that it returns are recorded, and may be replaced
before they meet the values. No weight and no code of a model is changed, and the implementation it
had before is set again afterwards.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from foveate.errors import FoveateError

__all__ = ["AttentionRecorder", "Forcing", "Kind", "record_attention"]

NAME = "foveate"
Kind = Literal["encoder", "decoder", "cross"]
CROSS = ("encoder_attn", "encdecattention", "crossattention", "cross_attn", "cross_attention")
Rows = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Forcing:
    """Attention to use in place of a model's own, in some rows.

    Args:
        weights: Attention of every row, shape (B, T, L) or (B, 1, L); rows sum to one.
        rows: True where it is used, shape (B, T); everywhere unless given.
        kind: Which attention is set.
        layers: Which layers, from 0; all of them (jointly) unless given.
        heads: Which heads; all unless given.
    """

    weights: Tensor
    rows: Tensor | None = None
    kind: Kind = "cross"
    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        total = self.weights.sum(-1)
        if bool(((total - 1).abs() > 1e-4).any()):
            worst = float(total.flatten()[(total.flatten() - 1).abs().argmax()])
            raise FoveateError(f"forced attention must sum to one in every row, got {worst:.3g}")

    def applied(self, attention: Tensor, layer: int) -> Tensor:
        """A layer's attention (B, H, T, L) with the given rows set."""
        if self.layers is not None and layer not in self.layers:
            return attention
        if attention.shape[-1] != self.weights.shape[-1]:
            raise FoveateError(
                f"forced attention is over {self.weights.shape[-1]} places, and the model's over "
                f"{attention.shape[-1]}"
            )
        replacement = self.weights.to(attention.dtype)[:, None].expand_as(attention)
        where = torch.ones(attention.shape[0], attention.shape[2], dtype=torch.bool)
        chosen = (where if self.rows is None else self.rows)[:, None, :, None]
        if self.heads is not None:
            forced_heads = torch.zeros(attention.shape[1], dtype=torch.bool)
            forced_heads[list(self.heads)] = True
            chosen = chosen & forced_heads[None, :, None, None]
        return torch.where(chosen, replacement, attention)


@dataclass
class AttentionRecorder:
    """Attention weights recorded by :func:`record_attention`.

    Args:
        modules: Kind and layer of every attention module, by its identity.
        weights: Attention of the last call, by kind: one tensor (B, H, T, L) a layer.
        forcing: Attention to use instead; None: the model's own.
    """

    modules: Mapping[int, tuple[Kind, int]]
    weights: dict[Kind, dict[int, Tensor]] = field(default_factory=dict)
    forcing: Forcing | None = None
    forced: int = 0

    def of(self, kind: Kind) -> Tensor:
        """Attention of all layers in the last call, shape (layers, B, H, T, L)."""
        layers = self.weights.get(kind, {})
        if not layers:
            raise FoveateError(f"the model has no attention of the kind {kind}")
        return torch.stack([layers[k] for k in sorted(layers)])

    @contextmanager
    def set_to(self, forcing: Forcing) -> Iterator[None]:
        """Use given attention inside; an error if no layer used it."""
        self.forcing, self.forced = forcing, 0
        try:
            yield
        finally:
            self.forcing = None
        if not self.forced:
            raise FoveateError(f"no layer has attention of the kind {forcing.kind} that can be set")


_RECORDER: ContextVar[AttentionRecorder | None] = ContextVar("recorder", default=None)


@contextmanager
def record_attention(model: nn.Module) -> Iterator[AttentionRecorder]:
    """Record the attention of a model of the transformers library, and set it on demand.

    Args:
        model: In evaluation mode; its class must follow transformers' attention interface.
    """
    from transformers import PreTrainedModel

    _register()
    if not isinstance(model, PreTrainedModel):
        raise FoveateError(f"a model of transformers is needed, got {type(model).__name__}")
    name = type(model).__name__
    parts = [part for part in model.modules() if isinstance(part, PreTrainedModel)]
    if not all(part._can_set_attn_implementation() for part in parts):
        raise FoveateError(
            f"{name} does not compute attention through transformers' attention interface, so that "
            "it can neither be recorded nor set"
        )
    if model.training:
        raise FoveateError(
            f"{name} is in training mode, in which answers are random: call model.eval()"
        )
    # Parts may have configs of their own, which not every version sets with the whole model.
    before = [part.config._attn_implementation for part in parts]
    recorder = AttentionRecorder(_layers(model))
    for part in parts:
        part.set_attn_implementation(NAME)
    token = _RECORDER.set(recorder)
    try:
        yield recorder
    finally:
        _RECORDER.reset(token)
        for part, implementation in zip(parts, before, strict=True):
            part.set_attn_implementation(implementation)


def _register() -> None:
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, eager_mask)


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **keywords: Any,
) -> tuple[Tensor, Tensor]:
    """Eager attention of the module's own file, recorded; with set weights where they are given."""
    eager = getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)
    if eager is None:
        raise FoveateError(f"{type(module).__name__} has no eager attention in its file")
    output, weights = eager(module, query, key, value, attention_mask, **keywords)
    recorder = _RECORDER.get()
    if recorder is None or id(module) not in recorder.modules:
        return output, weights
    kind, layer = recorder.modules[id(module)]
    if recorder.forcing is not None and recorder.forcing.kind == kind:
        attention = weights
        weights = recorder.forcing.applied(attention, layer)
        recorder.forced += weights is not attention
        groups = weights.shape[1] // value.shape[1]
        values = value.repeat_interleave(groups, 1) if groups > 1 else value
        output = torch.matmul(weights, values).transpose(1, 2).contiguous()
    recorder.weights.setdefault(kind, {})[layer] = weights.detach()
    return output, weights


def _layers(model: nn.Module) -> dict[int, tuple[Kind, int]]:
    """Kind and layer of the modules that may compute attention, in the order of the model."""
    count: dict[Kind, int] = {}
    modules: dict[int, tuple[Kind, int]] = {}
    for name, module in model.named_modules():
        if "attention" not in type(module).__name__.lower() or not _computes(module):
            continue
        path = name.lower()
        kind: Kind = "encoder"
        if any(word in path for word in CROSS):
            kind = "cross"
        elif "decoder" in path.split("."):
            kind = "decoder"
        modules[id(module)] = kind, count.get(kind, 0)
        count[kind] = count.get(kind, 0) + 1
    return modules


def _computes(module: nn.Module) -> bool:
    """Whether a module has projections of its own: wrappers of attention have none."""
    linear = [child for child in module.children() if hasattr(child, "weight")]
    return len(linear) >= 2
