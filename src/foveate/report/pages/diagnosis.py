"""The page of a diagnosis: the prediction, its reasons in figures, and sentences that show it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from foveate.report.rendering import page_writer, render_page

if TYPE_CHECKING:
    from foveate.text.statistics.diagnosis import Diagnosis

__all__ = ["diagnosis_page", "numbers", "write_diagnosis_page"]

LEVELS = {"likely": "good", "may be": "warn", "unlikely": "bad"}
FULL = 2.0  # doublings at which a shade is full
MAX_WORDS = 120  # words of an example
COLOUR_STOPS = ((-100, "¼"), (-50, "½"), (0, "1"), (50, "2"), (100, "4 times"))


def diagnosis_page(diagnosis: "Diagnosis", *, name: str, pairs: bool, command: str = "") -> str:
    """The page as text.

    Args:
        diagnosis: What was found.
        name: What was read, such as the name of a file.
        pairs: Whether outputs are sentences; else classes.
        command: The command that repeats it.
    """
    from markupsafe import Markup

    from foveate.charts.render import inline_svg
    from foveate.report.drawing.diagnosis_charts import diagnosis_charts

    charts = diagnosis_charts(diagnosis)
    drawn = {key: Markup(inline_svg(chart, f"d-{key}")) for key, chart in charts.items()}
    return render_page(
        "diagnosis.html",
        title=f"Will attention be learnt on {name}?",
        d=diagnosis,
        level=LEVELS[diagnosis.verdict],
        counted=_counts_text(diagnosis),
        numbers=[(title, *cells) for title, *cells in numbers(diagnosis)],
        figures={"words": None, **drawn},
        without=_missing_text(diagnosis),
        pairs=pairs,
        stops=COLOUR_STOPS,
        examples=[_example(example) for example in diagnosis.examples],
        command=command,
    )


write_diagnosis_page = page_writer(diagnosis_page)


def numbers(d: "Diagnosis") -> list[tuple[str, str, str, str]]:
    """Rows of what was measured: name, value, its control, what it is."""
    return [
        (
            "Information",
            f"{d.information:.3g}",
            _spread(d.control),
            "within a sentence, beyond chance: nats an output word",
        ),
        ("z", f"{d.z:.1f}", "", f"the same in the control's standard deviations; p ≤ {d.p:.2g}"),
        (
            "Lift",
            f"{d.lift:+.3g}",
            _spread(d.control_lift),
            "worth of the word pointed at, above the sentence's average, as a share of it",
        ),
        (
            "Table",
            f"{d.table:.3g}",
            _spread(d.table_control),
            "what words tell of outputs at all, within sentences or not: half of χ²",
        ),
        (
            "Without",
            f"{100 * d.without:.0f} %",
            f"{100 * len(d.control) / (1 + len(d.control)):.0f} %",
            "sentences with no more information than one of their own controls",
        ),
    ]


def _spread(control: Any) -> str:
    return f"{_near(control.mean())} ± {_near(control.std(ddof=1))}"


def _near(value: float) -> str:
    return "0" if abs(value) < 1e-9 else f"{value:.1g}"


def _counts_text(d: "Diagnosis") -> str:
    summary = f"{d.sentences:,} sentences"
    if d.counted < d.sentences:
        summary += f", of which {d.counted:,} drawn at random were counted"
    if d.measured < d.counted:
        summary += f", and the tables read off for {d.measured:,}"
    return f"{summary}."


def _missing_text(d: "Diagnosis") -> str:
    chance = 100 * len(d.control) / (1 + len(d.control))
    return (
        f"{100 * d.without:.0f} % of sentences have no informative word: no more information than "
        f"at least one of their {len(d.control)} permuted controls. By chance alone it would be "
        f"{chance:.0f} %."
    )


def _example(example: Any) -> dict[str, Any]:
    doublings = np.log2(np.maximum(example.times[:MAX_WORDS], 2**-FULL)) / FULL
    levels = np.rint(100 * np.clip(doublings, -1, 1)).astype(int)
    return {
        **example._asdict(),
        "source": example.source[:MAX_WORDS],
        "levels": levels.tolist(),
        "left_out": max(0, len(example.source) - MAX_WORDS),
    }
