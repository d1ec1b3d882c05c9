"""Load a model to be examined: an object of a Python module, or an ONNX file."""

import difflib
import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from foveate.errors import FoveateError, in_one_line

__all__ = ["load_object", "load_onnx", "load_weights"]

NULL_KEYS = {"paradigm", "temperature"}  # metadata of the files that this library exports


def load_object(name: str, weights: Path | None = None) -> Any:
    """The model ``package.module:object``: an instance, a function, or what a factory returns.

    A class or function without required arguments is a factory: it is called, and a module that it
    returns is put into evaluation mode. Importing runs the code of the module.

    Args:
        name: Where the object is.
        weights: Weights to load into it, .safetensors.
    """
    module, separator, attribute = name.partition(":")
    if not (separator and module and attribute):
        raise FoveateError(
            f"--model must be package.module:object, a .onnx file or the folder of a transformers "
            f"model, got '{name}'"
        )
    try:
        loaded = import_module(module)
    except Exception as error:  # whatever the user's module raises
        raise FoveateError(f"{module} cannot be imported: {in_one_line(error)}") from None
    if not hasattr(loaded, attribute):
        near = difflib.get_close_matches(attribute, dir(loaded), n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise FoveateError(f"{module} has no '{attribute}'{hint}")
    model = _instantiate(getattr(loaded, attribute), name)
    if weights is not None:
        load_weights(model, weights)
    return model


def _instantiate(model: Any, name: str) -> Any:
    """The object itself, or what it returns if it is a factory."""
    is_class = inspect.isclass(model)
    if isinstance(model, nn.Module) or not (is_class or inspect.isroutine(model)):
        return model
    parameters = inspect.signature(model).parameters.values()
    fixed = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    needed = [p.name for p in fixed if p.default is p.empty]
    if needed and is_class:
        raise FoveateError(
            f"{name} needs arguments ({', '.join(needed)}): name a function without arguments that "
            "returns the model"
        )
    if needed:
        return model  # a function of bags
    try:
        made = model()
    except Exception as error:  # whatever the user's code raises
        raise FoveateError(f"{name}() failed: {in_one_line(error)}") from None
    for part in made if isinstance(made, list | tuple) else [made]:
        if isinstance(part, nn.Module):
            part.eval()
    return made


def load_weights(model: Any, path: Path) -> None:
    """Load weights from a .safetensors file into a module; all names and shapes must match."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not isinstance(model, nn.Module):
        raise FoveateError(f"--weights is for a PyTorch module, got {type(model).__name__}")
    if path.suffix != ".safetensors":
        raise FoveateError(f"weights must be a .safetensors file, which runs no code, got {path}")
    if not path.exists():
        raise FoveateError(f"there is no file {path}")
    try:
        stored = load_file(path)
    except (SafetensorError, OSError) as error:
        raise FoveateError(f"{path} cannot be read: {in_one_line(error)}") from None
    if problem := _difference(model.state_dict(), stored):
        kind = type(model).__name__
        raise FoveateError(f"{path} holds weights of another architecture than {kind}: {problem}")
    model.load_state_dict(stored)


def _difference(needed: dict[str, Tensor], stored: dict[str, Tensor]) -> str:
    """What differs between the weights of a module and those of a file; empty if nothing does."""
    if missing := [name for name in needed if name not in stored]:
        return f"it lacks '{missing[0]}'"
    if strange := [name for name in stored if name not in needed]:
        return f"the module has no '{strange[0]}'"
    for name, value in needed.items():
        if value.shape != stored[name].shape:
            got, expected = tuple(stored[name].shape), tuple(value.shape)
            return f"'{name}' has shape {got}, and the module needs {expected}"
    return ""


def load_onnx(path: Path) -> Callable[..., dict[str, Tensor]]:
    """An ONNX file with an attention output, read by onnxruntime, as a function of bags.

    Its first input takes one bag (m, …) or several (B, m, …); a second one is a mask. Outputs are
    recognised as those of any model. Where this library exported the file, attention may rest on a
    null segment; what is left for the segments is divided by its sum.
    """
    try:
        import onnxruntime
    except ImportError:
        raise FoveateError(
            "an ONNX model needs onnxruntime, which is not installed: pip install 'foveate[onnx]'"
        ) from None
    if not path.exists():
        raise FoveateError(f"there is no file {path}")
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime has several kinds of errors for broken files
        raise FoveateError(f"{path} is no ONNX model: {in_one_line(error)}") from None
    inputs = session.get_inputs()
    if len(inputs) not in (1, 2):
        listed = ", ".join(part.name for part in inputs)
        raise FoveateError(f"{path} must take segments and at most a mask, but takes {listed}")
    ours = set(session.get_modelmeta().custom_metadata_map) >= NULL_KEYS
    names = [part.name for part in session.get_outputs()]

    def run(*arguments: Tensor) -> dict[str, Tensor]:
        fed = {
            part.name: value.to(_dtype(part.type)).numpy()
            for part, value in zip(inputs, arguments, strict=True)
        }
        outputs = {
            k: torch.from_numpy(v) for k, v in zip(names, session.run(names, fed), strict=True)
        }
        if ours:
            alpha = outputs["attention"]
            outputs["attention"] = alpha / alpha.sum(-1, keepdim=True).clamp_min(1e-30)
        return outputs

    def one(x: Tensor) -> dict[str, Tensor]:
        return run(x)

    def masked(x: Tensor, mask: Tensor) -> dict[str, Tensor]:
        return run(x, mask)

    model = one if len(inputs) == 1 else masked
    model.__name__ = path.name
    return model


def _dtype(name: str) -> torch.dtype:
    """The torch type of an ONNX type such as "tensor(float)"."""
    types = {"float": torch.float32, "double": torch.float64, "int64": torch.int64,
             "bool": torch.bool, "float16": torch.float16, "int32": torch.int32}  # fmt: skip
    return types.get(name.removeprefix("tensor(").removesuffix(")"), torch.float32)
