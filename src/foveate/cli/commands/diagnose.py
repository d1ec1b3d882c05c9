"""The command that diagnoses a corpus before any training."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.cli.app import this_command
from foveate.cli.flags import Classes, Json, Overwrite, listed_classes
from foveate.cli.outputs import check_outputs
from foveate.errors import FoveateError
from foveate.report.progress import progress_of

if TYPE_CHECKING:
    from foveate.text.corpora import LabelledTexts, SentencePairs
    from foveate.text.statistics.diagnosis import Diagnosis

__all__ = ["diagnose_command"]


def diagnose_command(
    file: Path,
    target_file: Path | None = None,
    /,
    *,
    text: str | None = None,
    label: str | None = None,
    source: str | None = None,
    target: str | None = None,
    classes: Classes = None,
    seed: int = 0,
    out: Path | None = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Predict, before any training, whether attention can be learnt from these texts.

    Parameters
    ----------
    file
        A table (CSV, JSON lines, Parquet) of labelled texts or sentence pairs; or, with a second
        file, plain lines.
    target_file
        Translations of the lines of the first file.
    text
        Column of texts, where its name does not tell.
    label
        Column of labels.
    source
        Column of source sentences.
    target
        Column of target sentences.
    classes
        The labels there may be, separated by commas; another one is an error.
    seed
        Seed of folds and controls.
    out
        The page to write; diagnosis.html unless given.
    as_json
        Print all numbers as JSON, and write no page unless --out is given.
    """
    from foveate.text.corpora import SentencePairs
    from foveate.text.statistics.diagnosis import diagnose

    page = out or (None if as_json else Path("diagnosis.html"))
    check_outputs(page, inputs=(file, target_file), overwrite=overwrite)
    data = _read_either(file, target_file, text, label, source, target, listed_classes(classes))
    pairs = isinstance(data, SentencePairs)
    sides, words = _sides(data)
    with progress_of(quiet=True) as progress:
        diagnosis = diagnose(*sides, words, seed=seed, report=partial(progress, "controls"))
    if page:
        from foveate.report.pages.diagnosis import write_diagnosis_page

        write_diagnosis_page(page, diagnosis, name=file.name, pairs=pairs, command=this_command())
    if as_json:
        print(json.dumps(diagnosis.as_json(), ensure_ascii=False))
    else:
        _print_diagnosis(diagnosis)
        print(f"page: {page}")


def _read_either(
    file: Path,
    target_file: Path | None,
    text: str | None,
    label: str | None,
    source: str | None,
    target: str | None,
    classes: list[str] | None,
) -> "LabelledTexts | SentencePairs":
    """Labelled texts or sentence pairs, by the arguments and then by the columns."""
    from foveate.text.corpora.user_files import kind_of, read_pairs, read_texts

    labelled, paired = bool(text or label or classes), bool(source or target or target_file)
    if labelled and paired:
        raise FoveateError("a file holds labelled texts or sentence pairs, not both: see --help")
    if target_file and (source or target):
        raise FoveateError("--source and --target name columns of a table, not of plain lines")
    if labelled or (not paired and kind_of(file) == "texts"):
        return read_texts(file, text=text, label=label, classes=classes)
    return read_pairs(file, target_file, source=source, target=target)


def _sides(data: "LabelledTexts | SentencePairs") -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Inputs and outputs, and the words of both; outputs of labelled texts are their classes."""
    from foveate.text.corpora import SentencePairs
    from foveate.text.statistics.cooccurrence import label_targets

    if isinstance(data, SentencePairs):
        words = data.source_vocabulary.words, data.target_vocabulary.words
        return (data.train.source, data.train.target), words
    return (data.train, label_targets(data.y_train)), (data.vocabulary.words, data.classes)


def _print_diagnosis(diagnosis: "Diagnosis") -> None:
    from rich.console import Console
    from rich.table import Table

    from foveate.report.pages.diagnosis import numbers

    print(f"{diagnosis.summary} {diagnosis.reason}")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("", "here", "control", ""):
        table.add_column(heading)
    for row in numbers(diagnosis):
        table.add_row(*row)
    Console(width=None if Console().is_terminal else 140).print(table)
    if diagnosis.words:
        print("words:", ", ".join(f"{c.word} → {c.leads_to}" for c in diagnosis.words[:8]))
    for line in diagnosis.advice:
        print(f"- {line}")
