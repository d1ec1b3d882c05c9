"""The command that reads texts with a text model, trained here or elsewhere."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from foveate.cli.app import this_command
from foveate.cli.flags import Classes, Overwrite, listed_classes
from foveate.cli.outputs import check_outputs
from foveate.errors import FoveateError
from foveate.report.progress import progress_of

if TYPE_CHECKING:
    from foveate.jobs.read import Reading, ReadingPlan, SplitTexts
    from foveate.records.record import Record
    from foveate.text.corpora import LabelledTexts
    from foveate.types import PartProgress

__all__ = ["read_command"]

MODEL = ".model.safetensors"


def read_command(
    file: Path,
    /,
    *,
    text: str | None = None,
    label: str | None = None,
    classes: Classes = None,
    steps: int = 400,
    d: int = 64,
    embedding: int = 64,
    batch: int = 32,
    lr: float = 2e-3,
    longest: int = 400,
    least: int = 2,
    share: float = 0.2,
    shown: int = 8,
    seed: int = 0,
    rationale: str | None = None,
    model: Path | None = None,
    checkpoints: tuple[Path, ...] = (),
    table: Literal["csv", "parquet"] = "csv",
    out: Path = Path("texts.html"),
    overwrite: Overwrite = False,
) -> None:
    """Train a reader on labelled texts; write its page, its numbers, α, β and Δ, and its model.

    With --model nothing is trained: a text classifier of the transformers library reads all texts,
    or an encoder–decoder a table of sentence pairs.
    Beside page.html it writes page.numbers.json (accuracy, agreement A, τ), page.tokens.csv (α, β
    and Δ of every word of every held-out text) and page.model.safetensors.

    Parameters
    ----------
    file
        A table (CSV, JSON lines, Parquet) of texts of two or more classes.
    text
        Column of texts, where its name does not tell.
    label
        Column of labels.
    classes
        The labels there may be, separated by commas; another one is an error.
    steps
        Steps of training.
    d
        Size of a state in each direction; 256 in the paper.
    embedding
        Size of an embedding; 300 in the paper.
    batch
        Texts per step.
    lr
        Learning rate of Adam.
    longest
        Texts are cut after so many words.
    least
        Words seen less often are unknown.
    share
        Share of texts held out.
    shown
        Number of held-out texts on the page.
    seed
        Seed of the split, of weights and order, and of the examples.
    rationale
        Column of rationales to score against: 0 or 1 for every word that spaces separate.
    model
        The folder of a model of the transformers library, to read in place of training.
    checkpoints
        Folders of earlier checkpoints of an encoder–decoder, first to last, for ξ.
    table
        Format of the table of tokens.
    out
        The page to write; the other files are named after it.
    """
    from foveate.jobs.read import ReadingPlan
    from foveate.text.corpora.rationales import read_rationales
    from foveate.text.corpora.user_files import read_texts, text_column

    plan = ReadingPlan(steps, embedding, d, batch, lr, longest, shown, seed=seed)
    if not 0 < share < 1:
        raise FoveateError(f"share must be between 0 and 1, got {share}")
    suffixes = (".numbers.json", f".tokens.{table}", *(() if model else (MODEL,)))
    outputs = [out.with_suffix(suffix) for suffix in suffixes]
    check_outputs(out, inputs=(file,), overwrite=overwrite)
    check_outputs(*outputs, inputs=(file,), overwrite=overwrite or out.exists())
    if model is not None and _is_translator(model, checkpoints):
        return _read_pairs(file, plan, (*checkpoints, model), out, table)
    labelled = read_texts(file, text=text, label=label, classes=listed_classes(classes))
    rationales = read_rationales(file, text_column(file, text), rationale) if rationale else None
    with progress_of(quiet=True) as progress:
        if model is None:
            reading, texts = _trained(labelled, plan, share, least, progress)
        else:
            reading, texts = _read_without_training(labelled, plan, model, progress)
    marked = None if rationales is None else [rationales[row] for row in texts.rows.tolist()]
    numbers = _write_numbers(out, reading, texts, marked, table)
    print(_write_reading(out, file.name, texts.data, reading.record, model, numbers))
    _print_agreement(numbers)
    print(f"page: {out}")


def _is_translator(model: Path, checkpoints: tuple[Path, ...]) -> bool:
    from foveate.text.transformers.loading import is_translator

    translator = is_translator(model)
    if checkpoints and not translator:
        raise FoveateError("--checkpoints are for an encoder–decoder: see --model")
    return translator


def _read_pairs(
    file: Path, plan: "ReadingPlan", models: tuple[Path, ...], out: Path, form: str
) -> None:
    from foveate.cli.translator_reading import read_with_translator
    from foveate.jobs.read_transformer import check_untrained

    check_untrained(plan)
    read_with_translator(file, models, out, form, plan.shown)


def _trained(
    labelled: "LabelledTexts",
    plan: "ReadingPlan",
    share: float,
    least: int,
    progress: "PartProgress",
) -> "tuple[Reading, SplitTexts]":
    from foveate.jobs.read import read_texts_job, split_texts

    texts = split_texts(labelled, share, least, plan.seed)
    return read_texts_job(texts, plan, partial(progress, "training")), texts


def _read_without_training(
    labelled: "LabelledTexts", plan: "ReadingPlan", path: Path, progress: "PartProgress"
) -> "tuple[Reading, SplitTexts]":
    """All texts as a classifier of the transformers library reads them."""
    import torch

    from foveate.jobs.read import SplitTexts
    from foveate.jobs.read_transformer import check_untrained, read_with_transformer
    from foveate.text.transformers.encoder import TextEncoder
    from foveate.text.transformers.loading import load_classifier
    from foveate.trust.text_model import class_order

    check_untrained(plan)
    encoder = TextEncoder(*load_classifier(path))
    order = class_order(encoder.model.config, labelled.classes)
    reading = read_with_transformer(labelled, encoder, order, plan, partial(progress, "reading"))
    rows = torch.arange(len(labelled.train))
    return reading, SplitTexts(labelled, labelled.train, labelled.vocabulary, rows)


def _write_numbers(
    out: Path, reading: "Reading", texts: "SplitTexts", rationales: Any, form: str
) -> dict[str, Any]:
    """Write numbers, tokens and model beside the page, and return the numbers."""
    import pyarrow as pa

    from foveate.records.record import write_atomically
    from foveate.text.models.stored_reader import save_reader
    from foveate.text.probes import reading_numbers as of
    from foveate.userdata.predict import write_table

    values, start = reading.values, reading.start
    numbers = {
        "steps": reading.record.t.tolist(),
        "accuracy_by_step": reading.record.values["accuracy"][:, 0].tolist(),
        "texts": len(start) - 1,
        "accuracy": reading.accuracy,
        "agreement": of.agreement_numbers(values, start),
        "rationales": None
        if rationales is None
        else of.rationale_numbers(values, start, rationales),
    }
    text = json.dumps(numbers, indent=1).encode()
    write_atomically(out.with_suffix(".numbers.json"), lambda file: file.write(text))
    rows = texts.rows.numpy()
    columns = of.token_columns(values, start, reading.words, rows, rationales)
    write_table(out.with_suffix(f".tokens.{form}"), pa.table(columns))
    data = texts.data
    if reading.model is not None:
        save_reader(out.with_suffix(MODEL), reading.model, data.vocabulary, data.classes)
    return numbers


def _print_agreement(numbers: dict[str, Any]) -> None:
    agreement = numbers["agreement"]
    print(
        f"{numbers['texts']:,} texts: A(α, β) {agreement['alpha, beta']['A_fair']:.2f}, "
        f"A(Δ, β) {agreement['delta, beta']['A_fair']:.2f}, random {agreement['random']:.2f}"
    )
    if scores := numbers["rationales"]:
        print(
            f"{scores['texts']:,} rationales: α on them {scores['mass']:.2f} (chance "
            f"{scores['chance']:.2f}), area under the ROC curve {scores['alpha']['auc']:.2f}"
        )


def _write_reading(
    out: Path,
    name: str,
    texts: "LabelledTexts",
    record: "Record",
    model: Path | None,
    numbers: dict[str, Any],
) -> str:
    """Write the page of a reader, and return the captions of its last step."""
    from foveate.report.next_steps import read_steps
    from foveate.report.pages.texts import texts_of, write_texts_page

    shown, captions = texts_of(record)
    counts = {name: f"{count:,}" for name, count in texts.counts.items()}
    write_texts_page(
        out,
        shown,
        captions,
        title=f"What a reader looks at in {name}",
        lead=f"{_model_name(model)}: attention, evidence of each position alone, "
        "and what moves its answer.",
        results=_results(numbers),
        steps=read_steps(name, marked=numbers["rationales"] is not None, trained=model is None),
        setup={**counts, **{name: str(value) for name, value in record.meta["plan"].items()}},
        command=this_command(),
    )
    return captions[-1]


def _results(numbers: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The numbers of a page: name, value, meaning."""
    from foveate.report.sentences import count_of

    agreement, total = numbers["agreement"], numbers["texts"]
    chance = f"random order {agreement['random']:.2f}"
    rows = [
        ("Texts right", count_of(round(total * numbers["accuracy"]), total), "95 % interval"),
        ("A(α, β)", f"{agreement['alpha, beta']['A_fair']:.2f}",
         f"agreement of attention with what positions say alone; {chance}"),
        ("A(Δ, β)", f"{agreement['delta, beta']['A_fair']:.2f}",
         f"agreement of what moves the answer with it; {chance}"),
    ]  # fmt: skip
    if scores := numbers["rationales"]:
        meaning = f"chance {scores['chance']:.2f}, {scores['texts']:,} texts"
        rows.append(("α on rationales", f"{scores['mass']:.2f}", meaning))
    return rows


def _model_name(model: Path | None) -> str:
    if model is None:
        return "Held-out texts as a bi-LSTM with attention reads them while it learns"
    return f"Texts as {model.name} reads them"
