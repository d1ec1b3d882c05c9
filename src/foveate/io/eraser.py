"""Texts with rationales in the layout of the ERASER benchmark."""

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.io.cells import name_of
from foveate.io.collection import Collection, collect, listed
from foveate.io.columnar import split_of
from foveate.io.columns import Columns
from foveate.io.problem import Problem
from foveate.io.rows import column_names, lines, rows, where
from foveate.io.tokenisation import whitespace_words
from foveate.types import PartProgress

__all__ = ["is_eraser", "read_eraser"]

FIELDS = ("annotation_id", "classification", "evidences", "docids", "document")
DOCUMENTS = "docs.jsonl"

Sentences = list[list[str]]


class _Annotation(NamedTuple):
    """One bag: its file and line, name, label, documents, and rationales."""

    location: str
    name: str
    label: str | None
    documents: dict[str, Sentences]
    evidences: list[Any] | None
    split: str | None


def is_eraser(path: Path) -> bool:
    """Whether there are annotations with evidences at a path: a file, or a folder of them."""
    return any("evidences" in column_names(file) for file in _files(path))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path] if path.suffix == ".jsonl" else []
    return [f for f in sorted(path.glob("*.jsonl")) if f.name != DOCUMENTS and f.stat().st_size]


def read_eraser(
    path: Path,
    columns: Columns,
    classes: Sequence[str] | None = None,
    labelled: bool | None = None,
    report: PartProgress | None = None,
) -> Collection:
    """Bags of annotated documents; words are segments, or sentences with ``tokens=False``.

    ``train.jsonl``, ``val.jsonl``, ``test.jsonl`` have a line for each bag: ``annotation_id``,
    ``classification``, and ``evidences``, groups of spans from ``start_token`` up to, without,
    ``end_token``; documents are ``docs/DOCID``, rows of ``docs.jsonl``, or ``document`` in the line
    itself, with a sentence on every line and spaces between words. A segment is relevant if any
    span of any group touches it. Bags over the same documents form a group. Without ``evidences``
    relevance is unknown. The query is not part of the bag.

    Args:
        path: The folder, or one file of annotations.
        columns: ``tokens`` chooses words or sentences.
        classes: The classes there may be, in order.
        labelled: Whether there must be labels; False leaves them out.
        report: Told of the annotations read.
    """
    read = _annotations(path, columns, report)
    bags, words, relevance = list[Tensor](), list[str](), list[Tensor | None]()
    for annotation in read:
        z = None if annotation.evidences is None else _evidence_mask(annotation)
        if columns.tokens is False:
            sentences = [s for document in annotation.documents.values() for s in document]
            z = z if z is None else torch.stack([p.any() for p in z.split([*map(len, sentences)])])
            segments = [" ".join(sentence) for sentence in sentences]
        else:
            segments = [intern(w) for doc in annotation.documents.values() for s in doc for w in s]
        bags.append(torch.zeros(len(segments), 1, dtype=torch.long))
        words += segments
        relevance.append(z)
    split = [annotation.split for annotation in read]
    return collect(
        bags,
        [annotation.name for annotation in read],
        lambda bag: read[bag].location,
        source=str(path),
        labels=None if labelled is False else [annotation.label for annotation in read],
        classes=classes,
        relevance=relevance,
        groups=[", ".join(annotation.documents) for annotation in read],
        split=[str(name) for name in split] if all(split) else None,
        kind="text",
        words=words,
        problems=_empty_spans([(a.name, a.location) for a in read if _has_empty_span(a)]),
    )


def _has_empty_span(annotation: _Annotation) -> bool:
    return any(_is_empty(span) for span in chain.from_iterable(annotation.evidences or []))


def _is_empty(span: dict[str, Any]) -> bool:
    start, end = span.get("start_token"), span.get("end_token")
    return isinstance(start, int) and start == end


def _empty_spans(bags: list[tuple[str, str]]) -> list[Problem]:
    """A warning about bags with a rationale that covers no word."""
    if not bags:
        return []
    what = f"a rationale covers no word and is skipped (first in {bags[0][1]})"
    return [Problem("warning", listed("bag", [name for name, _ in bags]), what, "empty-rationale")]


def _annotations(path: Path, columns: Columns, report: PartProgress | None) -> list[_Annotation]:
    files = _files(path)
    library = _Library(path if path.is_dir() else path.parent)
    read: list[_Annotation] = []
    for done, file in enumerate(files, 1):
        split = split_of(file) if path.is_dir() else None
        for number, (name, label, evidences, docids, document) in rows(file, FIELDS):
            location = where(file, number)
            called = name_of(name)
            if called is None:
                raise FoveateError(f"{location}: the annotation_id is missing")
            if not isinstance(evidences, list | None):
                raise FoveateError(f"{location}: evidences must be a list, got {evidences!r}")
            groups = [_listed(g, location) for g in evidences] if evidences is not None else None
            if document is not None:
                documents = {called: _sentences(document, location)}
            else:
                named = docids or [e.get("docid") for group in groups or [] for e in group]
                doc_ids = dict.fromkeys(str(doc) for doc in named if doc is not None)
                documents = {doc: library.read(doc, location) for doc in doc_ids or [called]}
            known = name_of(label) if columns.is_label(label) else None
            read.append(_Annotation(location, called, known, documents, groups, split))
        if report:
            report("files", done, len(files))
    return read


def _listed(group: Any, location: str) -> list[dict[str, Any]]:
    spans = group if isinstance(group, list) else [group]
    if not all(isinstance(span, dict) for span in spans):
        raise FoveateError(f"{location}: evidences must be groups of spans, got {group!r}")
    return spans


class _Library:
    """Documents of a folder, each read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held: dict[str, Sentences] = {}
        if (folder / DOCUMENTS).exists():
            for number, (name, text) in rows(folder / DOCUMENTS, ["docid", "document"]):
                location = where(folder / DOCUMENTS, number)
                self._held[str(name)] = _sentences(text, location)

    def read(self, name: str, location: str) -> Sentences:
        if name not in self._held:
            file = self.folder / "docs" / name
            inside = self.folder / "docs" in file.parents and ".." not in file.parts
            if not inside or not file.is_file():
                raise FoveateError(f"{location}: there is no document {file}")
            self._held[name] = _sentences("\n".join(lines(file)), str(file))
        return self._held[name]


def _sentences(text: Any, location: str) -> Sentences:
    if not isinstance(text, str):
        raise FoveateError(f"{location}: a document must be a text, got {json.dumps(text)[:40]}")
    sentences = [words for line in text.split("\n") if (words := whitespace_words(line))]
    if not sentences:
        raise FoveateError(f"{location}: the document is empty")
    return sentences


def _evidence_mask(annotation: _Annotation) -> Tensor:
    """Words that any span touches, (m,); empty spans are skipped."""
    lengths = {name: sum(map(len, doc)) for name, doc in annotation.documents.items()}
    begin, z = dict[str, int](), torch.zeros(sum(lengths.values()), dtype=torch.bool)
    for name in lengths:
        begin[name] = sum(lengths[other] for other in begin)
    for span in chain.from_iterable(annotation.evidences or []):
        if _is_empty(span):
            continue
        name = str(span.get("docid") if span.get("docid") is not None else next(iter(lengths)))
        start, end = span.get("start_token"), span.get("end_token")
        whole = isinstance(start, int) and isinstance(end, int)
        if name not in lengths or not whole or not 0 <= start < end <= lengths[name]:
            raise FoveateError(
                f"{annotation.location}: a span must lie within the {lengths.get(name, 0)} words "
                f"of document '{name}', got {start} to {end}"
            )
        z[begin[name] + start : begin[name] + end] = True
    return z
