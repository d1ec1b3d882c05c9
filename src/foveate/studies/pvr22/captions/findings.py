"""Findings of the captioning experiment."""

from foveate.jobs.experiment import Records
from foveate.metrics.crossed import crossed
from foveate.metrics.intervals import Interval, mean_interval
from foveate.records.findings import Finding
from foveate.records.published import Cell
from foveate.records.record import Array, Record
from foveate.studies.pvr22.captions.settings import CaptionSettings
from foveate.studies.pvr22.captions.word_attention import INSIDE
from foveate.studies.verdicts import above, in_words, verdict_of

__all__ = [
    "ALIGNED",
    "SOURCES",
    "caption_cells",
    "cosine",
    "deviations",
    "findings",
    "group_of",
    "saif_of",
]

SOURCES = {"own": "captions the model says", "reference": "reference captions"}
SAIF, ALIGNED = "SAIF at .3, %", "Alignment with boxes"


def _columns(record: Record, source: str, step: int = -1) -> tuple[Array, Array]:
    """Sums (S, N, kinds) and numbers (S, N) of names whose object is there."""
    return record.values[source][step], record.values[f"{source}_there"][step]


def cosine(record: Record, source: str, kind: str, minus: str | None = None) -> Interval:
    """A mean cosine over names, or the difference of two, with its interval over images and seeds.

    Args:
        record: Of one paradigm.
        source: "own" or "reference".
        kind: A name in ``meta["kinds"]``.
        minus: Another one.
    """
    sums, count = _columns(record, source)
    kinds = list(record.meta["kinds"])
    values = sums[..., kinds.index(kind)]
    if minus is not None:
        values = values - sums[..., kinds.index(minus)]
    return crossed(values, count)


def saif_of(record: Record, source: str) -> Interval:
    """SAIF at .3 in percent, with its interval over images and seeds.

    In the captions a model says: the share of all object words it says whose object is in the image
    and has at least .3 of the attention in its boxes. In reference captions: the share of object
    words that have a probability of .3 and as much attention in their boxes.
    """
    strong, named = record.values[f"{source}_saif"][-1], record.values[f"{source}_named"][-1]
    return crossed(100 * strong, named)


def caption_cells(settings: CaptionSettings, records: Records) -> list[Cell]:
    """The tables as measured: SAIF and BLEU-4 by paradigm, cosines by what is compared."""
    cells = []
    for source, words in SOURCES.items():
        for rule in ("hard", "soft", "hybrid"):
            record = records[rule]
            values = {
                SAIF: saif_of(record, source),
                "attention in the box": cosine(record, source, INSIDE),
            }
            if source == "own":
                values["BLEU-4"] = mean_interval(record.last("bleu"))
                values["object named that is there, %"] = _right(record)
            else:
                values["nats a word"] = mean_interval(record.last("loss"))
            group = group_of("MSCOCO", source)
            cells += [_cell((group, rule, k), words, v, settings) for k, v in values.items()]
    for rule in ("soft", "hard", "hybrid"):
        # The published numbers are of soft attention.
        group = ALIGNED if rule == "soft" else f"{ALIGNED}, {rule} attention"
        for source, words in SOURCES.items() if rule == "soft" else [("own", SOURCES["own"])]:
            for kind in records[rule].meta["kinds"][:-1]:
                value = cosine(records[rule], source, kind)
                cells.append(
                    _cell((group_of(group, source), kind, "cosine"), words, value, settings)
                )
    return cells


def group_of(name: str, source: str) -> str:
    """The published numbers are of generated captions."""
    return name if source == "own" else f"{name}, given words"


def _right(record: Record) -> Interval:
    return crossed(100 * record.values["own_there"][-1], record.values["own_named"][-1])


def _cell(
    key: tuple[str, str, str], setting: str, value: Interval, settings: CaptionSettings
) -> Cell:
    return Cell(*key, setting, *value, settings.seeds)


def findings(settings: CaptionSettings, records: Records) -> list[Finding]:
    """One finding per claim."""
    text = " ".join(deviations(settings, records)).rstrip(".")
    return [_aligned(settings, records["soft"], text), _hybrid(records, text)]


def _aligned(settings: CaptionSettings, record: Record, deviation: str) -> Finding:
    """C1: full attention above its top positions, and these above random ones."""
    top, chance = f"top-{settings.top[0]}", f"random-{settings.top[0]}"
    outcomes, words = [], []
    for source, name in SOURCES.items():
        first = cosine(record, source, "full", top)
        second = cosine(record, source, top, chance)
        outcomes += [above(first), above(second)]
        means = ", ".join(
            f"{kind} {cosine(record, source, kind).mean:.3f}" for kind in ("full", top, chance)
        )
        words.append(
            f"{name}: {means}; full minus {top} {in_words(first, 3)}, {top} minus {chance} "
            f"{in_words(second, 3)}; against controls of the same extent, full minus uniform "
            f"{in_words(cosine(record, source, 'full', 'uniform'), 3)}, full minus shuffled "
            f"{in_words(cosine(record, source, 'full', 'shuffled'), 3)}"
        )
    start = _at_start(record)
    text = (
        f"{'. '.join(w[0].upper() + w[1:] for w in words)}. {sum(outcomes)} of {len(outcomes)} "
        f"conditions met. Before training, in reference captions: full {start['full']:.3f}, {top} "
        f"{start[top]:.3f}, {chance} {start[chance]:.3f}, uniform {start['uniform']:.3f}. An "
        "even map is above its own top places too, so the second comparison says more than the "
        "first."
    )
    effect = cosine(record, "own", top, chance)
    measure = f"cosine with the boxes, {top} minus {chance}, captions the model says"
    return Finding("pvr22:C1", verdict_of(outcomes), *effect, measure, text, "cosines", deviation)


def _at_start(record: Record) -> dict[str, float]:
    sums, count = _columns(record, "reference", 0)
    means = sums.sum((0, 1)) / max(1, count.sum())
    return dict(zip(record.meta["kinds"], means.tolist(), strict=True))


def _hybrid(records: Records, deviation: str) -> Finding:
    """C16 on captions: the hybrid gains SAIF over soft attention and keeps BLEU."""
    gain = _gain(records["hybrid"], records["soft"])
    bleu_gain = mean_interval(records["hybrid"].last("bleu") - records["soft"].last("bleu"))
    conditions = [above(gain), bleu_gain.mean > -1]
    text = (
        f"Captions the models say: SAIF at .3 {saif_of(records['soft'], 'own').mean:.1f} % under "
        f"soft attention, {saif_of(records['hard'], 'own').mean:.1f} % under hard, "
        f"{saif_of(records['hybrid'], 'own').mean:.1f} % under the hybrid, from soft "
        f"{in_words(gain)} points; BLEU-4 {in_words(bleu_gain)}. {sum(conditions)} of 2 "
        "conditions met."
    )
    measure = "SAIF at .3, hybrid minus soft, points"
    return Finding(
        "vr23:C16-captions", verdict_of(conditions), *gain, measure, text, "saif", deviation
    )


def _gain(one: Record, other: Record) -> Interval:
    """SAIF of one minus another's: seeds and images drawn together for both."""
    parts = [(100 * r.values["own_saif"][-1], r.values["own_named"][-1]) for r in (one, other)]
    return crossed(*parts[0], minus=parts[1])


def deviations(settings: CaptionSettings, records: Records) -> list[str]:
    """Differences from the published set-up and limits of the size, as sentences."""
    meta = records["soft"].meta
    images, (side, d) = meta["images"], meta["grid"]
    return [
        f"{images['train']:,} images with {meta['captions']:,} captions to learn from and "
        f"{images['test']:,} held-out images with {meta['names']:,} object words in their "
        "reference captions, in place of COCO 2014's 82,783 and its validation images: enough to "
        "learn frequent words and to compare attention with boxes, not to say good captions.",
        f"A frozen {settings.encoder} gives {side}×{side}×{d} features in place of "
        f"VGG19's 14×14×512; "
        f"embedding {settings.embed}, state {settings.hidden}, attention "
        f"{settings.attention} (published 512, "
        "512, 256).",
        f"Every paradigm has {settings.epochs} epochs of Adam {settings.lr:g}, the "
        f"hybrid {settings.soft_epochs} "
        f"soft and then {settings.hard_epochs} hard with a fresh optimiser "
        f"(published 20 and 5). Hard "
        "attention is trained by REINFORCE with the place of every step and the baseline "
        "subtracted, which the released code does not do, and read at its top place.",
        "Attention is up-sampled bilinearly to 224×224; a box is the union of the boxes of all "
        "objects that the word may name; a phrase is read at its last word. Intervals are over "
        f"images and seeds, those of BLEU-4 (beam of {settings.beam}) over seeds.",
        *(f"Data: {note}." for note in meta["notes"]),
    ]
