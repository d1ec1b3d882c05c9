"""Why numbers of the first table differ from the published ones."""

from foveate.records.causes import Cause, Reference

__all__ = ["CAUSES"]

ALL_POSTS = "hatexplain-2-all-posts"
"""Label of the stored run of HateXplain-2 on all posts for a few epochs."""
AS_PUBLISHED_LABELS = ("hatexplain-1", "hatexplain-1-majority", "hatexplain-2")
"""Labels of the stored runs of HateXplain at the published training."""
RELEASED = "frozen features, released split"
PUBLISHED_MOSAICS = {5: "30000-mosaics-m5", 20: "30000-mosaics-m20"}
"""Labels of the stored runs with as many mosaics as published, by length of a bag."""
SMALL = ("", "splits")
"""Labels of the stored runs with fewer mosaics than published."""
PIXELS = Reference("table1", "two-hours", "pixels", group="CIFAR10 m=5")
FEATURES = Reference("table1", "", "frozen features", group="CIFAR10 m=5")

CAUSES = (
    *(
        Cause(
            "split",
            "The released split tests on images that were trained on; networks over the same "
            "features, trained on the published 30,000 mosaics for 60 epochs and read on that "
            "split.",
            (f"CIFAR10 m={m}", f"CIFAR100 m={m}"),
            "frozen features",
            (
                Reference("table1", label, RELEASED, "{measure}, seen images %"),
                Reference("table1", label, RELEASED, "{measure}, unseen images %"),
            ),
            shown=True,
            nearer=Reference("table1", label, RELEASED),
        )
        for m, label in PUBLISHED_MOSAICS.items()
    ),
    Cause(
        "split",
        "The released split tests on images that were trained on; the same models read both.",
        ("CIFAR",),
        "frozen features",
        labels=SMALL,
        shown=True,
        nearer=Reference("table1", "splits", RELEASED),
    ),
    Cause(
        "split",
        "The released split tests on images that were trained on; on the clean split no image is.",
        ("CIFAR100",),
        "frozen features",
        (
            Reference("released-split", "cifar100", "clean split", group="CIFAR100 m=5"),
            Reference("released-split", "cifar100", "released split", group="CIFAR100 m=5"),
            Reference("released-split", "cifar100", "released split",
                      "{measure}, seen images %", "CIFAR100 m=5"),
            Reference("released-split", "cifar100", "released split",
                      "{measure}, unseen images %", "CIFAR100 m=5"),
        ),
        ("soft", "lvml", "hybrid"),
        nearer=Reference("released-split", "cifar100", "released split"),
    ),
    Cause(
        "encoder",
        "Frozen ImageNet features stand in for networks that learn from pixels.",
        ("CIFAR10 m", "CIFAR100"),
        "frozen features",
        (PIXELS, FEATURES),
        nearer=Reference("table1", "two-hours", "pixels"),
    ),
    Cause(
        "encoder",
        "Frozen ImageNet features stand in for networks that learn from pixels (which were read on "
        "the clean split).",
        ("CIFAR10 m",),
        RELEASED,
        shown=True,
        nearer=Reference("table1", "two-hours", "pixels"),
    ),
    *(
        Cause(
            "size",
            "Fewer mosaics than the published 30,000, for fewer epochs, leave more test images "
            "unseen.",
            (f"CIFAR100 m={m}",),
            RELEASED,
            labels=SMALL,
            shown=True,
            nearer=Reference("table1", label, RELEASED),
        )
        for m, label in PUBLISHED_MOSAICS.items()
    ),
    Cause(
        "encoder",
        "Frozen ImageNet features and Adam stand in for networks that learn from pixels by SGD.",
        ("CIFAR",),
        RELEASED,
    ),
    Cause(
        "size",
        "12 epochs of Adam on 20,000 mosaics stand in for 150 of SGD on 30,000.",
        ("CIFAR10 m",),
        "pixels",
    ),
    Cause(
        "labels",
        "The published labels and rationales are the first annotator's.",
        ("HateXplain",),
        "majority",
        labels=("",),
        shown=True,
        nearer=Reference("table1", "", "first annotator"),
    ),
    Cause(
        "optimiser",
        "Four epochs of Adam stand in for 550 of SGD.",
        ("HateXplain-1",),
        labels=("",),
        shown=True,
        nearer=Reference("table1", "hatexplain-1", "first annotator"),
    ),
    Cause(
        "optimiser",
        "Four epochs of Adam stand in for 550 of SGD.",
        ("HateXplain-2",),
        labels=("", ALL_POSTS),
        shown=True,
        nearer=Reference("table1", "hatexplain-2", "first annotator"),
    ),
    Cause(
        "size",
        "2,000 posts of 15,383.",
        ("HateXplain-2",),
        labels=("",),
        shown=True,
        nearer=Reference("table1", ALL_POSTS, "first annotator"),
    ),
    *(
        Cause(
            "reading",
            "The released heat map bins the range of the data, so that its last cell does not "
            "begin at .8.",
            ("HateXplain",),
            shown=True,
            nearer=Reference("table1", label, "first annotator", "{measure}, data-range bins %"),
            labels=(label,),
        )
        for label in AS_PUBLISHED_LABELS
    ),
    Cause(
        "spread over seeds",
        "The paper gives no number of trainings; the published number lies between ours.",
        ("HateXplain",),
        labels=AS_PUBLISHED_LABELS,
        shown=True,
        in_range=True,
    ),
    Cause(
        "open",
        "At the published training. That the released script averages logits where it says LVML "
        "does not account for it; the majority's labels and rationales in place of the first "
        "annotator's move it past the published number.",
        ("HateXplain-1",),
        measured=(
            Reference("table1", "hatexplain-1-logit", "first annotator", name="logit"),
            Reference("table1", "hatexplain-1-majority", "majority"),
        ),
        names=("lvml",),
        labels=("hatexplain-1",),
        shown=True,
    ),
    Cause(
        "open",
        "At the published training.",
        ("HateXplain",),
        labels=AS_PUBLISHED_LABELS,
    ),
    *(
        Cause(
            "open",
            "The published training, 550 epochs of SGD, does not account for it.",
            (f"HateXplain-{number}",),
            measured=(Reference("table1", f"hatexplain-{number}", "first annotator"),),
            shown=True,
        )
        for number in (1, 2)
    ),
    *(
        Cause(
            "open",
            "Not yet run at the published training, 550 epochs of SGD: `foveate reproduce table1 "
            f"--scale paper --set 'rows=[\"hatexplain-{number}\"]' --set 'paradigms=[\"soft\", "
            f"\"hard\", \"lvml\", \"hybrid\"]' --seeds {seeds} "
            f"--label hatexplain-{number}`.",
            (f"HateXplain-{number}",),
            measured=(Reference("table1", ALL_POSTS, "first annotator"),),
        )
        for number, seeds in ((1, 3), (2, 1))
    ),
)  # fmt: skip
