"""Four tiny tasks whose count tables fit on a page. [snell21] Figures 1, 3, 4 and 6"""

from itertools import permutations
from typing import NamedTuple

from foveate.text.tokens import Tokens

__all__ = ["TOYS", "Toy"]


class Toy(NamedTuple):
    """Sentence pairs in words, and the words in the order they are drawn in."""

    title: str
    pairs: list[tuple[list[str], list[str]]]
    inputs: list[str]
    outputs: list[str]

    def tokens(self) -> tuple[Tokens, Tokens]:
        """Sources and targets as places among ``inputs`` and ``outputs``."""
        return (
            Tokens.of([self.inputs.index(word) for word in x] for x, _ in self.pairs),
            Tokens.of([self.outputs.index(word) for word in y] for _, y in self.pairs),
        )


def _toy(title: str, pairs: list[tuple[list[str], list[str]]]) -> Toy:
    """Words are drawn in order of first occurrence."""
    inputs, outputs = (list(dict.fromkeys(w for p in pairs for w in p[k])) for k in (0, 1))
    return Toy(title, pairs, inputs, outputs)


def _copies(words: str) -> list[tuple[list[str], list[str]]]:
    """All orders of the words, each with its copy in a primed alphabet."""
    return [(list(order), [f"{w}′" for w in order]) for order in permutations(words)]


_TRANSLATION = (
    ("Dieser Film ist großartig", "This movie is great"),
    ("Dieser Film ist schlecht", "This movie is bad"),
    ("Dieser Plan ist großartig", "This plan is great"),
    ("Dein Plan ist neu", "Your plan is new"),
    ("Dein Film war schlecht", "Your movie was bad"),
    ("Dieser Film war neu", "This movie was new"),
)
_POLARITY = (
    ("this movie is great", "positive"),
    ("this movie is awful", "negative"),
    ("this plot is great", "positive"),
    ("this plot is dull", "negative"),
    ("movie with great plot", "positive"),
    ("movie with dull plot", "negative"),
    ("this is moving", "positive"),
    ("this is awful", "negative"),
)

TOYS = {
    "translation": _toy("Translation", [(x.split(), y.split()) for x, y in _TRANSLATION]),
    "permutation": _toy("Permutations of A, B, C, D", _copies("ABCD")),
    "polarity": _toy("Classification", [(x.split(), [y]) for x, y in _POLARITY]),
    "mixture": _toy("Mixture of two permutation sets", _copies("ABCD") + _copies("EFGH")),
}
