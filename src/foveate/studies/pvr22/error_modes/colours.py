"""Colours and shapes of classes, modes and outcomes in this experiment.

Colours are those of Okabe and Ito, which most colour-blind readers can distinguish; shapes and
dashes repeat the distinction.
"""

from foveate.charts.palette import CLASS_COLOURS

__all__ = [
    "BACKGROUND_COLOUR",
    "CLASS_COLOURS",
    "CLASS_SHAPES",
    "END_COLOURS",
    "END_SHAPES",
    "MODE_COLOURS",
    "MODE_DASHES",
    "MODE_SHAPES",
]

CLASS_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
BACKGROUND_COLOUR = "#4b5258"

MODE_COLOURS = {"mode 1": "#0072B2", "mode 2": "#D55E00", "mode 3": "#009E73"}
MODE_DASHES = ([1, 0], [8, 3], [2, 2])
MODE_SHAPES = ("circle", "square", "triangle-up")

END_COLOURS = {
    "accurate and focused": "#0072B2",
    "accurate, looking elsewhere": "#E69F00",
    "not accurate": "#4D4D4D",
}
END_SHAPES = ("circle", "triangle-up", "cross")
