"""Attention on the segments of one bag as bars, with marks where the evidence is."""

from collections.abc import Sequence

from markupsafe import Markup

from foveate.charts.palette import ATTENTION, TEXT_COLOUR
from foveate.report.sentences import join_words

__all__ = ["attention_bars"]

EVIDENCE = 0.5  # from which on a segment is marked
WIDE, TALL, FOOT = 420.0, 70.0, 26.0
MAX_LISTED = 4  # segments that the description names


def attention_bars(segments: Sequence[Sequence[float | None]], *, known: bool) -> Markup:
    """A bar of attention for each segment, and a mark below those that are evidence.

    Args:
        segments: Number, attention, and evidence from 0 to 1 (None: not known) of each.
        known: Whether the evidence is known, not estimated.
    """
    step = WIDE / len(segments)
    largest = max(float(alpha or 0) for _, alpha, _ in segments) or 1.0
    parts = []
    for k, (number, alpha, evidence) in enumerate(segments):
        height = TALL * float(alpha or 0) / largest
        parts.append(
            f'<rect x="{k * step + 1:.1f}" y="{TALL - height:.1f}" width="{max(step - 2, 1):.1f}" '
            f'height="{height:.1f}" fill="{ATTENTION}"/>'
        )
        middle = (k + 0.5) * step
        if evidence is not None and evidence >= EVIDENCE:
            parts.append(f'<path d="M{middle:.1f} {TALL + 3:.0f}l4 8h-8z" fill="{TEXT_COLOUR}"/>')
        if len(segments) <= 18:
            parts.append(
                f'<text x="{middle:.1f}" y="{TALL + FOOT - 3:.0f}" font-size="11" '
                f'text-anchor="middle" fill="{TEXT_COLOUR}">{number:g}</text>'
            )
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {TALL + FOOT:g}" '
        f'role="img" aria-label="{_description(segments, known)}">'
        f'<path d="M0 {TALL:g}H{WIDE:g}" stroke="{TEXT_COLOUR}"/>{"".join(parts)}</svg>'
    )


def _description(segments: Sequence[Sequence[float | None]], known: bool) -> str:
    """The picture in words.

    Example:
        >>> _description([[0, 0.1, 1.0], [1, 0.9, 0.0]], True)
        'Attention on 2 segments: most on segment 1 (0.90). Relevant: segment 0.'
    """
    number, alpha, _ = max(segments, key=lambda row: float(row[1] or 0))
    text = f"Attention on {len(segments)} segments: most on segment {number:g} ({alpha:.2f})."
    marked = [f"{n:g}" for n, _, e in segments if e is not None and e >= EVIDENCE]
    if not marked:
        return text
    listed = join_words(marked[:MAX_LISTED]) + " and more" * (len(marked) > MAX_LISTED)
    kind = "Relevant" if known else "Probably evidence"
    return f"{text} {kind}: segment{'s' * (len(marked) > 1)} {listed}."
