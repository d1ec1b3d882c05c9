"""``foveate read --model`` for encoder–decoders: sentence pairs, their table, numbers and page."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.cli.app import this_command
from foveate.report.progress import progress_of

if TYPE_CHECKING:
    from foveate.text.corpora import SentencePairs
    from foveate.text.transformers.pair_reading import PairReading

__all__ = ["read_with_translator"]


def read_with_translator(
    file: Path, models: Sequence[Path], out: Path, form: str, shown: int
) -> None:
    """Read sentence pairs; write a page, a table of α, β and Δ, and numbers.

    Args:
        file: A table of sentence pairs.
        models: Folders of checkpoints in the order of training; the last one is read in full.
        out: The page; other files are named after it.
        form: Format of the table, "csv" or "parquet".
        shown: Number of pairs on the page.
    """
    import pyarrow as pa

    from foveate.records.record import write_atomically
    from foveate.text.corpora.user_files import read_pairs
    from foveate.text.transformers.loading import load_translator
    from foveate.text.transformers.pair_reading import (
        checkpoint_numbers,
        pair_columns,
        pair_numbers,
        read_pairs_by,
    )
    from foveate.text.transformers.translation import piece_pairs
    from foveate.userdata.predict import write_table

    data = read_pairs(file)
    source, target = _words(data)
    readings: list[PairReading] = []
    with progress_of(quiet=True) as progress:
        for path in models:
            model, tokenizer = load_translator(path)
            readings.append(read_pairs_by(model, piece_pairs(tokenizer, source, target)))
            progress("reading", len(readings), len(models))
    numbers = pair_numbers(readings[-1])
    if len(readings) > 1:
        numbers["checkpoints"] = checkpoint_numbers(readings)
    text = json.dumps(numbers, indent=1).encode()
    write_atomically(out.with_suffix(".numbers.json"), lambda opened: opened.write(text))
    columns = pair_columns(readings[-1], source, target)
    write_table(out.with_suffix(f".tokens.{form}"), pa.table(columns))
    _write_page(out, file.name, models, readings, (source, target), shown)
    _print(numbers)
    print(f"page: {out}")


def _words(data: "SentencePairs") -> tuple[list[list[str]], list[list[str]]]:
    sides = (data.train.source, data.source_vocabulary), (data.train.target, data.target_vocabulary)
    source, target = (
        [vocabulary.decode(tokens[i]) for i in range(len(tokens))] for tokens, vocabulary in sides
    )
    return source, target


def _print(numbers: dict[str, Any]) -> None:
    agreement = numbers["agreement"]
    print(
        f"{numbers['pairs']:,} pairs, {100 * numbers['accuracy']:.0f} % of pieces right: A(α, β) "
        f"{agreement['alpha, beta']['A_fair']:.2f}, A(Δ, β) "
        f"{agreement['delta, beta']['A_fair']:.2f}, random {agreement['random']:.2f}"
    )
    if series := numbers.get("checkpoints"):
        reached = "" if series["xi_reached"] else " (not reached before the last)"
        print(f"ξ(α, β) {series['xi']:.2f}, at checkpoint {series['xi_checkpoint']}{reached}")


def _write_page(
    out: Path,
    name: str,
    models: Sequence[Path],
    readings: "Sequence[PairReading]",
    words: tuple[list[list[str]], list[list[str]]],
    shown: int,
) -> None:
    import numpy as np

    from foveate.report.pages.alignments import AlignedPair, write_alignment_page

    pairs = [
        AlignedPair(words[0][i], words[1][i], np.stack([reading.alpha[i] for reading in readings]))
        for i in range(min(shown, len(words[0])))
    ]
    write_alignment_page(
        out,
        pairs,
        [f"{path.name}: {100 * r.accuracy:.0f} % of pieces right"
         for path, r in zip(models, readings, strict=True)],
        title=f"Where {models[-1].name} looks in {name}",
        lead="Attention of every target word over the source, mean over layers and heads.",
        axis="Checkpoint",
        command=this_command(),
    )  # fmt: skip
