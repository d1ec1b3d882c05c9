"""The numbers of [pvr22] Table 2, and of the Gaussians in the authors' repository."""

from foveate.records.published import PublishedTable

__all__ = ["PUBLISHED"]

_TABLE2 = {  # accuracy %, FT %, NNZ, Dist, Ent in bits; zeroth layer, then the sixth
    "softmax": ((95.04, 79.77, 4.2315, 0.2594, 1.0272), (95.12, 86.21, 4.7424, 0.2776, 1.1298)),
    "entropy": ((94.76, 79.97, 3.4927, 0.2113, 0.8111), (95.39, 83.64, 3.6073, 0.2175, 0.8466)),
    "sparsemax": ((95.8, 91.43, 1.91, 0.181, 0.4866), (94.23, 85.54, 2.46, 0.2466, 0.7146)),
    "spherical": ((95.17, 91.07, 2.613, 0.2539, 1.064), (95.07, 91.34, 4.7521, 0.3005, 1.2693)),
    "hard": ((92.13, 87.63, 1.311, 0.0259, 0.070), (74.45, 86.5, 1.5031, 0.0378, 0.1150)),
}
_GAUSSIANS = {  # accuracy %, FTPT %; zeroth layer, then the last
    "softmax": ((98.89, 77.50), (99.67, 86.83)),
    "sparsemax": ((98.57, 76.95), (99.76, 87.14)),
    "spherical": ((96.16, 71.38), (99.79, 89.06)),
    "entropy": ((98.8, 80.05), (99.85, 87.87)),
}
_LAYERS = ("zeroth layer", "last layer")

PUBLISHED = PublishedTable(
    "pvr22 Table 2 and its appendix: maps and layers",
    "[pvr22] Table 2; the Gaussians from the authors' repository",
    {
        (f"{data}, {layer}", name, measure): value
        for data, table, measures in (
            ("CIFAR-10", _TABLE2, ("accuracy %", "FT %", "NNZ", "Dist", "Ent, bits")),
            ("Gaussians", _GAUSSIANS, ("accuracy %", "FTPT %")),
        )
        for name, both in table.items()
        for layer, row in zip(_LAYERS, both, strict=True)
        for measure, value in zip(measures, row, strict=True)
    },
)
