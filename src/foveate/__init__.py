"""foveate: attention that looks at the right thing.

This page is the table of contents; names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

CONTENTS = {
    # data
    "Bag": "foveate.bag",
    "pad": "foveate.bag",
    "Mosaics": "foveate.segments",
    "DATASETS": "foveate.data",
    "load": "foveate.data",
    # models
    "FCAM": "foveate.models.focus",
    "FixedFocus": "foveate.models.focus",
    "mlp": "foveate.models.nets",
    "linear": "foveate.models.nets",
    "pair": "foveate.models.nets",
    "MAPS": "foveate.maps",
    # training
    "PARADIGMS": "foveate.paradigms",
    "Plan": "foveate.plan",
    "fit": "foveate.train",
    "FocusClassifier": "foveate.estimator",
    "read": "foveate.probes",
    # results
    "Record": "foveate.record",
    "summarise": "foveate.metrics.summary",
    "open_run": "foveate.runs",
    "plot": "foveate.report.plot",
    # the main job
    "Race": "foveate.plan",
    "start_race": "foveate.experiments.race",
    "resume_race": "foveate.experiments.race",
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


def __getattr__(name: str) -> Any:
    if name not in CONTENTS:
        raise AttributeError(f"module 'foveate' has no attribute '{name}'")
    value = getattr(import_module(CONTENTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from foveate.bag import Bag, pad
    from foveate.data import DATASETS, load
    from foveate.errors import FoveateError
    from foveate.estimator import FocusClassifier
    from foveate.experiments.race import resume_race, start_race
    from foveate.maps import MAPS
    from foveate.metrics.summary import summarise
    from foveate.models.focus import FCAM, FixedFocus
    from foveate.models.nets import linear, mlp, pair
    from foveate.paradigms import PARADIGMS
    from foveate.plan import Plan, Race
    from foveate.probes import read
    from foveate.record import Record
    from foveate.report.plot import plot
    from foveate.runs import open_run
    from foveate.segments import Mosaics
    from foveate.train import fit
