"""foveate: attention that looks at the right thing.

This page is the table of contents; names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

CONTENTS = {
    # data
    "Bag": "foveate.bags.bag",
    "pad": "foveate.bags.bag",
    "Mosaics": "foveate.bags.segments",
    "DATASETS": "foveate.data",
    "load": "foveate.data",
    # models
    "FCAM": "foveate.models.focus",
    "FixedFocus": "foveate.models.focus",
    "mlp": "foveate.models.nets",
    "linear": "foveate.models.nets",
    "pair": "foveate.models.nets",
    "MAPS": "foveate.attention.maps",
    # training
    "PARADIGMS": "foveate.attention.paradigms",
    "Plan": "foveate.training.plan",
    "fit": "foveate.training.loop",
    "FocusClassifier": "foveate.userdata.estimator",
    "read": "foveate.training.evaluation",
    # results
    "Record": "foveate.records.record",
    "summarise": "foveate.metrics.metric",
    "open_run": "foveate.records.runs",
    "examine": "foveate.jobs.examine",
    "plot": "foveate.report.plot",
    # the main job
    "Race": "foveate.training.plan",
    "start_race": "foveate.jobs.race",
    "resume_race": "foveate.jobs.race",
    "FoveateError": "foveate.errors",
}

__all__ = [
    "DATASETS",
    "FCAM",
    "MAPS",
    "PARADIGMS",
    "Bag",
    "FixedFocus",
    "FocusClassifier",
    "FoveateError",
    "Mosaics",
    "Plan",
    "Race",
    "Record",
    "__version__",
    "examine",
    "fit",
    "linear",
    "load",
    "mlp",
    "open_run",
    "pad",
    "pair",
    "plot",
    "read",
    "resume_race",
    "start_race",
    "summarise",
]


DEPRECATED: dict[str, str] = {}
"""Former public names and what replaces them; their use warns for one minor release."""


def __getattr__(name: str) -> Any:
    if name in DEPRECATED:
        return _deprecated(name)
    if name not in CONTENTS:
        raise AttributeError(f"module 'foveate' has no attribute '{name}'")
    value = getattr(import_module(CONTENTS[name]), name)
    globals()[name] = value
    return value


def _deprecated(name: str) -> Any:
    import warnings

    current = DEPRECATED[name]
    warnings.warn(
        f"foveate.{name} will be removed in the next minor release: use foveate.{current}",
        DeprecationWarning,
        stacklevel=3,
    )
    return __getattr__(current)


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from foveate.attention.maps import MAPS
    from foveate.attention.paradigms import PARADIGMS
    from foveate.bags.bag import Bag, pad
    from foveate.bags.segments import Mosaics
    from foveate.data import DATASETS, load
    from foveate.errors import FoveateError
    from foveate.jobs.examine import examine
    from foveate.jobs.race import resume_race, start_race
    from foveate.metrics.metric import summarise
    from foveate.models.focus import FCAM, FixedFocus
    from foveate.models.nets import linear, mlp, pair
    from foveate.records.record import Record
    from foveate.records.runs import open_run
    from foveate.report.plot import plot
    from foveate.training.evaluation import read
    from foveate.training.loop import fit
    from foveate.training.plan import Plan, Race
    from foveate.userdata.estimator import FocusClassifier
