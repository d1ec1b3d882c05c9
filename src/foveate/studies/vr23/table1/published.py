"""The numbers of [vr23] Table 1."""

from foveate.records.published import PublishedTable

__all__ = ["PUBLISHED"]

_TABLE1 = {  # SAIF %, accuracy % of hard, soft, hybrid, LVML
    "CIFAR10 m=5": ((37.8, 63.3), (37.1, 75.3), (59.0, 76.6), (62.0, 77.9)),
    "CIFAR10 m=20": ((1.9, 42.1), (23.8, 65.2), (38.2, 66.0), (47.2, 71.0)),
    "CIFAR100 m=5": ((13.6, 46.6), (79.2, 83.2), (83.2, 80.0), (77.5, 79.7)),
    "CIFAR100 m=20": ((1.7, 8.2), (67.0, 72.2), (66.8, 71.0), (66.5, 69.0)),
    "HateXplain-1": ((2.7, 54.3), (4.6, 51.6), (21.6, 54.6), (22.6, 54.6)),
    "HateXplain-2": ((23.4, 49.8), (9.2, 49.63), (24.6, 49.0), (19.2, 44.7)),
}

PUBLISHED = PublishedTable(
    "vr23 Table 1: SAIF and accuracy by paradigm",
    "[vr23] Table 1",
    {
        (group, rule, measure): value
        for group, row in _TABLE1.items()
        for rule, pair in zip(("hard", "soft", "hybrid", "lvml"), row, strict=True)
        for measure, value in zip(("SAIF %", "accuracy %"), pair, strict=True)
    },
)
