"""The identity of a training, so that a checkpoint of another one is not resumed."""

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from hashlib import blake2b
from typing import Any

from torch import Tensor

from foveate.attention.paradigms import Paradigm
from foveate.bags.bag import Bag
from foveate.bags.segments import tensors_of
from foveate.training.plan import Plan

__all__ = ["differences", "identity"]


def identity(
    plan: Plan, paradigms: Sequence[Paradigm], seeds: Sequence[int], bags: Mapping[str, Any]
) -> dict[str, Any]:
    """Plan, paradigms and seeds as JSON, and a fingerprint of each set of bags.

    Args:
        plan: The plan; the time between checkpoints does not count.
        paradigms: One per member.
        seeds: One per member.
        bags: Bags, or one set per member, by their purpose.
    """
    return {
        "plan": plan.model_dump(mode="json", exclude={"save_seconds"}),
        "paradigms": [_paradigm_text(rule) for rule in paradigms],
        "seeds": list(seeds),
        **{k: _fingerprint([v] if isinstance(v, Bag) else v) for k, v in bags.items()},
    }


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The names under which two identities differ.

    Example:
        >>> differences({"seeds": [0], "plan": {}}, {"seeds": [1], "plan": {}})
        ['seeds']
    """
    return [name for name in one if one[name] != other.get(name)]


def _paradigm_text(rule: Paradigm) -> str:
    kind = type(rule)
    return repr(rule) if is_dataclass(rule) else f"{kind.__module__}.{kind.__qualname__}"


def _fingerprint(bags: Sequence[Bag]) -> str:
    whole, known = blake2b(digest_size=16), dict[int, bytes]()
    for bag in bags:
        for part in (*tensors_of(bag.x), bag.y, bag.mask):
            if part is not None:
                if id(part) not in known:  # sets may share a bank
                    known[id(part)] = _digest(part)
                whole.update(known[id(part)])
    return whole.hexdigest()


def _digest(values: Tensor) -> bytes:
    digest = blake2b(f"{values.dtype}{tuple(values.shape)}".encode(), digest_size=16)
    digest.update(values.detach().contiguous().numpy().data)
    return digest.digest()
