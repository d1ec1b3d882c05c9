"""Load models of the transformers library from a folder, without code and without pickles."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from foveate.errors import FoveateError

__all__ = ["is_transformer", "is_translator", "load_classifier", "load_translator"]

NEEDED = "pip install 'foveate[transformers]'"


def is_transformer(path: Path) -> bool:
    """Whether a path is a folder that ``save_pretrained`` wrote."""
    return path.is_dir() and (path / "config.json").exists()


def is_translator(path: Path) -> bool:
    """Whether a path is such a folder of an encoder–decoder."""
    if not is_transformer(path):
        return False
    try:
        return bool(json.loads((path / "config.json").read_text("utf-8"))["is_encoder_decoder"])
    except (ValueError, KeyError, TypeError):
        return False


def load_classifier(path: Path) -> tuple[Any, Any]:
    """A text classifier and its tokenizer."""
    return _loaded(path, "AutoModelForSequenceClassification")


def load_translator(path: Path) -> tuple[Any, Any]:
    """An encoder–decoder and its tokenizer."""
    return _loaded(path, "AutoModelForSeq2SeqLM")


def _loaded(path: Path, kind: str) -> tuple[Any, Any]:
    try:
        import transformers
    except ImportError:
        raise FoveateError(f"{path} needs transformers, which is not installed: {NEEDED}") from None
    if not is_transformer(path):
        raise FoveateError(f"{path} must be a folder with config.json, weights and a tokenizer")
    options = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = transformers.AutoConfig.from_pretrained(path, **options)
        if kind == "AutoModelForSeq2SeqLM" and not config.is_encoder_decoder:
            raise FoveateError(f"{path} is no encoder–decoder: 'foveate read --model' reads it")
        if kind != "AutoModelForSeq2SeqLM" and config.is_encoder_decoder:
            raise FoveateError(f"{path} is an encoder–decoder: 'foveate align --model' reads it")
        auto = getattr(transformers, kind)
        with _without_warnings(transformers):
            model, problems = auto.from_pretrained(
                path, use_safetensors=True, output_loading_info=True, **options
            )
            tokenizer = transformers.AutoTokenizer.from_pretrained(path, **options)
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, FoveateError):
            raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise FoveateError(f"{path} cannot be loaded: {lines[0][:200]}") from None
    missing = sorted(problems["missing_keys"])
    if missing:
        raise FoveateError(
            f"{path} holds weights of another architecture than {type(model).__name__}: it lacks "
            f"'{missing[0]}'"
        )
    return model.eval(), tokenizer


@contextmanager
def _without_warnings(transformers: Any) -> Iterator[None]:
    """Without progress bars and reports, and without draws from torch's global generator."""
    import torch

    log = transformers.utils.logging
    before, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        log.set_verbosity(before)
        if bars:
            log.enable_progress_bar()
