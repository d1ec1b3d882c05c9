"""The number behind a verdict: the measured effect with its interval, against zero."""

from textwrap import wrap
from typing import Any

import altair as alt

from foveate.charts.palette import TEXT_COLOUR
from foveate.charts.render import with_rows
from foveate.records.findings import Finding, effect_words

__all__ = ["finding_chart"]

LINE = 88  # characters of a subtitle
SUPPORTS = ("holds", "holds in part")


def finding_chart(finding: Finding) -> Any:
    """A dot with its 95 % interval; filled where the claim holds, hollow where it does not.

    Args:
        finding: What was measured.
    """
    effect, low, high = finding.effect, finding.low, finding.high
    row = {
        "effect": effect,
        "low": effect if low is None else low,
        "high": effect if high is None else high,
    }
    ends = [0.0, *row.values()]
    padding = (max(ends) - min(ends) or 1.0) * 0.06
    domain = [min(ends) - padding, max(ends) + padding]
    x = alt.X("effect:Q", scale=alt.Scale(domain=domain, nice=False), axis=alt.Axis(title=None))
    layers = [
        alt.Chart().mark_rule(strokeDash=[4, 3]).encode(x=alt.datum(0.0)),
        alt.Chart().mark_rule(strokeWidth=3, color=TEXT_COLOUR).encode(x="low:Q", x2="high:Q"),
        alt.Chart()
        .mark_point(
            size=160,
            strokeWidth=2.5,
            opacity=1,
            fillOpacity=1,
            stroke=TEXT_COLOUR,
            fill=TEXT_COLOUR if finding.verdict in SUPPORTS else "#ffffff",
        )
        .encode(x=x),
    ]
    words = effect_words(finding)
    title = alt.Title(f"{finding.verdict}: {words}", subtitle=wrap(finding.measure, LINE))
    chart = alt.layer(*layers).properties(
        width=520,
        height=56,
        title=title,
        description=f"{finding.claim} {finding.verdict}: {words}, {finding.measure}.",
    )
    return with_rows(chart, [row])
