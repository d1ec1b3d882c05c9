"""The input embeddings of a model in one call, with gradients."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

__all__ = ["captured_embedding"]


@contextmanager
def captured_embedding(model: Any) -> Iterator[list[Tensor]]:
    """The embeddings of the first look-up inside (that of the input), with gradients."""
    outputs: list[Tensor] = []

    def keep(_module: nn.Module, _inputs: Any, output: Tensor) -> Tensor | None:
        if outputs:
            return None
        outputs.append(output.detach().requires_grad_())
        return outputs[0]

    handles = [
        part.register_forward_hook(keep)
        for part in {id(part): part for part in _tables(model)}.values()
    ]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


def _tables(model: Any) -> list[nn.Module]:
    """The tables of input embeddings: the encoder's where it has its own."""
    if not model.config.is_encoder_decoder:
        return [model.get_input_embeddings()]
    encoder = model.get_encoder()
    embedding = getattr(encoder, "embed_tokens", None)
    return [model.get_input_embeddings() if embedding is None else embedding]
