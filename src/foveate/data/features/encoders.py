"""Encoders by name: the built-in one, or any torch module by its import path."""

import hashlib
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from foveate.data.files.cache import fingerprint
from foveate.errors import FoveateError
from foveate.models.efficientnet import efficientnet_lite0, weights_file

__all__ = ["BUILT_IN", "Encoder", "Grid", "find_encoder"]

BUILT_IN = "efficientnet-lite0"
# Of the published weights, so that what was encoded once is found where they no longer are.
PUBLISHED = "0a1404f8785248a15429eb2f38a3c3cd006cde920ee7403b2d3fa22cf42376d2"

Grid = Literal["block10", "block15", "head"]
"""Which grid of features the built-in encoder gives out in place of its pooled vector."""


@dataclass(frozen=True)
class Encoder:
    """A frozen network and what identifies it.

    Args:
        name: The requested name.
        layer: What it gives out: "pooled", a grid, or "output" of a module of the user's.
        weights: SHA-256 of its weights.
        build: Makes the network: colour images in [0, 1], (N, 3, side, side), to (N, …).
    """

    name: str
    layer: str
    weights: str
    build: Callable[[], nn.Module]


def find_encoder(
    name: str = BUILT_IN, weights: Path | None = None, grid: Grid | None = None
) -> Encoder:
    """The encoder called ``name``.

    Args:
        name: "efficientnet-lite0", or "package.module:factory" where the factory returns a module
            from colour images in [0, 1] to features; it normalises them itself. The folder one is
            in is searched too.
        weights: A file of weights; handed to the factory as its one argument.
        grid: Which grid to give out; only for the built-in encoder.
    """
    if name == BUILT_IN:
        layer = grid or "pooled"
        file = weights or weights_file()
        digest = PUBLISHED if file is None else _file_digest(file)
        return Encoder(name, layer, digest, partial(efficientnet_lite0, weights, layer))
    if grid is not None:
        raise FoveateError(
            f"--grid is for {BUILT_IN}: let the factory of {name} return a module that gives a grid"
        )
    network = _frozen(_imported(name), name, weights)
    return Encoder(name, "output", _state_digest(network), lambda: network)


def _imported(name: str) -> Callable[..., object]:
    module, _, factory = name.partition(":")
    if not module or not factory:
        raise FoveateError(
            f"encoder must be {BUILT_IN} or an import path 'package.module:factory', got '{name}'"
        )
    with _current_folder_importable():
        try:
            target: object = importlib.import_module(module)
            for part in factory.split("."):
                target = getattr(target, part)
        except (ImportError, AttributeError) as error:
            raise FoveateError(f"encoder '{name}' cannot be imported: {error}") from None
    if not callable(target):
        raise FoveateError(f"encoder '{name}' must be a function that returns a torch module")
    return target


@contextmanager
def _current_folder_importable() -> Iterator[None]:
    """Let an import find modules in the current folder, as ``python -m`` would."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        yield
    finally:
        sys.path.pop(0)


def _frozen(factory: Callable[..., object], name: str, weights: Path | None) -> nn.Module:
    """What a factory returns, for evaluation; weights it draws are the same every time."""
    with _current_folder_importable(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = factory() if weights is None else factory(weights)
    if not isinstance(network, nn.Module):
        kind = type(network).__name__
        raise FoveateError(f"encoder '{name}' must return a torch module, got {kind}")
    return network.eval().requires_grad_(False)


def _state_digest(network: nn.Module) -> str:
    result = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        result.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        result.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return result.hexdigest()


def _file_digest(file: Path) -> str:
    try:
        return _hashed(file, fingerprint([file]))
    except OSError as error:
        raise FoveateError(f"the weights {file} cannot be read: {error.strerror}") from None


@lru_cache(maxsize=8)
def _hashed(file: Path, stamp: object) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
