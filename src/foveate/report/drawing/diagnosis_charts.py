"""Charts of a diagnosis."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from foveate.charts.render import with_rows
from foveate.text.statistics.decision import START

if TYPE_CHECKING:
    from foveate.text.statistics.diagnosis import Diagnosis

__all__ = ["diagnosis_charts"]

DATA_COLOUR, CONTROL = "#0072B2", "#8a9097"
BANDS = (("unlikely", "#fbdcdc"), ("may be", "#ffe9c2"), ("likely", "#d8f1e6"))
LEAST, MOST = 1e-4, 10.0  # ends of the axis of lifts
BINS = 40
FLAT = 1e-6  # nats that an axis spans at least
WORDS = 15
WIDTH = 320


def diagnosis_charts(diagnosis: "Diagnosis") -> Mapping[str, Any]:
    """Information against the control, lift on its scale, words, sentences."""
    charts = {
        "control": _control(diagnosis),
        "lift": _lift(diagnosis),
        "sentences": _sentences(diagnosis),
    }
    return charts | ({"words": _words(diagnosis)} if diagnosis.words else {})


def _control(d: "Diagnosis") -> Any:
    """One tick for each control, a diamond for the data."""
    rows = [{"x": float(x), "y": "permuted control"} for x in d.control]
    total = d.information + float(d.control.mean())
    reach = max(abs(total), float(np.abs(d.control).max()), FLAT)
    x = alt.X(
        "x:Q",
        title="information within sentences, nats an output word",
        scale=alt.Scale(domain=[-0.15 * reach, 1.1 * reach], nice=False),
        axis=alt.Axis(format="~g", tickCount=3),
    )
    y = alt.Y("y:N", title=None, sort=["these data", "permuted control"])
    ticks = alt.Chart().mark_tick(color=CONTROL, thickness=2, size=26)
    point = alt.Chart().mark_point(
        filled=True, size=160, shape="diamond", color=DATA_COLOUR, opacity=1
    )
    layers = (
        with_rows(ticks.encode(x=x, y=y), rows),
        with_rows(point.encode(x=x, y=y), [{"x": total, "y": "these data"}]),
    )
    description = (
        f"Information {total:.3g} nats; permuted controls {d.control.mean():.2g} on average."
    )
    return alt.layer(*layers).properties(
        width=WIDTH - 40, height=110, title=f"z = {d.z:.1f}", description=description
    )


def _lift(d: "Diagnosis") -> Any:
    """The lift on a logarithmic scale with the three zones."""
    edges = (LEAST, *START, MOST)
    bands = [
        {
            "a": edges[k],
            "b": edges[k + 1],
            "zone": name,
            "at": float(np.sqrt(edges[k] * edges[k + 1])),
        }
        for k, (name, _) in enumerate(BANDS)
    ]
    colour_encoding = alt.Color(
        "zone:N",
        scale=alt.Scale(domain=[z for z, _ in BANDS], range=[c for _, c in BANDS]),
        legend=None,
    )
    x = alt.X(
        "a:Q",
        title="lift of the word that co-occurrence points at (log scale)",
        scale=alt.Scale(type="log", domain=[LEAST, MOST], nice=False),
        axis=alt.Axis(
            values=[1e-4, 1e-2, 0.1, 1, 10],
            labelExpr="datum.value < 1.5e-4 ? '≤ 0.01 %' : format(datum.value * 100, ',~g') + ' %'",
            labelFlush=True,
        ),
    )
    box = alt.Chart().mark_rect().encode(x=x, x2="b:Q", color=colour_encoding)
    name = alt.Chart().mark_text(dy=-38, color="#14181c").encode(x="at:Q", text="zone:N")
    at = [{"a": float(np.clip(d.lift, LEAST, MOST))}]
    point = alt.Chart().mark_point(
        filled=True, size=200, shape="diamond", color=DATA_COLOUR, opacity=1
    )
    layers = (with_rows(box, bands), with_rows(name, bands), with_rows(point.encode(x=x), at))
    return alt.layer(*layers).properties(
        width=WIDTH,
        height=110,
        title=f"lift = {100 * d.lift:.3g} %",
        description=f"A lift of {d.lift:.3g} falls where attention is {d.verdict} to be learnt.",
    )


def _words(d: "Diagnosis") -> alt.LayerChart:
    """Bars of the words with the largest shares."""
    rows = [
        {"n": k, "name": f"{_short(c.word)} → {_short(c.leads_to)}", "share": 100 * c.share}
        for k, c in enumerate(d.words[:WORDS])
    ]
    y = alt.Y("n:O", title=None, axis=None)
    x = alt.X("share:Q", title="share of the information, %")
    bar = alt.Chart().mark_bar(color=DATA_COLOUR, opacity=0.35).encode(x=x, y=y)
    text = (
        alt.Chart()
        .mark_text(align="left", baseline="middle", dx=4)
        .encode(x=alt.value(0), y=y, text="name:N")
    )
    return with_rows(
        alt.layer(bar, text).properties(
            width=WIDTH,
            height=18 * len(rows),
            description="The words that carry most of the information, and their classes.",
        ),
        rows,
    )


def _sentences(d: "Diagnosis") -> alt.LayerChart:
    """Histograms of the information of sentences, and of one control."""
    both = np.concatenate([d.by_sentence, d.by_sentence_control])
    low, high = np.quantile(both, [0.005, 0.995])
    if high - low < FLAT:  # all the same, as in permutations
        low, high = low - FLAT, high + FLAT
    edges = np.linspace(low, high, BINS + 1)
    rows = []
    for name, values in (
        ("these data", d.by_sentence),
        ("a permuted control", d.by_sentence_control),
    ):
        share = np.histogram(np.clip(values, low, high), edges)[0] / len(values)
        rows += [
            {
                "a": float(edges[k]),
                "b": float(edges[k + 1]),
                "y": 100 * float(share[k]),
                "name": name,
            }
            for k in range(BINS)
        ]
    names = ["these data", "a permuted control"]
    colour_encoding = alt.Color(
        "name:N", scale=alt.Scale(domain=names, range=[DATA_COLOUR, CONTROL])
    )
    chart = (
        alt.Chart()
        .mark_rect(opacity=0.55)
        .encode(
            x=alt.X(
                "a:Q",
                title="information of a sentence, nats an output word",
                axis=alt.Axis(format="~g", tickCount=6),
                scale=alt.Scale(nice=False),
            ),
            x2="b:Q",
            y=alt.Y("y:Q", title="sentences, %"),
            y2=alt.datum(0),
            color=colour_encoding,
        )
    )
    return with_rows(
        alt.layer(chart).properties(
            width=WIDTH,
            height=170,
            description="How information is spread over sentences, beside a permuted control; what "
            "lies beyond the ends is counted there.",
        ),
        rows,
    )


def _short(word: str) -> str:
    return word if len(word) <= 24 else f"{word[:23]}…"
