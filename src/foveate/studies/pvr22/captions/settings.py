"""Sizes of the captioning experiment."""

from typing import Annotated, Literal

from pydantic import Field

from foveate.settings import AtLeastTwo, Count, NonEmpty, Positive, Settings, Share

__all__ = ["RULES", "CaptionSettings"]

RULES = ("soft", "hard", "hybrid")


class CaptionSettings(Settings):
    """Images, encoder, size of the decoder, and its training and evaluation."""

    seeds: Count
    sets: tuple[str, ...] = ()
    """Folders in FOVEATE_DATA, or paths. The first is reported on: its boxes must be complete."""
    made_up: Annotated[int, Field(ge=0)] = 0
    """So many made-up images, in place of files."""
    encoder: str = "efficientnet-lite0"
    """The frozen encoder, or an import path of another that gives a square grid."""
    grid: Literal["block10", "block15", "head"] = "block15"
    image_side: Count = 448
    """Pixels a side that images are brought to: 14 × 14 places after block 15."""
    embed: Count = 512  # [vr23] released code, as the next two
    hidden: Count = 512
    attention: Count = 256
    dropout: Share = 0.5  # Xu et al. (2015); not specified in [vr23]
    least: Count = 5  # words seen as often; not specified in [vr23] and [pvr22]
    captions: Count = 5
    """Captions of an image that are learnt from."""
    longest: AtLeastTwo = 20
    """Words to a caption, its end included."""
    batch: Count = 16
    """Images to a step, each with its captions."""
    lr: Positive = 4e-4  # not specified in [vr23]
    soft_epochs: Count = 20  # [vr23] released code, as the next
    hard_epochs: Count = 5
    reads: Count = 5
    """Measurements after the one at the start, evenly over the training."""
    beam: Count = 3  # not specified in [vr23]
    top: NonEmpty[Count] = (20, 10)  # [pvr22] Sec. 2 and the authors' repository
    shown: Count = 4
    """Images in the overlays."""

    @property
    def epochs(self) -> int:
        """Epochs of every paradigm: the hybrid has as many as soft and as hard attention alone."""
        return self.soft_epochs + self.hard_epochs
