"""Published numbers of [lu21] and measured ones of topic words."""

from typing import TYPE_CHECKING

import numpy as np

from foveate.jobs.experiment import Records
from foveate.records.published import Cell, PublishedTable
from foveate.studies.lu21.topic_words.findings import epochs_to_half, identity_gap, sst_gap
from foveate.studies.lu21.topic_words.reviews import REVIEWS
from foveate.studies.published import cell

if TYPE_CHECKING:
    from foveate.studies.lu21.topic_words import TopicWordsSettings

__all__ = ["PUBLISHED", "topic_word_cells"]

SYNTHETIC, LIMIT, ABLATIONS = "Made-up sentences", "Made-up sentences, prolonged", "Ablations"
NAMES = {"fc": "Attn-FC", "tc": "Attn-TC", "tl": "Attn-TL", "fc-query": "Attn-FC, query trained"}
ABLATION_NAMES = {"full": "full model", "kf": "keys frozen", "ef": "embeddings frozen"}
GAP = "largest gap of the identity %"
LOSS, ATTENTION = "training loss", "attention on the topic word"

PUBLISHED = PublishedTable(
    "lu21: score and embedding norm of topic words",
    "the gap of the identity from the authors' code (FC, eight topic words); loss 0 and attention "
    "1 are the limits that [lu21] Sec. 4 derives; the figures of Sec. 5 have no numbers",
    {
        (SYNTHETIC, NAMES["fc"], GAP): 0.25,
        (LIMIT, NAMES["fc"], LOSS): 0.0,
        (LIMIT, NAMES["fc"], ATTENTION): 1.0,
    },
)


def topic_word_cells(settings: "TopicWordsSettings", records: Records) -> list[Cell]:
    """The identity, convergence and ablations on synthetic sentences, and the identity on SST."""
    cells = []
    for part, name in NAMES.items():
        record = records[part]
        gap = 100 * identity_gap(record, settings.m)[-1].max(-1)
        values = {
            GAP: gap,
            LOSS: record.last("loss"),
            ATTENTION: record.last("a_z"),
            "mean score": record.last("s").mean(-1),
        }
        cells += [cell((SYNTHETIC, name, k), "", v) for k, v in values.items()]
    limit = records["fc-limit"]
    for measure, key in ((LOSS, "loss"), (ATTENTION, "a_z")):
        cells.append(cell((LIMIT, NAMES["fc"], measure), "", limit.last(key)))
    for part, name in ABLATION_NAMES.items():
        half = epochs_to_half(records[part])
        cells.append(cell((ABLATIONS, name, "epochs to half the loss"), "", half))
    for part, reviews in REVIEWS.items():
        if part in records:
            purity = records[part].values["top_purity"].mean(-1)
            values = {
                "median gap of the identity %": 100 * np.median(sst_gap(records[part]), -1),
                "purity of the highest-scored words, start": purity[1],
                "purity of the highest-scored words, end": purity[-1],
                "validation accuracy %": 100 * records[part].last("accuracy"),
            }
            cells += [cell(("SST", reviews.label, k), "", v) for k, v in values.items()]
    return cells
