"""Checkpoints: tensors and JSON in one safetensors file with a checksum, written atomically."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from foveate.errors import FoveateError
from foveate.records.checksums import advice, seal_safetensors, verify_safetensors
from foveate.records.record import write_atomically

__all__ = ["load_checkpoint", "save_checkpoint"]

META = "meta.json"  # kept as a tensor of bytes, so that one atomic write holds all


def save_checkpoint(path: Path, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    """Write ``tensors`` and ``meta`` (which JSON can hold) to ``path``."""
    text = torch.frombuffer(bytearray(json.dumps(meta).encode()), dtype=torch.uint8)
    whole = {k: v.detach().contiguous().clone() for k, v in tensors.items()} | {META: text}
    write_atomically(path, seal_safetensors(save(whole)))


def load_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`save_checkpoint` wrote, and verify its checksum."""
    try:
        content = path.read_bytes()
        verify_safetensors(path, content)
        tensors = load(content)
        meta = dict(json.loads(tensors.pop(META).numpy().tobytes()))
    except FileNotFoundError:
        raise FoveateError(f"there is no file {path}") from None
    except FoveateError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise FoveateError(f"{path} is damaged: {error}{advice(path)}") from None
    return tensors, meta
