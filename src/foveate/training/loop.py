"""The one training loop: ``fit(...) -> Record``, many seeds in one program.

A checkpoint stores the identity of its training, so that one of another training is not resumed.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from torch import Tensor

from foveate.attention.paradigms import Paradigm
from foveate.bags.bag import Bag
from foveate.bags.mapped import row_blocks
from foveate.bags.segments import tensors_of
from foveate.errors import FoveateError
from foveate.records.record import Record, load_checkpoint, save_checkpoint
from foveate.training.plan import Plan
from foveate.training.stack import Build
from foveate.training.state import Probe, Training
from foveate.types import StepProgress

__all__ = ["Probe", "Training", "differences", "fit", "identity"]


def fit(
    build: Build | Sequence[Build],
    train: Bag | Sequence[Bag],
    test: Bag | Sequence[Bag],
    paradigm: str | Paradigm | Sequence[Paradigm] = "soft",
    *,
    seeds: Sequence[int] = (0,),
    plan: Plan | None = None,
    checkpoint: Path | None = None,
    report: StepProgress | None = None,
    probe: Probe | None = None,
    validation_rows: Sequence[Tensor] | None = None,
    **settings: Any,
) -> Record:
    """Train one model per seed (a member), all at once, and measure them on held-out bags.

    Args:
        build: Makes an untrained model, or one such function per member.
        train: Training bags, for all members or one set each.
        test: Held-out bags: measured, never trained or selected on.
        paradigm: How to train: a name, an object, or one object per member.
        seeds: One per member; decides initial weights, the order of bags, and what is sampled.
        plan: Sizes and rates of the training.
        checkpoint: File that stores the state of the training. If it exists, training resumes
            from it and ends with the same bits as if it had never stopped.
        report: Called as ``report(epochs done, epochs)``.
        probe: Measures further quantities whenever the others are measured, before the first
            epoch and after the last included; they are stored in ``record.values``.
        validation_rows: For each member the rows of the training bags that are kept for early
            stopping; drawn by ``plan.validation`` unless given.
        settings: Fields of :class:`~foveate.training.plan.Plan`, overriding those of ``plan``.

    Returns:
        Measures over time, one number per member; at the end scores, attention and predictions for
        every held-out bag; the trained stack as ``record.trained``.

    Example:
        >>> import foveate as fv
        >>> train, test = fv.load("error-mode-1", n=60, seed=0)
        >>> def build():
        ...     return fv.FCAM(fv.mlp(2, 1), fv.mlp(2, 3))
        >>> record = fv.fit(build, train, test, "hard", seeds=range(2), epochs=3)
        >>> record.values["accuracy"].shape  # times, seeds
        (4, 2)
    """
    plan = Plan(**((plan.model_dump() if plan else {}) | settings))
    training = Training(build, train, test, paradigm, seeds, plan, probe, validation_rows)
    if checkpoint is not None:
        expected = identity(
            plan, training.paradigms, seeds, {"training bags": train, "test bags": test}
        )
        if validation_rows is not None:
            expected["validation rows"] = [rows.tolist() for rows in validation_rows]
        if checkpoint.exists():
            _resume(training, checkpoint, expected)
    saved = time.monotonic()
    while not training.done:
        training.run_epoch()
        if report is not None:
            report(training.epoch, plan.epochs)
        if checkpoint is not None and time.monotonic() - saved >= plan.save_seconds:
            tensors, meta = training.snapshot()
            save_checkpoint(checkpoint, tensors, {**meta, "of": expected})
            saved = time.monotonic()
    return training.record()


def _resume(training: Training, checkpoint: Path, expected: dict[str, Any]) -> None:
    tensors, meta = load_checkpoint(checkpoint)
    if differ := differences(expected, meta.get("of", {})):
        raise FoveateError(
            f"{checkpoint} is the state of another training, its {' and '.join(differ)} differ: "
            "remove it to start again"
        )
    training.restore(tensors, meta)


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
    digests: dict[int, bytes] = {}
    return {
        "plan": plan.model_dump(mode="json", exclude=_left_out(plan)),
        "paradigms": [_paradigm_text(rule) for rule in paradigms],
        "seeds": list(seeds),
        **{k: _fingerprint([v] if isinstance(v, Bag) else v, digests) for k, v in bags.items()},
    }


def _left_out(plan: Plan) -> set[str]:
    """Fields that an identity leaves out if unset, because earlier checkpoints lack them."""
    return {"save_seconds"} | ({"switched_lr"} if plan.switched_lr is None else set())


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


def _fingerprint(bags: Sequence[Bag], digests: dict[int, bytes]) -> str:
    """A digest of bags from those of their tensors; known ``digests`` are not computed again."""
    digest = blake2b(digest_size=16)
    for bag in bags:
        for part in (*tensors_of(bag.x), bag.y, bag.mask, bag.weight):
            if part is not None:
                if id(part) not in digests:  # sets may share a bank
                    digests[id(part)] = _digest(part)
                digest.update(digests[id(part)])
    return digest.hexdigest()


def _digest(values: Tensor) -> bytes:
    digest = blake2b(f"{values.dtype}{tuple(values.shape)}".encode(), digest_size=16)
    for rows in row_blocks(values.detach()) if values.dim() else (values,):
        digest.update(rows.contiguous().numpy().data)
    return digest.digest()
