"""What tells one training from another, so that none goes on from the state of another."""

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
    """Plan, paradigms and seeds in words, and a fingerprint of each kind of bags.

    Args:
        plan: How is trained; how often the state is kept does not matter.
        paradigms: One a member.
        seeds: One a member.
        bags: Bags, or one set a member, by what they are for.
    """
    return {
        "plan": plan.model_dump(mode="json", exclude={"save_seconds"}),
        "paradigms": [_named(rule) for rule in paradigms],
        "seeds": list(seeds),
        **{k: _fingerprint([own] if isinstance(own, Bag) else own) for k, own in bags.items()},
    }


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The names under which two identities differ.

    Example:
        >>> differences({"seeds": [0], "plan": {}}, {"seeds": [1], "plan": {}})
        ['seeds']
    """
    return [name for name in one if one[name] != other.get(name)]


def _named(rule: Paradigm) -> str:
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
    own = blake2b(f"{values.dtype}{tuple(values.shape)}".encode(), digest_size=16)
    own.update(values.detach().contiguous().numpy().data)
    return own.digest()
