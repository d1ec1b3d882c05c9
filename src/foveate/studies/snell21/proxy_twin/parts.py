"""The two kinds of parts: minima on small corpora, and trainings on texts."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse

from foveate.randomness import generator
from foveate.records.record import Array, Record
from foveate.studies.snell21.agreement.comparison import CHOOSING
from foveate.studies.snell21.agreement.readers import ReaderStages
from foveate.studies.snell21.agreement.texts import Texts, prepared
from foveate.studies.snell21.proxy_twin.factored import (
    factored_minimum,
    largest_penalty,
    logistic_weights,
    ridge_strength,
)
from foveate.text.models.reader import Reader
from foveate.text.statistics.cooccurrence import bags
from foveate.types import StepProgress

if TYPE_CHECKING:
    from foveate.studies.snell21.proxy_twin import ProxyTwinSettings

__all__ = ["corpus", "correlations", "minima", "trained"]

ZERO = 1e-6  # norms below are 0 to rounding


def corpus(texts: int, words: int, seed: int) -> tuple[Array, Array]:
    """A small corpus with random labels, so that the classes are not separable.

    Returns:
        Shares of each word in each text, shape (texts, words), and labels, shape (texts,).
    """
    rng = generator("twin corpus", seed)
    rates = torch.ones(texts, words, dtype=torch.float64)
    counts = torch.poisson(rates, generator=rng)
    counts[:, 0] += counts.sum(1) == 0
    x = counts / counts.sum(1, keepdim=True)
    weights = 4 * torch.randn(words, generator=rng, dtype=torch.float64)
    y = torch.rand(texts, generator=rng, dtype=torch.float64) < (x @ weights).sigmoid()
    return x.numpy(), y.numpy().astype(int)


def minima(settings: "ProxyTwinSettings", _: Path, progress: StepProgress) -> Record:
    """Proxy and logistic regression minimised on every corpus under every penalty.

    The record's t are the penalties as shares of λ_max; ``values`` (T, S): ``gap``, the relative
    difference of word weights (with no ridge to compare with above λ_max: the proxy's own norm),
    ``norm`` of the proxy's weights, and ``strength``, the C of its twin.
    """
    rows: dict[str, list[list[float]]] = {"gap": [], "norm": [], "strength": []}
    for seed in range(settings.corpora):
        x, y = corpus(settings.corpus_texts, settings.corpus_words, seed)
        rng = generator("twin start", seed)
        size = settings.corpus_d * (2 + settings.corpus_words)
        start = torch.randn(size, generator=rng, dtype=torch.float64).numpy()
        minima = [_one_minimum(settings, x, y, share, start) for share in settings.penalties]
        for name, column in zip(rows, zip(*minima, strict=True), strict=True):
            rows[name].append(list(column))
        progress(seed + 1, settings.corpora)
    values = {name: np.array(columns).T for name, columns in rows.items()}
    return Record(np.array(settings.penalties), values, {}, {"kind": "minima"})


def _one_minimum(
    settings: "ProxyTwinSettings", x: Array, y: Array, share: float, start: Array
) -> tuple[float, float, float]:
    """The gap, the norm and the twin's C."""
    penalty = share * largest_penalty(x, y)
    delta = factored_minimum(x, y, penalty, settings.corpus_d, start / settings.corpus_d**0.5)
    norm = float(np.linalg.norm(delta))
    if norm < ZERO:
        return norm, norm, 0.0
    strength = ridge_strength(delta, penalty, len(y))
    twin = logistic_weights(x, y, strength, tol=1e-10)
    return float(np.linalg.norm(delta - twin) / np.linalg.norm(twin)), norm, strength


def trained(
    settings: "ProxyTwinSettings", name: str, checkpoint: Path, progress: StepProgress
) -> Record:
    """Proxies trained as published, logistic regressions, and readers with uniform attention.

    The record's t are the readers' checkpoints; ``values``: ``uf_px``, ``uf_log`` (T, S, 3, 3) and
    ``uniform_accuracy`` (T, S, 3) as in the agreement experiment. ``final``: ``correlation``
    (S, epochs, strengths) of word weights at every epoch with every C; ``px_log``, A(β_px, β_log),
    (S, 3, 3); ``proxy_loss`` (S, epochs, 3), ``proxy_accuracy`` (S, 3); ``log_accuracy`` (1,
    strengths, 3).
    """
    texts = prepared(settings.texts, name)
    stages = ReaderStages(settings.texts, texts, checkpoint, progress, ("proxy", "uniform"))
    proxy = stages.proxy()
    seeds = np.arange(settings.texts.seeds)
    best = proxy.values["loss"][:, :, CHOOSING].argmin(0)
    evidence = proxy.values["evidence"][best, seeds]  # (S, words)
    shares, seen = _shares(texts)
    weights = [logistic_weights(shares, texts.y_train.numpy(), c) for c in settings.strengths]
    log_accuracy = np.stack([stages.accuracy(_margin(stages, w) > 0) for w in weights])
    log = stages.favour(weights[int(log_accuracy[:, CHOOSING].argmax())])
    proxies = [stages.favour(row) for row in evidence]

    def measure(seed: int, model: Reader) -> dict[str, Array]:
        probes = stages.probe(model)
        return {
            "uf_px": stages.compare(probes.favour, proxies[seed]),
            "uf_log": stages.compare(probes.favour, log),
            "uniform_accuracy": stages.accuracy(probes.right),
        }

    uniform = stages.readers("uniform", measure)
    words = proxy.values["evidence"].swapaxes(0, 1)[:, :, seen]  # (S, epochs, words seen)
    final = {
        "correlation": correlations(words, np.stack(weights)[:, seen]),
        "px_log": np.stack([stages.compare(row, log) for row in proxies]),
        "proxy_loss": proxy.values["loss"].swapaxes(0, 1),
        "proxy_accuracy": proxy.values["accuracy"][best, seeds],
        "log_accuracy": log_accuracy[None],
        "best": best.astype(float),
    }
    stages.clear()
    meta = {
        "kind": "texts",
        "data": name,
        "strengths": list(settings.strengths),
        "about": texts.about,
    }
    return Record(uniform.t, uniform.values, final, meta)


def _shares(texts: Texts) -> tuple[Any, Array]:
    """Shares of each word in each training text (sparse), and which words there are."""
    counts = bags(texts.train, len(texts.vocabulary))
    shares = sparse.diags_array(1 / texts.train.lengths.numpy()) @ counts
    return sparse.csr_matrix(shares), np.asarray(counts.sum(0)).ravel() > 0


def _margin(stages: ReaderStages, weights: Array) -> Array:
    """Log-odds of the label of each text, (n,), from the weights of words."""
    means = np.add.reduceat(stages.favour(weights), stages.start[:-1])
    return np.asarray(means / np.diff(stages.start))


def correlations(a: Array, b: Array) -> Array:
    """Pearson correlation of every row of a (…, V) with every row of b (C, V), shape (…, C)."""
    a, b = (rows - rows.mean(-1, keepdims=True) for rows in (a, b))
    scale = np.linalg.norm(a, axis=-1)[..., None] * np.linalg.norm(b, axis=-1)
    return np.asarray(a @ b.T / scale)
