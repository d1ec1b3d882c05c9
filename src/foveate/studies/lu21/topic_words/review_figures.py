"""Figures of word attention on SST, from the records alone. [lu21] Sec. 5"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.palette import TEXT_COLOUR
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.records.record import Array
from foveate.studies.lu21.topic_words.curves import colour_encoding, curve_chart
from foveate.studies.lu21.topic_words.findings import sst_theory
from foveate.studies.lu21.topic_words.reviews import REVIEWS, TRACKED_WORDS

__all__ = ["review_figures"]

TIME = "learning rate × epochs"


def review_figures(records: Records) -> Mapping[str, Any]:
    """Purity and identity of the highest-scored words, the traced sentence, the followed words."""
    return {
        "sst": _sst(records),
        "traced": _sentence_chart(records),
        "followed": _word_curves(records),
    }


def _sst(records: Records) -> Any:
    """Purity of the highest-scored words over training, and their norms against the identity."""
    labels = {name: reviews.label for name, reviews in REVIEWS.items()}
    purity = {
        label: (_time(records, name)[1:], records[name].values["top_purity"].mean(-1)[1:])
        for name, label in labels.items()
    }
    left = curve_chart(
        purity,
        x=TIME,
        y="mean purity of the 100 highest-scored words",
        log_x=True,
        domain=_padded_range([values for _, values in purity.values()]),
        width=340,
        height=270,
    )
    rows: list[dict[str, Any]] = []
    for name, label in labels.items():
        pairs = zip(sst_theory(records[name])[0], records[name].last("top_norm")[0], strict=True)
        rows += [{"x": float(a), "y": float(b), "name": label} for a, b in pairs]
    most = 1.05 * max(max(row["x"], row["y"]) for row in rows)
    scale = alt.Scale(domain=[0, most], nice=False)
    dots = (
        alt.Chart()
        .mark_point(size=22, filled=True, opacity=0.55)
        .encode(
            x=alt.X("x:Q", title="|ν| by the identity", scale=scale),
            y=alt.Y("y:Q", title="|ν| measured", scale=scale),
            color=colour_encoding(list(labels.values())),
        )
    )
    diagonal = alt.Chart().mark_line(color=TEXT_COLOUR, strokeDash=[5, 4]).encode(x="x:Q", y="y:Q")
    ends = [{"x": 0.0, "y": 0.0}, {"x": most, "y": most}]
    right = alt.layer(with_rows(dots, rows), with_rows(diagonal, ends))
    return alt.hconcat(left, right.properties(width=300, height=270)).properties(
        description="Left, mean purity of the 100 highest-scored words over training on SST-2 and "
        "SST-5 with fixed and trained linear classifiers; right, their embedding norms at the end "
        "against the identity, first seed."
    )


def _sentence_chart(records: Records) -> Any:
    """Attention on "powerful" and "best" in the traced sentence."""
    panels: list[Any] = []
    for name, reviews in REVIEWS.items():
        alpha, words = records[name].values["alpha"], records[name].meta["traced"]
        columns = [words.index("powerful"), words.index("best")]
        others = np.delete(alpha, columns, -1).mean(-1)
        series = {
            w: (_time(records, name), alpha[..., i])
            for w, i in zip(("powerful", "best"), columns, strict=True)
        }
        series["other ten words, mean"] = (_time(records, name), others)
        panels.append(
            curve_chart(
                series,
                x=TIME,
                y="attention",
                title=reviews.label,
                width=340,
                height=150,
            )
        )
    return _square(panels).properties(
        description="Attention on powerful, on best and on the other words of the traced sentence "
        "over training on SST-2 and SST-5."
    )


def _word_curves(records: Records) -> Any:
    """Scores of five words over training."""
    panels: list[Any] = []
    for name, reviews in REVIEWS.items():
        s = records[name].values["s"]
        series = {word: (_time(records, name), s[..., i]) for i, word in enumerate(TRACKED_WORDS)}
        panels.append(
            curve_chart(
                series,
                x=TIME,
                y="score s",
                opacity=0.08,
                title=reviews.label,
                width=340,
                height=150,
            )
        )
    return _square(panels).properties(
        description=f"Scores of {', '.join(TRACKED_WORDS)} over training on SST-2 and SST-5."
    )


def _square(panels: Sequence[Any]) -> Any:
    rows = [alt.hconcat(*panels[i : i + 2]) for i in range(0, len(panels), 2)]
    return alt.vconcat(*rows).resolve_scale(color="shared")


def _padded_range(values: Sequence[Array]) -> tuple[float, float]:
    """A range of twentieths that holds all values."""
    low, high = min(map(np.min, values)), max(map(np.max, values))
    return np.floor(20 * low - 0.01) / 20, np.ceil(20 * high + 0.01) / 20


def _time(records: Records, name: str) -> Array:
    return np.asarray(records[name].t * records[name].meta["lr"])
