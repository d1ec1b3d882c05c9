"""Criteria of the claims on signatures, and their revisions."""

from collections.abc import Mapping

from foveate.records.findings import Revision

__all__ = ["CRITERIA", "REVISIONS"]

CHANGED = "2026-11-18"

CRITERIA: Mapping[str, str] = {
    "vr23:C1": "For every m, over paired seeds with 95 % intervals that exclude 0: under soft "
    "attention "
    "fewer bags lie in the middle rows of the heat map (.2 ≤ p < .8) than under hard attention, "
    "and more in its middle columns (.2 ≤ a_z < .8) than under hard attention and than under "
    "LVML.",
    "vr23:C2": "For every m, over paired seeds with 95 % intervals that exclude 0: under hard "
    "attention "
    "fewer bags lie in the middle columns (.2 ≤ a_z < .8) than under soft attention, and more in "
    "the middle rows (.2 ≤ p < .8) than under soft attention and than under LVML.",
    "vr23:C3": "For every m, over paired seeds with 95 % intervals that exclude 0: under LVML "
    "fewer bags lie"
    " in the middle columns (.2 ≤ a_z < .8) than under soft attention, and fewer in the middle "
    "rows (.2 ≤ p < .8) than under hard attention.",
    "vr23:C16": "For every m: SAIF of the hybrid minus SAIF of soft attention is above 0 with "
    "an interval "
    "over paired seeds that excludes 0, and accuracy falls by less than 1 point.",
    "vr23:C21": "For every m: SAIF of the hybrid minus SAIF of random epochs with the same "
    "number of hard "
    "epochs (and so the same classifier calls), with paired seeds, is above 0 with an interval "
    "that excludes 0.",
}

REVISIONS: Mapping[str, Revision] = {
    "vr23:C1": Revision(
        CHANGED,
        "It asked for p ≥ .8 in 80 % of bags, which no model with an accuracy below 80 % can "
        "reach, as on CIFAR-10; the paper speaks of the middle rows of the heat map.",
        "For every m: under soft attention at least 80 % of held-out bags have a probability of "
        "the true class of .8 or more, and the share of bags with a middling focus (.2 ≤ a_z < "
        ".8) is above hard attention's, with an interval over seeds that excludes 0.",
        "holds",
    ),
    "vr23:C2": Revision(
        CHANGED,
        "It asked for levels that depend on how hard the data are; the paper speaks of the middle"
        " rows and columns of the heat map.",
        "For every m: under hard attention fewer than 10 % of bags have a middling focus, and the"
        " share of confident predictions (p ≥ .8) is below soft attention's, with an interval "
        "that excludes 0.",
        "holds in part",
    ),
    "vr23:C3": Revision(
        CHANGED,
        "It asked for p ≥ .8 in 80 % of bags, which no model with an accuracy below 80 % can "
        "reach, as on CIFAR-10; the paper speaks of the middle rows of the heat map.",
        "For every m: under LVML at least 80 % of bags have p ≥ .8, and the share with a middling"
        " focus is below soft attention's, with an interval that excludes 0.",
        "holds",
    ),
    "vr23:C21": Revision(
        CHANGED,
        "Random epochs had more hard epochs, and so more classifier calls, than the hybrid.",
        "For every m: SAIF of the hybrid minus SAIF of random epochs, with equal numbers of "
        "epochs and paired seeds, is above 0 with an interval that excludes 0.",
        "holds in part",
    ),
}
