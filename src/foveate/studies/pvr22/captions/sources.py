"""Data of a captioner: grids of features, words, names of objects."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.data.captions import Captioned, read_captioned
from foveate.data.features.datasets import cached_file
from foveate.data.features.encoders import BUILT_IN, Encoder, find_encoder
from foveate.data.features.encoding import Sizes, encode, squared
from foveate.data.features.image_sources import Pictures, find_pictures
from foveate.data.files.feature_files import Moments, read_encoded
from foveate.data.object_words import ObjectWords, caption_words, read_object_words
from foveate.errors import FoveateError
from foveate.metrics.boxes import PIXELS
from foveate.models.efficientnet import weights_file
from foveate.studies.pvr22.captions.settings import CaptionSettings
from foveate.text.tokens import END, PAD, Vocabulary
from foveate.types import StepProgress

__all__ = ["Bank", "Pool", "Side", "folder_of", "pool_of", "side_of", "unavailable_reason"]

Photo = NDArray[np.uint8]


class Bank:
    """Grids of features, each stored once and standardised as it is taken.

    Args:
        x: As encoded, shape (N, d, h, w), half or single precision.
        train: Training images, whose mean and deviation standardise every channel.
    """

    def __init__(self, x: Tensor, train: Tensor) -> None:
        self.x = x
        seen = Moments()
        for rows in train.split(256):
            seen.add(x[rows].double().numpy())
        self.mean, self.std = (torch.from_numpy(part) for part in seen.mean_and_std())

    def take(self, rows: Tensor) -> Tensor:
        """Features of all positions of some images, shape (I, L, d)."""
        x = (self.x[rows].float() - self.mean) / self.std.where(self.std > 0, 1.0)
        return x.flatten(2).mT.contiguous()

    @property
    def side(self) -> int:
        """Positions per side of the grid."""
        return int(self.x.shape[-1])


@dataclass(frozen=True)
class Side:
    """The images of one side of the split.

    Args:
        rows: Where their features stand in the bank, shape (N,).
        y: Their captions as words with END behind, padded, shape (N, k, T).
        captioned: Captions as written, and boxes.
    """

    rows: Tensor
    y: Tensor
    captioned: Captioned

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Pool:
    """Data of a training.

    Args:
        bank: Features of all images.
        train: Training images.
        validation: Validation images.
        test: Test images.
        vocabulary: Words of the training captions.
        objects: The words that name objects.
        photo: From a place in ``test`` to the photo as the encoder saw it, (224, 224, 3).
        notes: Irregularities of the data.
    """

    bank: Bank
    train: Side
    validation: Side
    test: Side
    vocabulary: Vocabulary
    objects: ObjectWords
    photo: Callable[[int], Photo]
    notes: tuple[str, ...] = ()


def folder_of(name: str) -> Path:
    """A folder by its path, or by its name in ``$FOVEATE_DATA``."""
    root = os.environ.get("FOVEATE_DATA")
    for candidate in (Path(name), *((Path(root) / name,) if root else ())):
        if candidate.is_dir():
            return candidate
    raise FoveateError(
        f"the images of '{name}' are not here: set FOVEATE_DATA to a folder that holds {name}/, "
        "or name a folder of Parquet files with images, captions and boxes"
    )


def unavailable_reason(settings: CaptionSettings) -> str | None:
    """Why the settings cannot be run here, None where they can."""
    try:
        folders = [folder_of(name) for name in settings.sets]
        has_encoder = settings.encoder != BUILT_IN or weights_file() is not None
        if not has_encoder and not all(
            _file(settings, find_pictures(str(f))).exists() for f in folders
        ):
            return "the weights of the frozen encoder are not in FOVEATE_DATA/weights"
    except FoveateError as error:
        return str(error)
    return None


def encoder_of(settings: CaptionSettings) -> Encoder:
    """The frozen encoder that the settings name."""
    return find_encoder(
        settings.encoder, None, settings.grid if settings.encoder == BUILT_IN else None
    )


def _file(settings: CaptionSettings, pictures: Pictures) -> Path:
    return cached_file(pictures, encoder_of(settings), Sizes(settings.image_side))


def pool_of(settings: CaptionSettings, report: StepProgress | None = None) -> Pool:
    """The images and captions of some settings, encoded where they are not yet.

    All training images are learnt from; the test images of the first set are reported on, those of
    the others are for validation. A photo is on one side only.

    Args:
        settings: The settings.
        report: Called as ``report(images encoded, images)`` for each set.
    """
    if settings.made_up:
        from foveate.studies.pvr22.captions.synthetic import synthetic_pool

        return synthetic_pool(settings)
    if not settings.sets:
        raise FoveateError("sets must name at least one folder of images with captions")
    for name in settings.sets:
        pictures = find_pictures(str(folder_of(name)))
        file = _file(settings, pictures)
        encode(pictures, encoder_of(settings), file, Sizes(settings.image_side), report)
    return _pool(settings)


@lru_cache(maxsize=1)  # the parts of a run share it
def _pool(settings: CaptionSettings) -> Pool:
    parts: list[dict[str, Captioned]] = []
    grids: list[Tensor] = []
    for name in settings.sets:
        folder, start = folder_of(name), sum(map(len, grids))
        captioned = read_captioned(folder)
        parts.append({k: replace(part, row=part.row + start) for k, part in captioned.items()})
        grids.append(_grid(_file(settings, find_pictures(str(folder)))))
    if set(parts[0]) != {"train", "test"}:
        raise FoveateError(f"{settings.sets[0]} must hold Parquet files of train and of test")
    return _split(settings, torch.cat(grids), parts)


def _grid(path: Path) -> Tensor:
    x = read_encoded(path).x
    if x.dim() != 4 or x.shape[2] != x.shape[3]:
        raise FoveateError(
            f"{path}: attention needs a square grid of features (N, d, h, h), got "
            f"{tuple(x.shape)}: choose an encoder or a layer that gives one"
        )
    return x


def _split(settings: CaptionSettings, x: Tensor, parts: Sequence[dict[str, Captioned]]) -> Pool:
    test = parts[0]["test"]
    others = [available["test"].without(test) for available in parts[1:] if "test" in available]
    validation = _concatenated(others) if others else test
    learnt = _concatenated([available.get("train") or available["all"] for available in parts])
    learnt = learnt.without(test).without(validation)
    captions = (
        caption_words(text) for image_captions in learnt.captions for text in image_captions
    )
    vocabulary = Vocabulary.of(captions, settings.least)
    train_side, validation_side, test_side = (
        side_of(settings, image_captions, vocabulary)
        for image_captions in (learnt, validation, test)
    )
    folder = folder_of(settings.sets[0])

    def photo(index: int) -> Photo:
        images = find_pictures(str(folder)).read(int(test.row[index]))
        return _bytes(squared([next(iter(images))], PIXELS)[0])

    return Pool(
        Bank(x, train_side.rows),
        train_side,
        validation_side,
        test_side,
        vocabulary,
        read_object_words(folder),
        photo,
        tuple(dict.fromkeys((*learnt.notes, *validation.notes, *test.notes))),
    )


def _bytes(image: Tensor) -> Photo:
    x: Photo = (image.permute(1, 2, 0) * 255).round().to(torch.uint8).numpy()
    return x


def _concatenated(parts: Sequence[Captioned]) -> Captioned:
    return Captioned(
        np.concatenate([part.image_id for part in parts]),
        tuple(text for part in parts for text in part.captions),
        tuple(boxes for part in parts for boxes in part.boxes),
        np.concatenate([part.row for part in parts]),
        parts[0].names,
        tuple(name for part in parts for name in part.licence),
        tuple(note for part in parts for note in part.notes),
    )


def side_of(settings: CaptionSettings, captioned: Captioned, vocabulary: Vocabulary) -> Side:
    """Captions as padded words: at most ``captions`` to an image and ``longest`` words to each.

    A caption that is cut has no END: it teaches how to begin, not where to stop.
    """
    y = torch.full((len(captioned), settings.captions, settings.longest), PAD)
    for i, texts in enumerate(captioned.captions):
        for k, text in enumerate(texts[: settings.captions]):
            ids = [*vocabulary.encode(caption_words(text)), END][: settings.longest]
            y[i, k, : len(ids)] = torch.tensor(ids)
    return Side(torch.from_numpy(captioned.row), y, captioned)
