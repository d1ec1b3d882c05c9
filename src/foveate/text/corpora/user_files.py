"""A user's texts: labelled texts or sentence pairs from CSV, JSON lines, Parquet, plain lines.

Files are read row by row and stored as numbers, so that large ones need a few bytes per word.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from sys import intern
from typing import Any, Literal

import torch

from foveate.errors import FoveateError
from foveate.io.rows import Row, column_names, lines, rows, where
from foveate.io.tokenisation import whitespace_words
from foveate.io.tokenisation import words as split_words
from foveate.text.corpora import LabelledTexts, Pairs, SentencePairs, Words
from foveate.text.corpora.encoding import Collection, held_out

__all__ = ["kind_of", "paired_lines", "paired_rows", "read_pairs", "read_texts", "text_column"]

TEXT = ("text", "sentence", "review", "sms", "message", "content", "document", "tweet", "comment")
LABEL = ("label", "class", "category", "sentiment", "polarity", "y")
SIDES = (("source", "target"), ("src", "tgt"), ("src", "trg"))
LANGUAGES = (
    " ar bg bn ca cs da de el en es et eu fa fi fr ga he hi hr hu is it ja ko lt lv ms mt nl no "
    "pl pt ro ru sk sl sr sv sw ta th tr uk ur vi zh "
)


def kind_of(path: str | Path) -> Literal["texts", "pairs"]:
    """Whether a table holds labelled texts or sentence pairs, by the names of its columns."""
    path = Path(path)
    names = column_names(path, pairs=True)
    labelled = _first_of(names, TEXT) and _first_of(names, LABEL)
    if bool(labelled) != bool(_sides(names)):
        return "texts" if labelled else "pairs"
    raise FoveateError(
        f"{path} must hold labelled texts (columns such as text and label) or sentence pairs "
        f"(source and target, or two languages such as en and de); its columns are "
        f"{', '.join(names)}"
    )


def read_texts(
    path: str | Path,
    *,
    text: str | None = None,
    label: str | None = None,
    classes: Sequence[str] | None = None,
    share: float = 0.0,
    seed: int = 0,
    least: int = 1,
    words: Words = split_words,
) -> LabelledTexts:
    """Labelled texts of a table, all to learn from unless a share is held out.

    Args:
        path: A table of texts.
        text: Column of texts, found by its name unless given.
        label: Column of labels, likewise.
        classes: The labels there may be, in order; those that occur unless given.
        share: Share of texts drawn for validation.
        seed: Decides which.
        least: Words seen less often in training are unknown.
        words: How a text becomes words.
    """
    path = Path(path)
    columns = [
        text_column(path, text),
        _column(path, label, LABEL, "labels", "label"),
    ]
    texts, labels = _collected(path, columns, words, classes)
    names = tuple(classes) if classes is not None else _in_order(set(labels))
    if len(set(labels)) < 2:
        raise FoveateError(f"{path}: two classes are needed, all labels are '{labels[0]}'")
    y = torch.tensor([*map({name: i for i, name in enumerate(names)}.__getitem__, labels)])
    is_validation = held_out(len(texts), share, "files", seed)
    vocabulary, ids = texts.encoded(~is_validation.numpy(), least)
    parts = (ids.take(~is_validation), y[~is_validation], ids.take(is_validation), y[is_validation])
    return LabelledTexts(*parts, vocabulary, names, words, str(path))


def text_column(path: Path, chosen: str | None = None) -> str:
    """The column of texts of a table: the given one, or the one known by its name."""
    return _column(path, chosen, TEXT, "texts", "text")


def _collected(
    path: Path, columns: Sequence[str], words: Words, classes: Sequence[str] | None
) -> tuple[Collection, list[str]]:
    texts, labels = Collection(), list[str]()
    for number, (text, label) in rows(path, columns):
        texts.add(_words(text, words, path, number))
        labels.append(intern(_label(label, path, number)))
        if classes is not None and labels[-1] not in classes:
            names = ", ".join(classes)
            raise FoveateError(f"{where(path, number)}: label '{labels[-1]}' is none of {names}")
    return texts, labels


def read_pairs(
    path: str | Path,
    target_path: str | Path | None = None,
    *,
    source: str | None = None,
    target: str | None = None,
    share: float = 0.0,
    seed: int = 0,
    least: int = 1,
    words: Words | None = None,
) -> SentencePairs:
    """Sentence pairs of a table or of two files of lines, all to learn from unless a share is held.

    Args:
        path: A table of pairs, or a file with a source sentence on every line.
        target_path: The file with their translations, line by line, if ``path`` is no table.
        source: Column of source sentences, found by its name unless given.
        target: Column of target sentences, likewise.
        share: Share of pairs drawn for validation.
        seed: Decides which.
        least: Words seen less often in training are unknown.
        words: How a sentence becomes words: for lines what spaces part, since alignments count
            those, for tables the rule of :func:`~foveate.io.tokenisation.words`, unless given.
    """
    if target_path is None:
        files = (Path(path), Path(path))
        tokenise, pairs = words or split_words, paired_rows(files[0], source, target)
    else:
        files = (Path(path), Path(target_path))
        tokenise, pairs = words or whitespace_words, paired_lines(*files)
    sides = Collection(), Collection()
    for number, sentences in pairs:
        for side, sentence, file in zip(sides, sentences, files, strict=True):
            side.add(_words(sentence, tokenise, file, number))
    is_validation = held_out(len(sides[0]), share, "files", seed)
    (source_vocabulary, of_source), (target_vocabulary, of_target) = (
        side.encoded(~is_validation.numpy(), least) for side in sides
    )
    all_pairs = Pairs(of_source, of_target)
    train, validation = all_pairs.take(~is_validation), all_pairs.take(is_validation)
    none = all_pairs.take(torch.zeros_like(is_validation))
    parts = (train, validation, none, source_vocabulary, target_vocabulary)
    return SentencePairs(*parts, tokenise, tokenise, str(path))


def paired_rows(path: Path, source: str | None = None, target: str | None = None) -> Iterator[Row]:
    """Pairs of a table as read, with the line of each."""
    sides = _sides(column_names(path, pairs=True)) or (None, None)
    columns = [
        _column(path, source or sides[0], (), "source sentences", "source", pairs=True),
        _column(path, target or sides[1], (), "target sentences", "target", pairs=True),
    ]
    yield from rows(path, columns, pairs=True)


def paired_lines(source: Path, target: Path) -> Iterator[Row]:
    """Pairs of two files of as many lines, with their line."""
    number = 0
    for number, (one, other) in enumerate(zip_longest(lines(source), lines(target)), 1):
        if one is None or other is None:
            counts = [sum(1 for _ in lines(file)) for file in (source, target)]
            raise FoveateError(
                f"{source} has {counts[0]:,} lines and {target} {counts[1]:,}: line {number:,} has "
                "no partner"
            )
        yield number, [one, other]
    if not number:
        raise FoveateError(f"{source} and {target} are empty")


def _column(
    path: Path,
    chosen: str | None,
    common_names: Sequence[str],
    content: str,
    argument: str,
    *,
    pairs: bool = False,
) -> str:
    """The named or usual column; an error lists those that exist."""
    names = column_names(path, pairs=pairs)
    name = chosen or _first_of(names, common_names)
    if name in names:
        return name
    columns = f"its columns are {', '.join(names)}"
    if chosen:
        raise FoveateError(f"{path} has no column '{chosen}'; {columns}")
    raise FoveateError(
        f"{path} has no column of {content} known by its name ({argument}); {columns}"
    )


def _first_of(names: Sequence[str], candidates: Sequence[str]) -> str | None:
    by_lower = {name.lower(): name for name in names}
    return next((by_lower[name] for name in candidates if name in by_lower), None)


def _sides(names: Sequence[str]) -> tuple[str, str] | None:
    """Columns of source and target; of two languages the one that comes first is the source."""
    for pair in SIDES:
        source, target = (_first_of(names, (side,)) for side in pair)
        if source and target:
            return source, target
    languages = [name for name in names if f" {name.lower()} " in LANGUAGES]
    return (languages[0], languages[1]) if len(languages) == 2 else None


def _words(text: Any, words: Words, path: Path, number: int) -> list[str]:
    if isinstance(text, str) and (tokens := words(text)):
        return tokens
    if text is None or isinstance(text, str):
        raise FoveateError(f"{where(path, number)}: the text is empty")
    raise FoveateError(f"{where(path, number)}: must be a text, got {text!r}")


def _label(label: Any, path: Path, number: int) -> str:
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    if isinstance(label, str | int) and (name := str(label).strip()):
        return name
    if label is None or isinstance(label, str | float):
        raise FoveateError(
            f"{where(path, number)}: the label is missing or no class, got {label!r}"
        )
    raise FoveateError(f"{where(path, number)}: must be a label, got {label!r}")


def _in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels in numerical order if they are integers, else in alphabetical order."""
    try:
        return tuple(sorted(labels, key=int))
    except ValueError:
        return tuple(sorted(labels))
