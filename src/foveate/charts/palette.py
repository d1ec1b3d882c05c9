"""Colours, labels, dash patterns and shapes of paradigms and of other methods in charts.

A paradigm declares its own appearance (:class:`~foveate.attention.paradigms.Paradigm`); what it
leaves open is derived from its name. Colours are those of Okabe and Ito (and of Tol for the rest),
which most colour-blind readers can distinguish. Dash and shape repeat the distinction for print in
grey. Attention, classes and outcomes have colours that no default paradigm has: one hue means one
thing on a screen.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from foveate.attention.paradigms import Paradigm

__all__ = [
    "AGAINST",
    "ATTENTION",
    "CELL_TEXT_COLOUR",
    "CLASS_COLOURS",
    "FOR",
    "MISPLACED",
    "QUADRANT_COLOURS",
    "TEXT_COLOUR",
    "colour",
    "dash",
    "has_colour",
    "label",
    "paradigm_class",
    "shape",
]

TEXT_COLOUR = "#1b1f24"  # pages replace it where their ground is dark
CELL_TEXT_COLOUR = "#14181c"  # on light cells, which stay light in a dark page
ATTENTION = "#8250f0"  # on segments: visible on dark images and on light ones
# Evidence by sign, readable on light and dark grounds; direction or hatch repeats the distinction.
FOR, AGAINST = "#6B8E00", "#868E96"
CLASS_COLOURS = ("#999933", "#8C6244", "#4FB3BF", "#DDCC77", "#3C5A66", "#6F7F5F", "#C4B2A6")

MISPLACED = "#b0102e"  # right answer, wrong segment: the outcome to look for, and the only hue

# From the bottom of the stack to its top; neighbours differ in lightness.
QUADRANT_COLOURS = {"ftpt": "#4a5b6c", "ffpt": MISPLACED, "ftpf": "#8fa0b0", "ffpf": "#cfd5da"}


class Series(NamedTuple):
    """The appearance of a method that is not a registered paradigm."""

    label: str = ""
    colour: str = ""
    dash: tuple[int, ...] = ()
    shape: str = ""


_OTHER_METHODS = {
    "abmil": Series("torchmil ABMIL", "#1b1f24", shape="triangle-left"),
    "dsmil": Series("torchmil DSMIL"),
    "transmil": Series("torchmil TransMIL"),
    "oracle": Series("Oracle", "#000000"),
}
_EXTRA_COLOURS = ("#332288", "#117733", "#AA4499", "#661100", "#6699CC", "#999933")
_SPARE_DASHES: tuple[Sequence[int], ...] = ((5, 5), (12, 3, 2, 3, 2, 3), (4, 2), (16, 4, 4, 4))
_SPARE_SHAPES = ("triangle-left", "cross", "circle", "square", "diamond")


def paradigm_class(name: str) -> "type[Paradigm] | None":
    """The registered paradigm of that name, or None.

    The registry is imported on the first call: it needs torch, which pages otherwise do without.

    Example:
        >>> paradigm_class("lvml").raced_by_default, paradigm_class("abmil")
        (True, None)
    """
    from foveate.attention.paradigms import PARADIGMS

    return PARADIGMS.get(name) if name in PARADIGMS else None


def colour(name: str) -> str:
    """The colour of a paradigm or method; an unknown name always gets the same spare colour.

    Example:
        >>> colour("soft"), colour("mine") == colour("mine")
        ('#0072B2', True)
    """
    return _appearance(name).colour or _EXTRA_COLOURS[crc32(name.encode()) % len(_EXTRA_COLOURS)]


def has_colour(name: str) -> bool:
    """Whether a colour is declared for that name.

    Example:
        >>> has_colour("oracle"), has_colour("mine")
        (True, False)
    """
    return bool(_appearance(name).colour)


def label(name: str) -> str:
    """The name of a paradigm or method in tables and legends.

    Example:
        >>> label("lvml"), label("soft"), label("my-rule")
        ('LVML', 'Soft', 'My-rule')
    """
    return _appearance(name).label or name[:1].upper() + name[1:]


def dash(name: str) -> Sequence[int]:
    """The dash pattern of the lines of a paradigm or method."""
    return _appearance(name).dash or _SPARE_DASHES[crc32(name.encode()) % len(_SPARE_DASHES)]


def shape(name: str) -> str:
    """The shape of the points of a paradigm or method."""
    return _appearance(name).shape or _SPARE_SHAPES[crc32(name.encode()) % len(_SPARE_SHAPES)]


def _appearance(name: str) -> "Series | type[Paradigm]":
    return _OTHER_METHODS.get(name) or paradigm_class(name) or Series()
