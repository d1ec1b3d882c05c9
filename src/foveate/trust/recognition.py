"""Which outputs of a model are answers and attention, recognised by running it.

A module is run on a few bags of two lengths. What grows with the length is attention, what does not
is the answer. Where several outputs do, one with a usual name is read (in a dict), else weights
that sum to one, else the one with the fewest numbers a segment; of answers the one with as many
numbers as there are classes.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from foveate.errors import FoveateError, in_one_line
from foveate.trust.calling import Adjacency, Call, ModelError, Outputs, model_name
from foveate.trust.forcing import has_pooling

__all__ = ["how_to_call"]

MASKS = {"mask": True, "attn_mask": True, "attention_mask": True}
PADDINGS = {"key_padding_mask": False, "padding_mask": False, "src_key_padding_mask": False}
FLAGS = (
    "return_att", "return_attention", "return_attn", "return_attention_weights", "need_weights",
    "output_attentions", "return_weights", "return_inst_cam", "return_inst_pred", "return_cam",
)  # fmt: skip
LOGIT_NAMES = (
    "logits", "logit", "y_pred", "bag_logits", "output", "prob", "y_prob", "probabilities",
)  # fmt: skip
ATTENTION_NAMES = ("attention", "attn", "att", "alpha", "scores", "weights", "a", "a_raw")
LENGTHS = (5, 7)  # of the bags on which outputs are recognised
NEAR = 1e-3  # of weights that sum to one


def how_to_call(
    model: Callable[..., Any],
    x: Tensor,
    adjacency: Adjacency | None = None,
    places: Adjacency | None = None,
    classes: int | None = None,
) -> Call:
    """How a model is called, from its signature and a few trial runs.

    Args:
        model: A module, or a function.
        x: Some segments, shape (B, m, …), for the trial runs.
        adjacency: Links between segments, for models that take ``adj``.
        places: Places of segments, for models that take ``coords``.
        classes: How many classes the bags have, for choosing between outputs.
    """
    forward = model.forward if isinstance(model, nn.Module) else model
    names = list(inspect.signature(forward).parameters)
    known = {**MASKS, **PADDINGS}
    mask = next(((name, known[name]) for name in names if name in known), None)
    flag = next((name for name in FLAGS if name in names), None)
    if "adj" in names and adjacency is None:
        raise FoveateError(
            f"{model_name(model)} reads a graph: give adjacency=, a function from segments and "
            "mask to links (B, m, m); foveate.trust.calling has chain and complete"
        )
    if "coords" in names and places is None:
        raise FoveateError(
            f"{model_name(model)} reads coordinates: give places=, a function from segments and "
            "mask to places (B, m, 2)"
        )
    extra = {k: f for k, f in (("adj", adjacency), ("coords", places)) if f and k in names}
    call = Call(model, mask, {flag: True} if flag else {}, extra)
    try:
        return _recognised(call, x, classes)
    except ModelError as error:
        try:
            return _recognised(replace(call, single=True, mask=None), x, classes)
        except ModelError as other:
            if mask is not None or other.__cause__ is None:
                raise error from None
            one = in_one_line(other.__cause__)
            raise ModelError(f"{error}; nor a bag at a time: {one}") from other


def _recognised(call: Call, x: Tensor, classes: int | None) -> Call:
    """The same call with the places of answers and attention in its outputs."""
    size = 1 if call.single else 3
    shapes: list[list[tuple[int, ...]]] = []
    pooling = isinstance(call.model, nn.Module) and has_pooling(call.model)
    probe = replace(call, attention=None) if pooling else call
    for m in LENGTHS:
        rows = _trial(x, size, m)
        mask = torch.ones(rows.shape[:2], dtype=torch.bool)
        keywords = {} if call.mask is None else {call.mask[0]: mask == call.mask[1]}
        outputs, pooled = probe.outputs(keywords, rows, mask)
        shapes.append([tuple(value.shape) for _, value in outputs])
    answer = _answer(outputs, shapes, size, classes)
    if answer is None:
        listed = ", ".join(str(shape) for shape in shapes[0]) or "nothing"
        raise FoveateError(
            f"{model_name(call.model)} must return answers of shape (bags, classes); for {size} "
            f"bags of {LENGTHS[0]} segments it returned {listed}"
        )
    attention, others = _attention(outputs, shapes, size, classes or shapes[0][answer][-1])
    if attention is None and (not pooling or pooled is None or pooled.shape[-1] != LENGTHS[1]):
        raise _no_attention(call, shapes, answer)
    axis = -1 if attention is None else _axis(shapes[0][attention], shapes[1][attention])
    return replace(call, answer=answer, attention=attention, axis=axis, others=others)


def _answer(
    outputs: Outputs, shapes: list[list[tuple[int, ...]]], size: int, classes: int | None
) -> int | None:
    """Which output holds the answers: by its name, else by the number of classes."""
    fixed = [i for i, (_, value) in enumerate(outputs) if _answer_like(value, shapes, i, size)]
    if (named := _named(fixed, outputs, LOGIT_NAMES)) is not None:
        return named
    counts = {i: outputs[i][1].numel() // size for i in fixed}
    fitting = [i for i in fixed if counts[i] == classes or (counts[i] == 1 and classes == 2)]
    return next(iter(fitting or fixed), None)


def _attention(
    outputs: Outputs, shapes: list[list[tuple[int, ...]]], size: int, classes: int
) -> tuple[int | None, tuple[int, ...]]:
    """Which output holds attention, and which others could."""
    grows = [i for i in range(len(outputs)) if _attention_like(shapes, i, size)]
    if (named := _named(grows, outputs, ATTENTION_NAMES)) is not None:
        return named, ()
    axes = {i: _axis(shapes[0][i], shapes[1][i]) for i in grows}
    sums = {i: _sums_to_one(outputs[i][1], axes[i]) for i in grows}
    count = {i: outputs[i][1].numel() // (size * LENGTHS[1]) for i in grows}
    # Many numbers a segment that are no weights, segments not last: states of a layer.
    usual = [i for i in grows if sums[i] or axes[i] == -1 or count[i] in (1, classes)]
    usual.sort(key=lambda i: (not sums[i], count[i]))
    if not usual:
        return None, ()
    first = usual[0]
    return first, tuple(i for i in usual[1:] if (sums[i], count[i]) == (sums[first], count[first]))


def _sums_to_one(value: Tensor, axis: int) -> bool:
    total = value.detach().double().sum(axis)
    return bool((value >= 0).all()) and bool(((total - 1).abs() < NEAR).all())


def _no_attention(call: Call, shapes: list[list[tuple[int, ...]]], answer: int) -> FoveateError:
    """The sentence for a model without attention, or with attention of another length."""
    name = model_name(call.model)
    for short, long in zip(*shapes, strict=True):
        grown = [(s, t) for s, t in zip(short, long, strict=False) if s != t]
        if grown == [LENGTHS]:
            continue  # states of a layer
        if len(grown) == 1 and grown[0][1] - grown[0][0] == LENGTHS[1] - LENGTHS[0]:
            return FoveateError(
                f"{name} returns {grown[0][0]} numbers for a bag of {LENGTHS[0]} segments: "
                "attention must have one for each segment (leave class tokens out)"
            )
    return FoveateError(
        f"{name} returns no attention: a tensor with one number for each segment is needed, "
        f"beside the answers of shape {shapes[0][answer]}"
    )


def _axis(short: tuple[int, ...], long: tuple[int, ...]) -> int:
    """The axis that grows with the bag, from the end."""
    different = [s != t for s, t in zip(short, long, strict=True)]
    return different.index(True) - len(short)


def _trial(x: Tensor, size: int, m: int) -> Tensor:
    """Bags of m segments, taken from those that are given, repeated where there are too few."""
    rows = x.flatten(0, 1)
    index = torch.arange(size * m) % len(rows)
    return rows[index].unflatten(0, (size, m))


def _attention_like(shapes: list[list[tuple[int, ...]]], i: int, size: int) -> bool:
    """Whether an output has one axis that grows with the bag, and few others."""
    short, long = shapes[0][i], shapes[1][i]
    if len(short) != len(long) or short == long:
        return False
    if sum(s != t for s, t in zip(short, long, strict=True)) != 1:
        return False
    axis = _axis(short, long)
    if (short[axis], long[axis]) != LENGTHS:
        return False
    rest = [s for a, s in enumerate(short) if a != axis + len(short)]
    if size > 1 and (not rest or rest[0] != size):
        return False
    return len(rest) <= 3


def _answer_like(value: Tensor, shapes: list[list[tuple[int, ...]]], i: int, size: int) -> bool:
    """Whether an output has one row a bag, whatever its length."""
    short, long = shapes[0][i], shapes[1][i]
    if short != long or not value.is_floating_point():
        return False
    if size == 1:
        return value.numel() >= 1 and len([s for s in short if s > 1]) <= 1
    return short == (size,) or (len(short) == 2 and short[0] == size)


def _named(candidates: list[int], outputs: Outputs, known: tuple[str, ...]) -> int | None:
    """The output with a usual name."""
    matches = (i for name in known for i in candidates if outputs[i][0].lower() == name)
    return next(matches, None)
