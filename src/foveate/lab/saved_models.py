"""Saved text models: weights, and what they were trained on, stored beside the runs.

A model is a folder ``RUNS/lab-words/NAME`` of ``weights.safetensors`` and ``about.json``; the
latter is written last, so that a folder which has it is complete. Texts are not stored: they are
read again, and must have the same vocabulary.
"""

import hashlib
import json
import secrets
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from foveate.errors import FoveateError
from foveate.records.record import write_atomically
from foveate.records.runs import runs_folder

if TYPE_CHECKING:
    from torch import nn

    from foveate.lab.requests import TextJob
    from foveate.text.tokens import Vocabulary

__all__ = ["SavedModel", "load_saved_model", "save_model", "saved_models"]

FOLDER, ABOUT, WEIGHTS = "lab-words", "about.json", "weights.safetensors"
SUMMARY = ("what", "corpus", "steps", "accuracy", "created")


class SavedModel(NamedTuple):
    """A saved model: its folder and its summary."""

    path: Path
    about: dict[str, Any]


def saved_models() -> dict[str, SavedModel]:
    """Every saved model by name, newest first; damaged ones are skipped."""
    models = {}
    for path in sorted((runs_folder() / FOLDER).glob(f"*/{ABOUT}")):
        try:
            about = json.loads(path.read_text("utf-8"))
            summary = {key: about[key] for key in SUMMARY}
        except (OSError, ValueError, KeyError, TypeError):
            continue
        models[path.parent.name] = SavedModel(path.parent, summary)
    by_date = sorted(models.items(), key=lambda item: str(item[1].about["created"]), reverse=True)
    return dict(by_date)


def save_model(
    job: "TextJob", model: "nn.Module", accuracy: float, vocabularies: Sequence["Vocabulary"]
) -> Path:
    """Save a trained model.

    Args:
        job: What it was trained on, and for how long.
        model: The model.
        accuracy: What it reached on held-out texts.
        vocabularies: The words that its rows stand for.

    Returns:
        Its folder.
    """
    from foveate.records.checkpoint import save_checkpoint

    now = datetime.now()
    name = f"{job.corpus}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    folder = runs_folder() / FOLDER / name
    about = {"what": job.what, "corpus": job.corpus, "steps": job.steps, "accuracy": accuracy}
    about |= {"created": now.isoformat(timespec="seconds"), "words": _digest(vocabularies)}
    try:
        folder.mkdir(parents=True)
        save_checkpoint(folder / WEIGHTS, dict(model.state_dict()), {})
        text = json.dumps(about, indent=1).encode()
        write_atomically(folder / ABOUT, lambda file: file.write(text))
    except (OSError, FoveateError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise FoveateError(f"cannot save the model in {folder}: {error}") from None
    return folder


def load_saved_model(
    folder: Path, model: "nn.Module", vocabularies: Sequence["Vocabulary"]
) -> None:
    """Load saved weights into a model, if they belong to the same vocabulary.

    Args:
        folder: The folder of the saved model.
        model: A model of the same form.
        vocabularies: The words of the texts as they are now.
    """
    from foveate.records.checkpoint import load_checkpoint

    about = json.loads((folder / ABOUT).read_text("utf-8"))
    if about.get("words") != _digest(vocabularies):
        raise FoveateError(
            f"the texts of {about['corpus']} have other words than when the model was trained: "
            "train a new one"
        )
    try:
        model.load_state_dict(load_checkpoint(folder / WEIGHTS)[0])
    except RuntimeError as error:
        raise FoveateError(f"{folder / WEIGHTS} is damaged: {error}") from None


def _digest(vocabularies: Sequence["Vocabulary"]) -> str:
    text = "\x1e".join("\x1f".join(vocabulary.words) for vocabulary in vocabularies)
    return hashlib.sha256(text.encode()).hexdigest()
