"""Why numbers of the released-split study differ from the published ones."""

from foveate.records.causes import Cause, Reference

__all__ = ["CAUSES"]


def _split(label: str) -> tuple[Reference, ...]:
    return tuple(
        Reference("released-split", label, "released split", f"{{measure}}, {images} images %")
        for images in ("seen", "unseen")
    )


CAUSES = (
    Cause(
        "split",
        "The published numbers are on the released split.",
        ("CIFAR100",),
        "clean split",
        _split("cifar100"),
        nearer=Reference("released-split", "cifar100", "released split"),
    ),
    Cause(
        "size",
        "Fewer mosaics than the published 30,000 leave more test images unseen, and the networks "
        "read frozen features.",
        ("CIFAR100",),
        "released split",
        _split("cifar100"),
    ),
    Cause(
        "encoder",
        "Frozen ImageNet features stand in for networks that learn from pixels.",
        ("CIFAR10 m",),
        "",
        _split("cifar10"),
    ),
)
