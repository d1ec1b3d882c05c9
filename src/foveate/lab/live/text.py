"""Text models that are trained and then queried: a text classifier, a sentence aligner."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from foveate.errors import FoveateError
from foveate.lab.live.worker_channel import WorkerChannel
from foveate.lab.requests import TextJob
from foveate.lab.saved_models import (
    ABOUT,
    ReaderTexts,
    load_reader_texts,
    load_saved_model,
    save_model,
)
from foveate.records.record import Array
from foveate.text.batches import Batches
from foveate.text.corpora import LabelledTexts, SentencePairs, load_pairs, load_texts
from foveate.text.loop import MemberTraining, built, follow
from foveate.text.models.reader import Reader, signed
from foveate.text.models.seq2seq import Seq2Seq
from foveate.text.probes.pairs import performance, read_attention
from foveate.text.probes.texts import influence, probe_texts
from foveate.text.statistics.ibm1 import fit_ibm1
from foveate.text.tokens import UNKNOWN, Tokens, Vocabulary, truncate
from foveate.text.translation import Translator, translation_training, translator

__all__ = ["reading_course", "small_reader", "train_text_live"]

SIZE, BATCH, RATE = 64, 32, 2e-3
MAX_TEXTS, MEASURED, LONGEST = 4000, 200, 200
MEASURE = 15  # steps between measurements
Answer = Callable[[dict[str, Any]], dict[str, Any]]


def train_text_live(channel: WorkerChannel, request: dict[str, Any]) -> None:
    """Train or load the model of a job, then answer questions until nobody asks any more."""
    job = TextJob(**request)
    answer = _reader(channel, job) if job.what == "texts" else _aligner(channel, job)
    channel.send("state", state="ready")
    while True:
        question = channel.next_question()
        try:
            channel.send("answer", number=question["number"], **answer(question))
        except FoveateError as error:
            channel.send("answer", number=question["number"], error=str(error))


def _train_or_load(
    channel: WorkerChannel,
    job: TextJob,
    training: MemberTraining,
    vocabularies: Sequence[Vocabulary],
    texts: ReaderTexts | None = None,
) -> None:
    """Train the model and save it, or load the saved model that the job names."""
    if job.path:
        _load(channel, job, training.model, vocabularies)
        return
    accuracy = _train(channel, job, training)
    try:
        folder = save_model(job, training.model, accuracy, vocabularies, texts)
        channel.send("result", model=folder.name)
    except FoveateError as error:  # the folder is not writable: the model can be asked, not kept
        channel.send("result", model="", reason=str(error))


def _load(
    channel: WorkerChannel, job: TextJob, model: nn.Module, vocabularies: Sequence[Vocabulary]
) -> None:
    """Load the saved model that a job names, and send its accuracy."""
    folder = Path(job.path)
    load_saved_model(folder, model, vocabularies)
    accuracy = float(json.loads((folder / ABOUT).read_text("utf-8"))["accuracy"])
    rows = {"t": [job.steps], "accuracy": [[round(accuracy, 4)]]}
    channel.send("frame", epoch=job.steps, rows={"soft": rows}, outcomes={}, details={})
    channel.send("result", model=folder.name)


def _train(channel: WorkerChannel, job: TextJob, training: MemberTraining) -> float:
    """Train and send the accuracy as it changes; returns the accuracy at the end."""
    rows: dict[str, list[Any]] = {"t": [], "accuracy": []}

    def measure(step: int) -> dict[str, Array]:
        measured = training.measure(step)
        rows["t"].append(step)
        rows["accuracy"].append([round(float(measured["accuracy"]), 4)])
        return measured

    def send_frame(_detailed: bool) -> None:
        fresh = {name: list(values) for name, values in rows.items()}
        for values in rows.values():
            values.clear()
        epoch = max(fresh["t"], default=0)
        channel.send("frame", epoch=epoch, rows={"soft": fresh}, outcomes={}, details={})

    at = sorted({*range(0, job.steps, MEASURE), job.steps})
    measured_course = MemberTraining(training.model, training.loss, measure, training.lr)
    poll = lambda done, total: channel.poll_commands(send_frame, over=done == total)  # noqa: E731
    record = follow([lambda: measured_course], at, report=poll)
    return float(record.last("accuracy")[0])


def _reader(channel: WorkerChannel, job: TextJob) -> Answer:
    """A classifier of texts of two classes. [snell21] Sec. 2.1"""
    texts = load_reader_texts(Path(job.path)) if job.path else None
    data = None if texts else load_texts(job.corpus, train=MAX_TEXTS, validation=MEASURED)
    if texts is None:
        assert data is not None
        texts = _reader_texts(data, job.corpus)
    view = {"kind": "texts", "classes": list(texts.classes), "examples": list(texts.examples)}
    channel.send("setup", view=view, seeds=[0], epochs=job.steps)
    model = small_reader(len(texts.vocabulary), job.corpus)
    if data is None:
        _load(channel, job, model, [texts.vocabulary])
    else:
        training = reading_course(data, model, job.corpus)
        _train_or_load(channel, job, training, [texts.vocabulary], texts)
    return lambda question: _read(texts, model, str(question["text"]))


def small_reader(words: int, corpus: str) -> Reader:
    """A classifier of texts of the size that the lab trains.

    Args:
        words: Size of the vocabulary.
        corpus: Names the stream of its initial weights.
    """
    model = built(lambda: Reader(words, embedding=SIZE, d=SIZE), "lab words", corpus)
    assert isinstance(model, Reader)
    return model


def _reader_texts(data: LabelledTexts, corpus: str) -> ReaderTexts:
    if len(data.classes) != 2:
        raise FoveateError(f"a reader tells two classes apart, {corpus} has {len(data.classes)}")
    some = [rows[k] for k in range(3) for rows in _by_class(data) if k < len(rows)]
    examples = [" ".join(data.vocabulary.decode(data.validation[row][:40])) for row in some]
    return ReaderTexts(data.classes, examples, data.vocabulary, data.words)


def _by_class(data: LabelledTexts) -> list[list[int]]:
    return [(data.y_validation == k).nonzero().flatten().tolist() for k in (1, 0)]


def reading_course(data: LabelledTexts, model: Reader, name: str) -> MemberTraining:
    """How a classifier of texts is trained and measured.

    Args:
        data: Texts to learn from and to measure on.
        model: The classifier.
        name: Names the order of its batches.
    """
    train, validation = truncate(data.train, LONGEST), truncate(data.validation, LONGEST)
    stream = Batches(train, data.y_train, BATCH, f"lab {name}", 0)

    def loss(step: int) -> Tensor:
        ids, mask, y = stream.at(step)
        return torch.nn.functional.softplus(-signed(model(ids, mask).logit, y)).mean()

    def measure(_step: int) -> dict[str, Array]:
        return {
            "accuracy": np.asarray(probe_texts(model, validation, data.y_validation).right.mean())
        }

    return MemberTraining(model, loss, measure, RATE)


def _read(texts: ReaderTexts, model: Reader, text: str) -> dict[str, Any]:
    """α, β, Δ and the effect of removing it for every word, for the predicted class."""
    words = texts.tokenise(text)[:LONGEST]
    if not words:
        raise FoveateError("there is no word to read in the text")
    ids = texts.vocabulary.encode(words)
    tokens = Tokens.of([ids])
    logit = float(probe_texts(model, tokens, torch.tensor([1])).logit[0])
    predicted = int(logit > 0)
    y = torch.tensor([predicted])
    probes = probe_texts(model, tokens, y)
    without = _logits_without(model, ids) * (2 * predicted - 1)
    return {
        "tokens": words,
        "known": [index != UNKNOWN for index in ids],
        "says": texts.classes[predicted],
        "p": float(np.exp(-probes.loss[0])),
        "p_without": _rounded(1 / (1 + np.exp(-without))),
        "removal": _rounded(abs(logit) - without),
        "alpha": _rounded(probes.alpha),
        "beta": _rounded(probes.beta),
        "delta": _rounded(influence(model, tokens, y)),
    }


def _logits_without(model: Reader, ids: Sequence[int]) -> Array:
    """Logit of class 1 with each word removed in turn, shape (L,); of one word, 0."""
    if len(ids) < 2:
        return np.zeros(1)
    texts = Tokens.of([[*ids[:k], *ids[k + 1 :]] for k in range(len(ids))])
    logits: Array = probe_texts(model, texts, torch.ones(len(ids), dtype=torch.long)).logit
    return logits


def _aligner(channel: WorkerChannel, job: TextJob) -> Answer:
    """IBM Model 1 and a translator's attention, learnt from the same pairs."""
    data = load_pairs(job.corpus, train=MAX_TEXTS, unit="words", least=1)
    panels = [
        [
            " ".join(data.source_vocabulary.decode(data.validation.source[row])),
            " ".join(data.target_vocabulary.decode(data.validation.target[row])),
        ]
        for row in range(4)
    ]
    view = {"kind": "pairs", "classes": [], "examples": panels}
    channel.send("setup", view=view, seeds=[0], epochs=job.steps)
    size = len(data.source_vocabulary), len(data.target_vocabulary)
    counted = fit_ibm1(data.train.source, data.train.target, size)
    sizes = Translator(d=SIZE, layers=1, dropout=0.0, lr=3e-3)
    model = translator(data, sizes, "lab words", job.corpus)
    few = data.validation.take(torch.arange(min(len(data.validation), MEASURED)))

    def measure(model: Seq2Seq, _step: int) -> dict[str, Array]:
        return {"accuracy": np.asarray(performance(model, few.source, few.target).accuracy)}

    training = translation_training(model, data.train, sizes, measure, "lab", job.corpus)
    _train_or_load(channel, job, training, [data.source_vocabulary, data.target_vocabulary])
    return lambda question: _align(data, model, counted, question)


def _align(
    data: SentencePairs, model: Seq2Seq, counted: Any, question: dict[str, Any]
) -> dict[str, Any]:
    """Attention and posteriors of every target word over the source words, (T, L) each."""
    source = data.source_words(str(question["source"]))[:LONGEST]
    target = data.target_words(str(question["target"]))[:LONGEST]
    if not source or not target:
        raise FoveateError("a pair needs a word on either side")
    x = Tokens.of([data.source_vocabulary.encode(source)])
    y = Tokens.of([data.target_vocabulary.encode(target)])
    form = len(target), len(source)
    tables = {"attention": read_attention(model, x, y), "ibm1": counted.posteriors(x, y)}
    rounded = {name: _rounded(table.values.reshape(form)) for name, table in tables.items()}
    return {"source": source, "target": target, **rounded}


def _rounded(values: Array) -> Any:
    """Four significant digits: influence is tiny where a model is sure."""
    rows = np.nan_to_num(np.asarray(values, np.float64))
    return np.vectorize(lambda x: float(f"{x:.4g}"), otypes=[float])(rows).tolist()
