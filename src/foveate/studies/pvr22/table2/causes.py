"""Why numbers of the second table differ from the published ones."""

from foveate.records.causes import Cause

__all__ = ["CAUSES"]

CAUSES = (
    Cause(
        "encoder",
        "Frozen ImageNet features with one hidden layer of 64 stand in for networks of six "
        "convolutions that learn from pixels.",
        ("CIFAR-10",),
        "frozen features",
    ),
    Cause(
        "open",
        "Five times the published rate for a twelfth of the epochs; to be run at the published "
        "rate with `foveate reproduce table2 --scale paper --set images=null --label gaussians`.",
        ("Gaussians",),
    ),
)
