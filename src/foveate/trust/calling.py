"""How a model of another library is called: masks, single bags, graphs and places of segments.

Modules without a mask read bags of equal length together, without padding; modules that read one
bag at a time read them one by one.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from foveate.errors import FoveateError, in_one_line
from foveate.trust.forcing import PoolingRecorder

__all__ = [
    "ADJACENCIES",
    "Adjacency",
    "Call",
    "ModelError",
    "Outputs",
    "call_model",
    "chain",
    "complete",
    "model_name",
    "tensors_in",
]

Adjacency = Callable[[Tensor, Tensor], Tensor]
"""From segments (B, m, …) and mask (B, m) to the links between segments, shape (B, m, m), or to
their places, shape (B, m, 2)."""

Outputs = list[tuple[str, Tensor]]


def chain(x: Tensor, mask: Tensor) -> Tensor:
    """Links between neighbours in the order of segments, normalised by degrees, (B, m, m)."""
    index = torch.arange(x.shape[1])
    near = (index[:, None] - index[None]).abs() == 1
    return _normalised(near & mask[:, :, None] & mask[:, None], x.dtype)


def complete(x: Tensor, mask: Tensor) -> Tensor:
    """Links between all segments of a bag, normalised by degrees, shape (B, m, m)."""
    other = ~torch.eye(x.shape[1], dtype=torch.bool)
    return _normalised(other & mask[:, :, None] & mask[:, None], x.dtype)


def _normalised(links: Tensor, dtype: torch.dtype) -> Tensor:
    degree = links.sum(-1).clamp_min(1).to(dtype).rsqrt()
    return links.to(dtype) * degree[:, :, None] * degree[:, None]


class ModelError(FoveateError):
    """A model raised an error when it was called."""


def model_name(model: Callable[..., Any]) -> str:
    """The class of a module, or the name of a function."""
    kind = type(model).__name__
    return kind if isinstance(model, nn.Module) else getattr(model, "__name__", kind)


def call_model(model: Callable[..., Any], x: Tensor, *others: Any, **keywords: Any) -> Any:
    """What a model returns for bags; its errors name the model and the shape of the bags."""
    try:
        return model(x, *others, **keywords)
    except Exception as error:  # whatever another library raises for inputs it cannot read
        short = ", of one segment, which it must read too" if x.dim() > 2 and len(x[0]) == 1 else ""
        raise ModelError(
            f"{model_name(model)} cannot read bags of shape {tuple(x.shape)}{short}: "
            f"{in_one_line(error)}"
        ) from error


@dataclass(frozen=True)
class Call:
    """How a model is called, and where answers and attention are in its outputs.

    Args:
        model: The model.
        mask: Name of its mask argument and whether True means that a segment exists.
        arguments: Further keywords.
        extra: By argument, further inputs computed from segments and mask: ``adj``, the links
            between segments, and ``coords``, their places.
        single: Whether it reads one bag (m, …) at a time.
        answer: Which output holds the answers.
        attention: Which output holds attention; None if ``nn.MultiheadAttention`` computes it.
        axis: The axis of segments in that output, from the end.
        others: Which further outputs could be attention.
    """

    model: Callable[..., Any]
    mask: tuple[str, bool] | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Adjacency] = field(default_factory=dict)
    single: bool = False
    answer: int = 0
    attention: int | None = 1
    axis: int = -1
    others: tuple[int, ...] = ()

    def run(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Answers (B, C) or (B, 1), and attention (B, K, m), as the model gives them."""
        if self.mask is not None:
            return self._padded(x, mask)
        lengths = mask.sum(1)
        if bool((lengths == mask.shape[1]).all()):
            return self._whole(x, mask)
        answers: dict[int, Tensor] = {}
        outputs: list[tuple[Tensor, Tensor, Tensor]] = []
        order = (~mask).int().argsort(dim=1, stable=True)  # segments that exist come first
        for length in lengths.unique().tolist():
            rows = (lengths == length).nonzero().flatten()
            places = order[rows, :length]
            short = x[rows[:, None], places]
            answer, attention = self._whole(short, torch.ones_like(places, dtype=torch.bool))
            answers |= {int(row): part for row, part in zip(rows, answer, strict=True)}
            outputs.append((rows, places, attention))
        whole = outputs[0][2].new_zeros(len(x), outputs[0][2].shape[1], mask.shape[1])
        for rows, places, attention in outputs:
            index = places[:, None].expand(-1, attention.shape[1], -1)
            whole[rows] = whole[rows].scatter(2, index, attention)
        return torch.stack([answers[row] for row in range(len(x))]), whole

    def pieces(
        self, x: Tensor, mask: Tensor, alpha: Tensor
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Bags that the model reads in one call, with the attention for them."""
        if self.mask is not None or (not self.single and bool(mask.all())):
            yield x, mask, alpha
            return
        for i in range(len(x)):
            exists = mask[i]
            yield x[i : i + 1, exists], mask[i : i + 1, exists], alpha[i : i + 1, exists]

    def _padded(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        assert self.mask is not None
        name, exists = self.mask
        return self._outputs({name: mask if exists else ~mask}, x, mask)

    def _whole(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        if not self.single:
            return self._outputs({}, x, mask)
        parts = [self._outputs({}, x[i : i + 1], mask[i : i + 1]) for i in range(len(x))]
        return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])

    def _outputs(self, keywords: dict[str, Any], x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        outputs, pooled = self.outputs(keywords, x, mask)
        answer = self.answers(outputs, len(x))
        if self.attention is None:
            assert pooled is not None
            return answer, pooled[:, None]
        return answer, _rows(outputs[self.attention][1], len(x), self.axis)

    def answers(self, outputs: Outputs, n: int) -> Tensor:
        """The answers among all outputs, (n, C) or (n, 1)."""
        value = outputs[self.answer][1] if self.answer < len(outputs) else torch.empty(0)
        if value.numel() == 0 or value.numel() % n:
            raise ModelError(
                f"{model_name(self.model)} must return answers of shape (bags, classes) in every "
                f"call; for {n} bags it returned {tuple(value.shape)}"
            )
        return value.reshape(n, -1)

    def outputs(
        self, keywords: dict[str, Any], x: Tensor, mask: Tensor
    ) -> tuple[Outputs, Tensor | None]:
        """All tensors that the model returns, by name, and attention of a pooling layer."""
        keywords = keywords | {name: make(x, mask) for name, make in self.extra.items()}
        segments = x[0] if self.single else x
        with torch.enable_grad() if "return_cam" in self.arguments else torch.no_grad():
            keywords |= self.arguments
            if self.attention is not None:
                return tensors_in(call_model(self.model, segments, **keywords)), None
            with PoolingRecorder() as recorder:
                result = call_model(self.model, segments, **keywords)
        return tensors_in(result), recorder.alpha


def _rows(value: Tensor, n: int, axis: int) -> Tensor:
    """Attention as (B, K, m): K heads or classes."""
    last = value.detach().movedim(axis, -1)
    return last.reshape(n, -1, last.shape[-1])


def tensors_in(result: Any, name: str = "") -> Outputs:
    """All tensors of nested tuples, dicts and dataclasses, with the names that these give."""
    if is_dataclass(result) and not isinstance(result, type | Mapping):
        result = {part.name: getattr(result, part.name) for part in fields(result)}
    if isinstance(result, Tensor):
        return [(name, result)]
    if isinstance(result, Mapping):
        return [pair for key, value in result.items() for pair in tensors_in(value, str(key))]
    if isinstance(result, tuple | list):
        return [pair for value in result for pair in tensors_in(value, name)]
    return []


ADJACENCIES: dict[Literal["chain", "complete"], Adjacency] = {"chain": chain, "complete": complete}
