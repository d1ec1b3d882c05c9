"""Published numbers of captioning: [vr23] Table 1, last row, and [pvr22] Sec. 2."""

from foveate.records.causes import Cause
from foveate.records.published import PublishedTable

__all__ = ["CAUSES", "PUBLISHED"]

CAUSES = (
    Cause(
        "data subset",
        "908 training images with features of EfficientNet-Lite0 stand in for COCO's 80,000 with "
        "VGG19's; not separated by a measurement.",
        ("MSCOCO", "Alignment with boxes"),
    ),
)

PUBLISHED = PublishedTable(
    "Captions: where the decoder looks when it names an object",
    "[vr23] Table 1, last row; [pvr22] Sec. 2",
    {
        ("MSCOCO", "hard", "SAIF at .3, %"): 11.1,
        ("MSCOCO", "hard", "BLEU-4"): 10.4,
        ("MSCOCO", "soft", "SAIF at .3, %"): 23.2,
        ("MSCOCO", "soft", "BLEU-4"): 20.9,
        ("MSCOCO", "hybrid", "SAIF at .3, %"): 24.2,
        ("MSCOCO", "hybrid", "BLEU-4"): 20.4,
        ("Alignment with boxes", "full", "cosine"): 0.539,
        ("Alignment with boxes", "top-20", "cosine"): 0.429,
        ("Alignment with boxes", "top-10", "cosine"): 0.367,
        ("Alignment with boxes", "random-20", "cosine"): 0.24,
        ("Alignment with boxes", "random-10", "cosine"): 0.181,
    },
)
