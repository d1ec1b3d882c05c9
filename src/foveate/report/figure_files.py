"""Figures as files: SVG and PNG."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from foveate.errors import FoveateError
from foveate.records.record import write_atomically
from foveate.report.sentences import join_words

__all__ = ["FORMATS", "write_drawings"]

FORMATS = ("svg", "png")


def write_drawings(
    drawings: Mapping[str, str], folder: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write every drawing as a file of its own.

    Args:
        drawings: SVG by name.
        folder: Where; made if need be.
        formats: Of "svg" and "png".
    """
    from foveate.charts.render import svg_to_png

    for form in formats:
        if form not in FORMATS:
            raise FoveateError(f"figures can be written as {join_words(FORMATS)}, got '{form}'")
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FoveateError(f"cannot make the folder {folder}: {error.strerror}") from None
    written = []
    for name, svg in drawings.items():
        for form in formats:
            content = svg.encode() if form == "svg" else svg_to_png(svg)
            written.append(folder / f"{name}.{form}")
            write_atomically(written[-1], content)
    return written
