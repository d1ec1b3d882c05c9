"""Real bags: the default of ``foveate fit`` beside baselines, every paradigm and torchmil."""

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from foveate.data.files.hub import missing
from foveate.jobs.experiment import EXPERIMENTS, Records, Scale, Work
from foveate.records.published import Cell, PublishedTable
from foveate.settings import Count, NonNegative, Positive, Settings, one_of
from foveate.studies.beyond.real_bags.sets import SETS
from foveate.studies.published import Reproduction

__all__ = ["OTHERS", "RealBags", "RealBagsSettings"]

OTHERS = ("hard", "hybrid", "witness", "noisy-or", "additive", "mean")
"""Paradigms outside the default mixture; the logit average equals soft attention where g is affine,
and is left out."""
PEERS = ("abmil", "dsmil", "transmil")


def _named_peers(peers: Any) -> Any:
    """Names of models; stored runs may say whether all of them, or none, were trained."""
    return (PEERS if peers else ()) if isinstance(peers, bool) else peers


class RealBagsSettings(Settings):
    """Which sets, and changes of the defaults of a fit; None leaves a default as it is."""

    sets: tuple[Annotated[str, one_of(SETS)], ...] = tuple(SETS)
    """Names of sets; some need files."""
    repeats: Annotated[int, Field(ge=0)] = 5
    """How often folds are drawn for the default at most; large sets have fewer."""
    others: tuple[str, ...] = OTHERS
    """Further paradigms, fitted once with the first draw of folds."""
    peers: Annotated[tuple[Annotated[str, one_of(PEERS)], ...], BeforeValidator(_named_peers)] = (
        PEERS
    )
    """Models of torchmil that are trained, where torchmil is installed."""
    bags: Annotated[int, Field(ge=0)] = 0
    """Use at most so many bags of a set; 0 for all."""
    epochs: Count | None = None
    """Epochs at most."""
    seeds: Count | None = None
    """Members of each paradigm in each fold."""
    folds: Count | None = None
    """Number of folds."""
    lr: Positive | None = None
    """Learning rate."""
    weight_decay: NonNegative | None = None
    """Weight decay."""
    patience: Count | None = None
    """Epochs without a lower validation loss before a model stops."""
    net: str | None = None
    """Networks for f and g."""

    def fit_changes(self) -> dict[str, Any]:
        """The settings of a fit that are changed."""
        names = ("epochs", "seeds", "folds", "lr", "weight_decay", "patience", "net")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


@EXPERIMENTS.register("real-bags")
class RealBags(Reproduction):
    """Every set is fitted by the code of ``foveate fit`` with its defaults, in five folds.

    Settings were chosen on the design sets; the confirmation sets were run once.
    """

    published = PublishedTable(
        "Real bags: the default of foveate fit beside baselines and torchmil"
    )
    about = "the default fit on real bags beside trivial baselines, every paradigm and torchmil"
    long = True
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": RealBagsSettings(
            sets=("digits-bags",), repeats=1, others=(), peers=(), bags=20, epochs=1, seeds=1,
            folds=2,
        ),
        "small": RealBagsSettings(repeats=1, others=(), peers=()),
        "paper": RealBagsSettings(),
    }  # fmt: skip

    def parts(self, settings: RealBagsSettings) -> Mapping[str, Work]:
        from foveate.studies.beyond.real_bags.fitting import fit_part
        from foveate.studies.beyond.real_bags.peers import train_peer

        works: dict[str, Work] = {}
        for name in settings.sets:
            for repeat in range(min(settings.repeats, SETS[name].repeats)):
                works[f"{name}-{repeat}"] = partial(fit_part, settings, name, repeat, None)
        for name in settings.sets:
            if settings.others:
                works[f"{name}-others"] = partial(fit_part, settings, name, 0, settings.others)
            if settings.peers and find_spec("torchmil"):
                for peer in (peer for peer in SETS[name].peers if peer in settings.peers):
                    works[f"{name}-{peer}"] = partial(train_peer, settings, name, peer)
        return works

    def cells(self, settings: RealBagsSettings, records: Records) -> list[Cell]:
        from foveate.studies.beyond.real_bags.summary import real_cells

        return real_cells(records)

    def runnable(self, settings: RealBagsSettings) -> tuple[Settings, dict[str, str]]:
        folders = {name: SETS[name].folder for name in settings.sets}
        absent = missing({name: (folder, "none") for name, folder in folders.items() if folder})
        present = tuple(name for name in settings.sets if name not in absent)
        return settings.model_copy(update={"sets": present}), absent
