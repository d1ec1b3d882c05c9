"""Saved text models: weights, and what they were trained on, stored beside the runs.

A model is a folder ``RUNS/lab-words/NAME`` of ``weights.safetensors`` and ``about.json``; the
latter is written last, so that a folder which has it is complete. Two models come with the package.
A classifier of texts is saved with its vocabulary and tokeniser and needs nothing else. The texts
of other models are read again, and must have the same vocabulary.
"""

import hashlib
import json
import secrets
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from foveate.errors import FoveateError
from foveate.io.tokenisation import whitespace_words, words
from foveate.lab.bundled import BUNDLED
from foveate.records.record import write_atomically
from foveate.records.runs import runs_folder

if TYPE_CHECKING:
    from torch import nn

    from foveate.lab.requests import TextJob
    from foveate.text.tokens import Vocabulary

__all__ = [
    "ReaderTexts",
    "SavedModel",
    "load_reader_texts",
    "load_saved_model",
    "save_model",
    "saved_models",
    "vocabulary_digest",
    "write_model",
]

FOLDER, ABOUT, WEIGHTS = "lab-words", "about.json", "weights.safetensors"
TOKENISERS: dict[str, Callable[[str], list[str]]] = {
    "words": words,
    "review_words": words,  # typed text has no line breaks of web pages
    "whitespace_words": whitespace_words,
}
SUMMARY = ("what", "corpus", "steps", "accuracy", "created")


class SavedModel(NamedTuple):
    """A saved model: its folder and its summary."""

    path: Path
    about: dict[str, Any]


@dataclass(frozen=True)
class ReaderTexts:
    """What a classifier of texts needs beside its weights.

    Args:
        classes: Names of the two classes.
        examples: A few texts to read.
        vocabulary: Words of the training texts.
        tokenise: Splits a text into words.
    """

    classes: Sequence[str]
    examples: Sequence[str]
    vocabulary: "Vocabulary"
    tokenise: Callable[[str], list[str]]

    def as_json(self) -> dict[str, Any]:
        """What is stored with the weights; empty if the tokeniser cannot be named."""
        name = getattr(self.tokenise, "__name__", "")
        if name not in TOKENISERS:
            return {}
        return {
            "classes": list(self.classes),
            "examples": list(self.examples),
            "vocabulary": list(self.vocabulary.words),
            "tokeniser": name,
        }


def saved_models() -> dict[str, SavedModel]:
    """Every saved model by name, newest first, bundled ones last; damaged ones are skipped."""
    models = {}
    bundled = sorted((BUNDLED / FOLDER).glob(f"*/{ABOUT}"))
    for path in (*bundled, *sorted((runs_folder() / FOLDER).glob(f"*/{ABOUT}"))):
        try:
            about = json.loads(path.read_text("utf-8"))
            summary = {key: about[key] for key in SUMMARY}
        except (OSError, ValueError, KeyError, TypeError):
            continue
        models[path.parent.name] = SavedModel(path.parent, summary)
    by_date = sorted(models.items(), key=lambda item: str(item[1].about["created"]), reverse=True)
    return dict(by_date)


def save_model(
    job: "TextJob",
    model: "nn.Module",
    accuracy: float,
    vocabularies: Sequence["Vocabulary"],
    texts: ReaderTexts | None = None,
) -> Path:
    """Save a trained model.

    Args:
        job: What it was trained on, and for how long.
        model: The model.
        accuracy: What it reached on held-out texts.
        vocabularies: The words that its rows stand for.
        texts: What a classifier of texts needs beside its weights.

    Returns:
        Its folder.
    """
    now = datetime.now()
    name = f"{job.corpus}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    folder = runs_folder() / FOLDER / name
    about = {"what": job.what, "corpus": job.corpus, "steps": job.steps, "accuracy": accuracy}
    about |= {
        "created": now.isoformat(timespec="seconds"),
        "words": vocabulary_digest(vocabularies),
    }
    write_model(folder, about, dict(model.state_dict()), texts)
    return folder


def write_model(
    folder: Path, about: dict[str, Any], weights: dict[str, Any], texts: ReaderTexts | None
) -> None:
    """Write a saved model into a new folder, whole or not at all.

    Args:
        folder: Where.
        about: Its summary, with the digest of its words.
        weights: The parameters by name.
        texts: What a classifier of texts needs beside its weights.
    """
    from foveate.records.record import save_checkpoint

    try:
        folder.mkdir(parents=True)
        save_checkpoint(folder / WEIGHTS, weights, {} if texts is None else texts.as_json())
        text = json.dumps(about, indent=1).encode()
        write_atomically(folder / ABOUT, lambda file: file.write(text))
    except (OSError, FoveateError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise FoveateError(f"cannot save the model in {folder}: {error}") from None


def load_reader_texts(folder: Path) -> ReaderTexts | None:
    """What was stored beside the weights of a classifier of texts; None if nothing was."""
    from foveate.records.record import load_checkpoint
    from foveate.text.tokens import MARKS, Vocabulary

    stored = load_checkpoint(folder / WEIGHTS)[1]
    if not stored:
        return None
    try:
        return ReaderTexts(
            stored["classes"],
            stored["examples"],
            Vocabulary(stored["vocabulary"][len(MARKS) :]),
            TOKENISERS[stored["tokeniser"]],
        )
    except (KeyError, TypeError) as error:
        raise FoveateError(f"{folder / WEIGHTS} was written by another version: {error}") from None


def load_saved_model(
    folder: Path, model: "nn.Module", vocabularies: Sequence["Vocabulary"]
) -> None:
    """Load saved weights into a model, if they belong to the same vocabulary.

    Args:
        folder: The folder of the saved model.
        model: A model of the same form.
        vocabularies: The words of the texts as they are now.
    """
    from foveate.records.record import load_checkpoint

    about = json.loads((folder / ABOUT).read_text("utf-8"))
    if about.get("words") != vocabulary_digest(vocabularies):
        raise FoveateError(
            f"the texts of {about['corpus']} have other words than when the model was trained: "
            "train a new one"
        )
    try:
        model.load_state_dict(load_checkpoint(folder / WEIGHTS)[0])
    except RuntimeError as error:
        raise FoveateError(f"{folder / WEIGHTS} is damaged: {error}") from None


def vocabulary_digest(vocabularies: Sequence["Vocabulary"]) -> str:
    """SHA-256 of the words that the rows of a model stand for."""
    text = "\x1e".join("\x1f".join(vocabulary.words) for vocabulary in vocabularies)
    return hashlib.sha256(text.encode()).hexdigest()
