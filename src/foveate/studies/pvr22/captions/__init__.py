"""Captions: attention of a decoder when it names an object. [vr23] Sec. 5, [pvr22] Sec. 2"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from foveate.jobs.experiment import EXPERIMENTS, Records, Scale, Work
from foveate.records.published import Cell
from foveate.settings import Settings
from foveate.studies.published import Reproduction
from foveate.studies.pvr22.captions.published import CAUSES, PUBLISHED
from foveate.studies.pvr22.captions.settings import RULES, CaptionSettings
from foveate.types import PartProgress

__all__ = ["CaptionSettings", "Captions"]


@EXPERIMENTS.register("captions")
class Captions(Reproduction):
    """Soft, hard and hybrid attention over a grid of frozen features; captions of COCO images."""

    published = PUBLISHED
    causes = CAUSES
    about = "Captions of images: cosine of attention with the object's box, SAIF at .3, BLEU-4"
    long = True
    criteria: ClassVar[Mapping[str, str]] = {
        "pvr22:C1": "Soft attention, object words on held-out images: the mean cosine of the whole "
        "attention with the object's boxes is above that of its top 20 places, and this is above "
        "that of 20 random places; each difference has a 95 % interval over images and seeds that "
        "excludes 0, in the captions the model says itself and in the reference captions. Holds "
        "with all four conditions, in part with some.",
        "vr23:C16-captions": "Object words that the models say for held-out images: SAIF at .3 of "
        "the hybrid minus soft attention's is above 0 with a 95 % interval over images and paired "
        "seeds that excludes 0, and mean BLEU-4 falls by less than 1 point. Holds with both, in "
        "part with one.",
    }
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": CaptionSettings(
            seeds=2,
            made_up=48,
            embed=8,
            hidden=12,
            attention=8,
            dropout=0.0,
            least=1,
            captions=2,
            longest=8,
            batch=8,
            lr=1e-2,
            soft_epochs=16,
            hard_epochs=4,
            reads=2,
            beam=2,
            top=(4, 2),
            shown=2,
        ),
        "small": CaptionSettings(
            seeds=3,
            sets=("coco_captions_boxes", "coco_one_person"),
            embed=128,
            hidden=128,
            attention=64,
            dropout=0.3,
            least=3,
            batch=8,
            lr=2e-3,
            soft_epochs=4,
            hard_epochs=1,  # [vr23] has 20 and 5; validation loss is lowest after five in all
            reads=2,
        ),
        "paper": CaptionSettings(seeds=5, sets=("coco",)),  # not specified in [vr23] on seeds
    }
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {"hybrid": ("soft",)}

    def parts(self, settings: CaptionSettings) -> Mapping[str, Work]:
        from foveate.studies.pvr22.captions.training import train_part

        if not settings.sets and not settings.made_up:
            return {}
        return {rule: partial(train_part, settings, rule) for rule in RULES}

    def cells(self, settings: CaptionSettings, records: Records) -> list[Cell]:
        from foveate.studies.pvr22.captions.findings import caption_cells

        return caption_cells(settings, records)

    def cell_figures(self, cells: Sequence[Cell]) -> Mapping[str, Any]:
        from foveate.studies.pvr22.captions.figures import cell_figures

        return cell_figures(cells)

    def differs(self, settings: CaptionSettings, records: Records) -> list[str]:
        from foveate.studies.pvr22.captions.findings import deviations

        return deviations(settings, records)

    def runnable(self, settings: CaptionSettings) -> tuple[Settings, dict[str, str]]:
        from foveate.studies.pvr22.captions.sources import unavailable_reason

        reason = None if settings.made_up else unavailable_reason(settings)
        if reason is None:
            return settings, {}
        groups = PUBLISHED.groups
        return settings.model_copy(update={"sets": ()}), dict.fromkeys(groups, reason)

    def seconds(self, settings: CaptionSettings, report: PartProgress | None = None) -> float:
        from foveate.studies.pvr22.captions.cost import seconds_of

        return seconds_of(settings, report)
