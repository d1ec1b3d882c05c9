"""How a paradigm looks, everywhere: its colour, its name in words, its dash and its shape.

Colours are those of Okabe and Ito (and of Tol for the rest), told apart by most colour-blind
readers. Dash and shape say the same once more, so that a grey print can be read.
"""

from collections.abc import Sequence
from zlib import crc32

__all__ = [
    "AGAINST",
    "ATTENTION",
    "FOR",
    "INK",
    "QUADRANT_COLOURS",
    "colour",
    "dash",
    "label",
    "shape",
]

INK = "#1b1f24"
ATTENTION = "#ff7a00"  # on segments: bright enough for dark images and for light ones
FOR, AGAINST = "#0072B2", "#D55E00"  # evidence by its sign; shape or hatch says it once more

# From the bottom of the stack to its top; neighbours differ in lightness, not in hue alone.
QUADRANT_COLOURS = {"ftpt": "#0072B2", "ffpt": "#E69F00", "ftpf": "#BFE1F6", "ffpf": "#4D4D4D"}

_COLOURS = {
    "soft": "#0072B2",
    "hard": "#E69F00",
    "lvml": "#009E73",
    "hybrid": "#CC79A7",
    "witness": "#D55E00",
    "logit": "#56B4E9",
    "em": "#882255",
    "hard-sampled": "#8C6D00",
    "random": "#767676",
    "direct": "#000000",
    "abmil": "#1b1f24",
    "oracle": "#000000",
}
_SPARE = ("#332288", "#117733", "#AA4499", "#661100", "#6699CC", "#999933")

_LABELS = {
    "lvml": "LVML",
    "em": "EM",
    "logit": "Logit average",
    "hard-sampled": "Hard, sampled",
    "random": "Random epochs",
    "abmil": "torchmil ABMIL",
}

_DASHES: dict[str, Sequence[int]] = {
    "soft": (1, 0),
    "hard": (9, 3),
    "lvml": (2, 2),
    "hybrid": (9, 3, 2, 3),
    "witness": (14, 4),
}
_SPARE_DASHES: tuple[Sequence[int], ...] = ((5, 5), (12, 3, 2, 3, 2, 3), (4, 2), (16, 4, 4, 4))

_SHAPES = {
    "soft": "circle",
    "hard": "square",
    "lvml": "triangle-up",
    "hybrid": "diamond",
    "witness": "cross",
    "logit": "triangle-down",
    "em": "triangle-right",
    "abmil": "triangle-left",
}
_SPARE_SHAPES = ("triangle-left", "cross", "circle", "square", "diamond")


def colour(paradigm: str) -> str:
    """The colour of a paradigm; a name that is not known gets one of its own, always the same.

    Example:
        >>> colour("soft"), colour("mine") == colour("mine")
        ('#0072B2', True)
    """
    return _COLOURS.get(paradigm) or _SPARE[crc32(paradigm.encode()) % len(_SPARE)]


def label(paradigm: str) -> str:
    """The paradigm's name as text shows it.

    Example:
        >>> label("lvml"), label("soft"), label("my-rule")
        ('LVML', 'Soft', 'My-rule')
    """
    return _LABELS.get(paradigm) or paradigm[:1].upper() + paradigm[1:]


def dash(paradigm: str) -> Sequence[int]:
    """The dash pattern of the paradigm's lines."""
    spare = _SPARE_DASHES[crc32(paradigm.encode()) % len(_SPARE_DASHES)]
    return _DASHES.get(paradigm, spare)


def shape(paradigm: str) -> str:
    """The shape of the paradigm's points."""
    return _SHAPES.get(paradigm, _SPARE_SHAPES[crc32(paradigm.encode()) % len(_SPARE_SHAPES)])
