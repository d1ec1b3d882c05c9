"""Text models of earlier days: weights, and what they were trained on, kept beside the runs.

A model is a folder ``RUNS/lab-words/NAME`` of ``weights.safetensors`` and ``about.json``; the
latter is written last, so that a folder which has it is whole. Texts are not kept: they are read
again, and must have the same vocabulary.
"""

import hashlib
import json
import secrets
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.errors import FoveateError
from foveate.lab.server.responses import absent
from foveate.records.record import write_atomically
from foveate.records.runs import runs_folder

if TYPE_CHECKING:
    from torch import nn

    from foveate.lab.requests import Study
    from foveate.text.tokens import Vocabulary

__all__ = ["load_saved_model", "save_model", "saved_model", "saved_models"]

FOLDER, ABOUT, WEIGHTS = "lab-words", "about.json", "weights.safetensors"
SAID = ("what", "corpus", "steps", "accuracy", "created")


def saved_models() -> dict[str, dict[str, Any]]:
    """What is known of every kept model, newest first, by name; what is damaged is passed over."""
    found = {}
    for path in sorted((runs_folder() / FOLDER).glob(f"*/{ABOUT}")):
        try:
            about = json.loads(path.read_text("utf-8"))
            found[path.parent.name] = {key: about[key] for key in SAID}
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return dict(sorted(found.items(), key=lambda own: str(own[1]["created"]), reverse=True))


def saved_model(name: str) -> tuple[Path, dict[str, Any]]:
    """The folder of a model that is listed under a name, and what is known of it."""
    found = saved_models().get(name)
    if found is None:
        raise absent("there is no such model: train one")
    return runs_folder() / FOLDER / name, found


def save_model(
    job: "Study", model: "nn.Module", accuracy: float, vocabularies: Sequence["Vocabulary"]
) -> str:
    """Keep a trained model.

    Args:
        job: What it was trained on, and for how long.
        model: The model.
        accuracy: What it reached on held-out texts.
        vocabularies: The words that its rows stand for.

    Returns:
        Its name.
    """
    from foveate.records.checkpoint import save_checkpoint

    now = datetime.now()
    name = f"{job.corpus}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    place = runs_folder() / FOLDER / name
    about = {"what": job.what, "corpus": job.corpus, "steps": job.steps, "accuracy": accuracy}
    about |= {"created": now.isoformat(timespec="seconds"), "words": _mark(vocabularies)}
    try:
        place.mkdir(parents=True)
        save_checkpoint(place / WEIGHTS, dict(model.state_dict()), {})
        text = json.dumps(about, indent=1).encode()
        write_atomically(place / ABOUT, lambda file: file.write(text))
    except (OSError, FoveateError) as error:
        shutil.rmtree(place, ignore_errors=True)
        raise FoveateError(f"cannot keep the model in {place}: {error}") from None
    return name


def load_saved_model(place: Path, model: "nn.Module", vocabularies: Sequence["Vocabulary"]) -> None:
    """Give a model the weights that were kept, if they stand for the same words.

    Args:
        place: The folder of the kept model.
        model: A model of the same form.
        vocabularies: The words of the texts as they are now.
    """
    from foveate.records.checkpoint import load_checkpoint

    about = json.loads((place / ABOUT).read_text("utf-8"))
    if about.get("words") != _mark(vocabularies):
        raise FoveateError(
            f"the texts of {about['corpus']} have other words than when the model was trained: "
            "train a new one"
        )
    try:
        model.load_state_dict(load_checkpoint(place / WEIGHTS)[0])
    except RuntimeError as error:
        raise FoveateError(f"{place / WEIGHTS} is damaged: {error}") from None


def _mark(vocabularies: Sequence["Vocabulary"]) -> str:
    whole = "\x1e".join("\x1f".join(own.words) for own in vocabularies)
    return hashlib.sha256(whole.encode()).hexdigest()
