"""Fixed focus: g is trained with the focus fixed at alpha; losses and incentives over time.

Every alpha, paradigm, learning rate and seed of a data set is a member of one stacked training.
The paper's figures compare the paradigms at learning rates of their own; here they are compared at
equal ones, since only then do all three losses start with one slope, −α²(C−1)/C² on the
linear-orthogonal setting. The authors' rates are trained and shown as well. [vr23] Sec. 3 and 4.1
"""

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from foveate.data.files.hub import is_available
from foveate.jobs.experiment import EXPERIMENTS, Experiment, Records, Scale, Work
from foveate.records.findings import Finding
from foveate.settings import Settings
from foveate.studies.vr23.fixed_focus.claims import evaluate_claims
from foveate.studies.vr23.fixed_focus.criteria import CRITERIA, REVISIONS
from foveate.studies.vr23.fixed_focus.parts import mosaics_part, orthogonal_part, theorem_part
from foveate.studies.vr23.fixed_focus.settings import FixedFocusSettings

__all__ = ["FixedFocusCurves", "FixedFocusSettings"]


@EXPERIMENTS.register("fixed-focus")
class FixedFocusCurves(Experiment):
    """Loss and incentive curves under a fixed focus. [vr23] Fig. 2 and 3, Theorem 1"""

    about = "g trained under a focus held at α: losses and incentives, with Theorem 1 beside"
    criteria = CRITERIA
    revisions = REVISIONS
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": FixedFocusSettings(
            seeds=2,
            sets=("orthogonal", "digits"),
            orthogonal_n=40,
            orthogonal_epochs=10,
            orthogonal_batch=40,
            orthogonal_lr=50.0,
            orthogonal_momentum=0.0,
            orthogonal_points=5,
            steps=(8.0, 4.0),
            until=40.0,
            n=60,
            epochs=5,
            batch=30,
            n_test=20,
            points=5,
        ),
        # On the orthogonal setting the published run's time, lr·steps/(1 − momentum) = 1000, in
        # fewer and larger steps; images at a quarter of the width, n at a twelfth, all epochs.
        "small": FixedFocusSettings(
            orthogonal_n=400,
            orthogonal_epochs=250,
            orthogonal_batch=400,
            orthogonal_lr=4.0,
            orthogonal_momentum=0.0,
            n=800,
            batch=100,
            cifar10_net="mlp",
            cifar10_side=8,
            n_test=100,
            points=20,
        ),
        "paper": FixedFocusSettings(),
    }

    def parts(self, settings: FixedFocusSettings) -> Mapping[str, Work]:
        works: dict[str, Work] = {"theorem": partial(theorem_part, settings)}
        for name in settings.sets:
            if name == "cifar10" and not is_available("cifar10", "uoft-cs/cifar10"):
                continue
            works[name] = partial(mosaics_part, settings, name)
        if "orthogonal" in works:
            works["orthogonal"] = partial(orthogonal_part, settings)
        return works

    def findings(self, settings: FixedFocusSettings, records: Records) -> list[Finding]:
        return evaluate_claims(records, _deviation(settings, records))


def _deviation(settings: FixedFocusSettings, records: Records) -> str:
    """Differences from the published set-up, derived from the settings."""
    default = FixedFocusSettings()
    notes = ["paradigms are judged at equal learning rates, the paper's at rates of their own"]
    if "orthogonal" in records and settings.orthogonal_batch >= settings.orthogonal_n:
        notes.append(
            f"orthogonal: full batches of {settings.orthogonal_n} bags in steps of "
            f"{settings.orthogonal_lr:g} up to the authors' time 1000 (theirs: "
            f"5,000 bags, batches of "
            "256, momentum), to stay near the flow at less cost"
        )
    if "digits" in records:
        notes.append(
            f"digits mosaics (n = {settings.n}, g of kind {settings.digits_net}) "
            f"are not in the paper"
        )
    if "cifar10" in records and settings.n != default.n:
        notes.append(f"CIFAR-10 with n = {settings.n} (paper {default.n:,}), to fit in minutes")
    if "cifar10" in records and settings.cifar10_net != default.cifar10_net:
        side = settings.cifar10_side
        notes.append(
            f"CIFAR-10 images averaged to {side}×{side} and g of kind "
            f"{settings.cifar10_net} in place "
            "of the convolutional network, for the same reason"
        )
    if "cifar10" in settings.sets and "cifar10" not in records:
        notes.append("CIFAR-10 is left out, its files are not here")
    return "; ".join(notes)
