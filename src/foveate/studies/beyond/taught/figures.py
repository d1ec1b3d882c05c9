"""Figure: FT of every method on every set."""

from collections.abc import Mapping
from typing import Any

from foveate.jobs.experiment import Records
from foveate.studies.beyond.taught import TaughtSettings, TaughtStudy
from foveate.studies.comparison_chart import comparison_chart

__all__ = ["figures"]


def figures(settings: TaughtSettings, records: Records) -> Mapping[str, Any]:
    """FT with intervals over draws of the bags, one panel per set."""
    return {"ft": comparison_chart(TaughtStudy().cells(settings, records), {}, "FT %", columns=3)}
