"""Pieces: one vocabulary of parts of words for source and target.

[snell21] A.8 uses SentencePiece with 8,000 shared pieces. The unigram trainer of ``tokenizers``,
SentencePiece's first choice, gives slightly other scores in every run; byte-pair encoding, its
second, is exact and implemented here: NFKC, spaces as "▁", letters separate from punctuation.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from foveate.data.files.cache import cache_directory
from foveate.errors import FoveateError
from foveate.records.record import load_arrays, save_arrays
from foveate.text.tokens import END, MARKS, PAD, START, UNKNOWN, Tokens, Vocabulary

__all__ = ["Pieces", "in_pieces"]

SPACE = "▁"
VERSION = 1  # increased when tokenisation changes, so that older files are not read
Arrays = dict[str, NDArray[Any]]


class Pieces:
    """A trained tokeniser of texts into pieces.

    Args:
        description: The tokeniser as JSON, as written by ``tokenizers``.
    """

    def __init__(self, description: str) -> None:
        self._tokenizer = _tokenizers().Tokenizer.from_str(description)
        words = [self._tokenizer.id_to_token(i) for i in range(self._tokenizer.get_vocab_size())]
        if tuple(words[: len(MARKS)]) != MARKS:
            raise FoveateError(f"pieces must begin with the marks, got {words[: len(MARKS)]}")
        self.vocabulary = Vocabulary(words[len(MARKS) :], SPACE)

    def words(self, text: str) -> list[str]:
        """The pieces of a text."""
        return self._tokenizer.encode(text, add_special_tokens=False).tokens

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Encode texts as ids of their pieces."""
        coded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        tokens = Tokens.of([text.ids for text in coded])
        is_special = torch.isin(
            tokens.ids, torch.tensor([PAD, START, END])
        )  # a text that contains a mark literally
        return Tokens(tokens.ids.masked_fill(is_special, UNKNOWN), tokens.start)


def in_pieces(texts: Sequence[str], train: int, size: int) -> tuple[Pieces, Tokens]:
    """Texts as pieces that the first ``train`` of them decide; kept on disk for the next time.

    Args:
        texts: All texts.
        train: How many the pieces are learnt from.
        size: Number of pieces, marks included; fewer where the texts do not have as many.
    """
    digest = hashlib.sha256(repr((VERSION, train, size, _tokenizers().__version__)).encode())
    for text in texts:
        digest.update(text.encode() + b"\0")

    def make() -> Arrays:
        description = _train_tokenizer(texts[:train], size)
        tokens = Pieces(description).tokens(texts)
        tokenizers = np.frombuffer(description.encode(), np.uint8)
        return {"pieces": tokenizers, "ids": tokens.ids.numpy(), "start": tokens.start.numpy()}

    arrays = _cached(digest.hexdigest()[:32], make)
    pieces = Pieces(arrays["pieces"].tobytes().decode())
    return pieces, Tokens(torch.from_numpy(arrays["ids"]), torch.from_numpy(arrays["start"]))


def _train_tokenizer(texts: Sequence[str], size: int) -> str:
    tokenizers = _tokenizers()
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token=MARKS[UNKNOWN]))
    one_space = tokenizers.normalizers.Replace(tokenizers.Regex(r"\s+"), " ")
    strip = tokenizers.normalizers.Strip()
    tokenizer.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.NFKC(), one_space, strip]
    )
    words_and_punctuation = tokenizers.pre_tokenizers.Split(
        tokenizers.Regex(rf"{SPACE}?(?:\w+|[^\w\s{SPACE}]+)"), "isolated"
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [tokenizers.pre_tokenizers.Metaspace(), words_and_punctuation]
    )
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size, special_tokens=[*MARKS], show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer.to_str()


def _cached(name: str, make: Callable[[], Arrays]) -> Arrays:
    """Arrays stored under a name, computed and stored if absent; errors of writing are ignored."""
    try:
        path = cache_directory() / "pieces" / f"{name}.npz"
    except RuntimeError:  # no home directory
        return make()
    try:
        return load_arrays(path)
    except FoveateError:  # absent, or torn
        arrays = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_arrays(path, arrays)
    except (OSError, FoveateError):
        pass
    return arrays


def _tokenizers() -> Any:
    try:
        import tokenizers
        from tokenizers import models, normalizers, pre_tokenizers, trainers  # noqa: F401
    except ImportError:
        raise FoveateError("pieces need the package tokenizers: install foveate[text]") from None
    return tokenizers
