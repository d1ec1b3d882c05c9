"""Text models that are trained and then asked: a reader of texts, an aligner of sentence pairs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.lab.live.worker_channel import WorkerChannel
from foveate.lab.requests import Study
from foveate.lab.saved_models import load_saved_model, save_model
from foveate.records.record import Array
from foveate.text.batches import Batches
from foveate.text.corpora import LabelledTexts, SentencePairs, load_pairs, load_texts
from foveate.text.loop import Course, built, follow
from foveate.text.models.reader import Reader, signed
from foveate.text.models.seq2seq import Seq2Seq
from foveate.text.probes.pairs import performance, read_attention
from foveate.text.probes.texts import influence, probe_texts
from foveate.text.statistics.ibm1 import fit_ibm1
from foveate.text.tokens import UNKNOWN, Tokens, Vocabulary, truncate
from foveate.text.translation import Translator, translation_course, translator

__all__ = ["train_text_live"]

SIZE, BATCH, RATE = 64, 32, 2e-3
MOST_TEXTS, MEASURED, LONGEST = 4000, 200, 200
MEASURE = 15  # steps between measurements
Answer = Callable[[dict[str, Any]], dict[str, Any]]


def train_text_live(desk: WorkerChannel, given: dict[str, Any]) -> None:
    """Train as the job says, then answer questions until time is over or it is stopped."""
    job = Study(**given)
    answer = _reader(desk, job) if job.what == "texts" else _aligner(desk, job)
    desk.send("state", state="ready")
    while True:
        question = desk.asked()
        try:
            desk.send("answer", number=question["number"], **answer(question))
        except FoveateError as error:
            desk.send("answer", number=question["number"], error=str(error))


def _learnt(
    desk: WorkerChannel, job: Study, course: Course, vocabularies: Sequence[Vocabulary]
) -> None:
    """Train while accuracy is told, and keep the model; or take one that was kept."""
    place = Path(job.path)
    if job.path:
        load_saved_model(place, course.model, vocabularies)
        reached = float(course.measure(job.steps)["accuracy"])
        rows = {"t": [job.steps], "accuracy": [[round(reached, 4)]]}
        desk.send("frame", epoch=job.steps, rows={"soft": rows}, ends={}, details={})
        desk.send("result", model=place.name)
        return
    reached = _followed(desk, job, course)
    try:
        desk.send("result", model=save_model(job, course.model, reached, vocabularies))
    except FoveateError as error:  # a folder that cannot be written: it can still be asked today
        desk.send("result", model="", why=str(error))


def _followed(desk: WorkerChannel, job: Study, course: Course) -> float:
    """Train while accuracy is told; the accuracy at the end."""
    rows: dict[str, list[Any]] = {"t": [], "accuracy": []}

    def measure(step: int) -> dict[str, Array]:
        found = course.measure(step)
        rows["t"].append(step)
        rows["accuracy"].append([round(float(found["accuracy"]), 4)])
        return found

    def show(_whole: bool) -> None:
        fresh = {name: list(values) for name, values in rows.items()}
        for values in rows.values():
            values.clear()
        epoch = max(fresh["t"], default=0)
        desk.send("frame", epoch=epoch, rows={"soft": fresh}, ends={}, details={})

    at = sorted({*range(0, job.steps, MEASURE), job.steps})
    told = Course(course.model, course.loss, measure, course.lr)
    record = follow([lambda: told], at, report=lambda a, b: desk.poll_commands(show, over=a == b))
    return float(record.last("accuracy")[0])


def _reader(desk: WorkerChannel, job: Study) -> Answer:
    """A classifier of texts of two classes. [snell21] Sec. 2.1"""
    data = load_texts(job.corpus, train=MOST_TEXTS, validation=MEASURED)
    if len(data.classes) != 2:
        raise FoveateError(
            f"a reader tells two classes apart, {job.corpus} has {len(data.classes)}"
        )
    some = [rows[k] for k in range(3) for rows in _by_class(data) if k < len(rows)]
    shown = [" ".join(data.vocabulary.decode(data.validation[row][:40])) for row in some]
    scene = {"kind": "texts", "classes": list(data.classes), "examples": shown}
    desk.send("hello", scene=scene, seeds=[0], epochs=job.steps)
    model: Reader = built(
        lambda: Reader(len(data.vocabulary), embedding=SIZE, d=SIZE), "lab words", job.corpus
    )  # type: ignore[assignment]
    _learnt(desk, job, _reading_course(data, model, job.corpus), [data.vocabulary])
    return lambda question: _read(data, model, str(question["text"]))


def _by_class(data: LabelledTexts) -> list[list[int]]:
    return [(data.y_validation == k).nonzero().flatten().tolist() for k in (1, 0)]


def _reading_course(data: LabelledTexts, model: Reader, name: str) -> Course:
    train, held = truncate(data.train, LONGEST), truncate(data.validation, LONGEST)
    stream = Batches(train, data.y_train, BATCH, f"lab {name}", 0)

    def loss(step: int) -> Tensor:
        ids, mask, y = stream.at(step)
        return torch.nn.functional.softplus(-signed(model(ids, mask).logit, y)).mean()

    def measure(_step: int) -> dict[str, Array]:
        return {"accuracy": np.asarray(probe_texts(model, held, data.y_validation).right.mean())}

    return Course(model, loss, measure, RATE)


def _read(data: LabelledTexts, model: Reader, text: str) -> dict[str, Any]:
    """α, β and Δ of every word of a text, for the class that the model gives it."""
    words = data.words(text)[:LONGEST]
    if not words:
        raise FoveateError("there is no word to read in the text")
    ids = data.vocabulary.encode(words)
    tokens = Tokens.of([ids])
    said = int(probe_texts(model, tokens, torch.tensor([1])).logit[0] > 0)
    y = torch.tensor([said])
    probes = probe_texts(model, tokens, y)
    return {
        "tokens": words,
        "known": [one != UNKNOWN for one in ids],
        "says": data.classes[said],
        "p": float(np.exp(-probes.loss[0])),
        "alpha": _rounded(probes.alpha),
        "beta": _rounded(probes.beta),
        "delta": _rounded(influence(model, tokens, y)),
    }


def _aligner(desk: WorkerChannel, job: Study) -> Answer:
    """IBM Model 1 and a translator's attention, learnt from the same pairs."""
    data = load_pairs(job.corpus, train=MOST_TEXTS, unit="words", least=1)
    shown = [
        [
            " ".join(data.source_vocabulary.decode(data.validation.source[row])),
            " ".join(data.target_vocabulary.decode(data.validation.target[row])),
        ]
        for row in range(4)
    ]
    scene = {"kind": "pairs", "classes": [], "examples": shown}
    desk.send("hello", scene=scene, seeds=[0], epochs=job.steps)
    size = len(data.source_vocabulary), len(data.target_vocabulary)
    counted = fit_ibm1(data.train.source, data.train.target, size)
    sizes = Translator(d=SIZE, layers=1, dropout=0.0, lr=3e-3)
    model = translator(data, sizes, "lab words", job.corpus)
    few = data.validation.take(torch.arange(min(len(data.validation), MEASURED)))

    def measure(own: Seq2Seq, _step: int) -> dict[str, Array]:
        return {"accuracy": np.asarray(performance(own, few.source, few.target).accuracy)}

    course = translation_course(model, data.train, sizes, measure, "lab", job.corpus)
    _learnt(desk, job, course, [data.source_vocabulary, data.target_vocabulary])
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
    found = {name: _rounded(own.values.reshape(form)) for name, own in tables.items()}
    return {"source": source, "target": target, **found}


def _rounded(values: Array) -> Any:
    """Four significant digits: influence is tiny where a model is sure."""
    rows = np.nan_to_num(np.asarray(values, np.float64))
    return np.vectorize(lambda x: float(f"{x:.4g}"), otypes=[float])(rows).tolist()
