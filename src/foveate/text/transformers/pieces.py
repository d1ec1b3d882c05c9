"""Words as the pieces of a tokenizer, and values of pieces as values of words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from foveate.errors import FoveateError

__all__ = ["Pieces", "Splitter"]


@dataclass(frozen=True)
class Pieces:
    """A text as a model reads it.

    Args:
        ids: Numbers of all pieces, special ones included.
        words: For every word the places of its pieces.
    """

    ids: list[int]
    words: list[list[int]]


@dataclass
class Splitter:
    """Split words into the pieces of a tokenizer.

    Every word is split by itself, as the first of a text or behind a space; special pieces go where
    the tokenizer puts them. Tokenizers that split at spaces give the same pieces for whole texts.

    Args:
        tokenizer: Of the transformers library.
        target: Whether to split as the tokenizer splits targets.
    """

    tokenizer: Any
    target: bool = False
    _known: dict[tuple[bool, str], list[int]] = field(default_factory=dict)
    _special: tuple[list[int], list[int]] | None = None

    def __call__(self, words: Sequence[str]) -> Pieces:
        """The pieces of one text; a word without any is an unknown piece."""
        before, after = self._special_ids(words)
        ids, positions = list(before), []
        for k, word in enumerate(words):
            pieces = self._pieces(word, first=k == 0)
            positions.append(list(range(len(ids), len(ids) + len(pieces))))
            ids += pieces
        return Pieces(ids + after, positions)

    def _pieces(self, word: str, *, first: bool) -> list[int]:
        key = first, word
        if key not in self._known:
            pieces = self._encoded(word if first else f" {word}", special=False)
            unknown = self.tokenizer.unk_token_id
            if not pieces and unknown is None:
                raise FoveateError(f"the tokenizer has no piece for the word '{word}'")
            self._known[key] = pieces or [unknown]
        return self._known[key]

    def _special_ids(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """Pieces before and behind a text, found with one of its words."""
        if self._special is None:
            sample = next((word for word in words if self._encoded(word, special=False)), "")
            inner, complete = (self._encoded(sample, special=flag) for flag in (False, True))
            starts = range(len(complete) - len(inner) + 1)
            start = next((k for k in starts if complete[k : k + len(inner)] == inner), 0)
            self._special = complete[:start], complete[start + len(inner) :]
        return self._special

    def _encoded(self, text: str, *, special: bool) -> list[int]:
        if self.target:
            encoded = self.tokenizer(text_target=text, add_special_tokens=special)
        else:
            encoded = self.tokenizer(text, add_special_tokens=special)
        return list(encoded["input_ids"])
