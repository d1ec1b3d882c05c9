"""A fitted model as ONNX: one bag of any size in; probabilities, attention and evidence out."""

import json
import logging
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from foveate.bags.bag import pad
from foveate.errors import FoveateError
from foveate.models.nets import Layers
from foveate.models.null_segment import add_null_segment
from foveate.randomness import generator
from foveate.records.record import Array, write_atomically
from foveate.text.tokens import START
from foveate.userdata.fitted import Component, FittedModel
from foveate.userdata.linear_models import PooledLinear
from foveate.userdata.pooled_segments import pool_rows, word_shares
from foveate.userdata.prepare import Preparation

__all__ = ["OUTPUTS", "OneBag", "export_onnx", "run_onnx"]

OUTPUTS = ("probabilities", "attention", "evidence")
CHECKED_SIZES = (1, 2, 7, 40, 333)  # bag sizes that are checked against the library
EXAMPLE = 32
LONGEST = 2**31 - 1  # segments
TOLERANCE = 1e-5
MISSING_SHARE = 0.1  # share of missing numbers in the bags that are checked


class OneBag(nn.Module):
    """The whole computation from the segments of one bag to its outputs.

    Takes segments (m, *) as the user has them (of texts: word ids; of images: what the encoder
    gives, or without one numbers in [−1, 1]; of numbers: NaN where one is missing). Imputation,
    standardisation, the mean over seeds and the temperature are inside. Gives probabilities (C,),
    attention (m,) and evidence (m, C). What attention lacks to 1 rests on the null segment.
    """

    def __init__(self, fitted: FittedModel) -> None:
        super().__init__()
        vocabulary = fitted.preparation.vocabulary
        words = 0 if vocabulary is None else len(vocabulary)
        self.parts = nn.ModuleList(_Part(component, words) for component in fitted.components)
        self.weights = [component.weight for component in fitted.components]
        self.temperature = fitted.temperature
        self.first = int(fitted.preparation.null)
        self.null_position = _null_position(fitted) if self.first else None
        self.preparation = fitted.preparation

    def forward(self, segments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = _prepared(self.preparation, segments)[None]
        if self.null_position is not None:
            x = torch.cat([self.null_position[None, None], x], 1)
        p, evidence, alpha, shares, mapped = [], [], [], [], []
        for weight, part in zip(self.weights, self.parts, strict=True):
            outputs = part(x, self.first)
            p.append(weight * outputs[0])
            if outputs[1] is not None:
                alpha.append(weight * outputs[1])
                shares.append(weight)
            if outputs[2] is not None:
                evidence.append(weight * outputs[2])
                mapped.append(weight)
        mixed = torch.stack(p).sum(0)
        log_p = mixed.clamp_min(torch.finfo(mixed.dtype).tiny).log() / self.temperature
        weighted = torch.stack(alpha).sum(0) / sum(shares)
        total = torch.stack(evidence).sum(0) / sum(mapped)
        return log_p.softmax(0), weighted[self.first :], total[self.first :]


class _Part(nn.Module):
    """One component of a mixture, for one bag (1, m, *); texts have a vocabulary of ``words``."""

    def __init__(self, component: Component, words: int) -> None:
        super().__init__()
        self.models = nn.ModuleList(_without_dropout(deepcopy(model)) for model in component.models)
        self.rule, self.temperature = component.paradigm, component.temperature
        self.linear, self.trees, self.words = component.linear, component.trees, words

    def forward(self, x: Tensor, first: int) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Calibrated probabilities (C,), attention (m,) and evidence (m, C) where there are any."""
        if self.trees is not None:
            features = pool_rows(self._numbers(x[0, first:]), ("mean", "max", "min"))[None]
            p = self.trees.log_p(features)[:, 0].exp().mean(0)
            return self._calibrated(p).float(), None, None
        if self.linear is not None:
            return self._linear(self.linear, self._numbers(x[0, first:]), first)
        outputs = [self._read(model, x) for model in self.models]
        p, alpha, evidence = (torch.stack(part).mean(0) for part in zip(*outputs, strict=True))
        return self._calibrated(p), alpha, evidence

    def _calibrated(self, p: Tensor) -> Tensor:
        return (p.clamp_min(torch.finfo(p.dtype).tiny).log() / self.temperature).softmax(0)

    def _read(self, model: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        assert self.rule is not None
        focus = model.attend(x, None)
        arguments = focus.alpha, focus.h, model.g
        p = self.rule.log_prob(*arguments).exp()
        return p[0], self.rule.segment_weights(*arguments)[0], self.rule.evidence(*arguments)[0]

    def _linear(
        self, linear: PooledLinear, rows: Tensor, first: int
    ) -> tuple[Tensor, None, Tensor]:
        """Linear models of pooled segments; a segment's evidence is its share of the logits."""
        p = linear.probabilities(pool_rows(rows, linear.kinds)[None]).mean(0)[0]
        share = linear.evidence(rows)
        evidence = torch.cat([share.new_zeros(first, share.shape[1]), share])
        return self._calibrated(p).float(), None, evidence.float()

    def _numbers(self, x: Tensor) -> Tensor:
        """Segments as pooled classifiers read them, in double precision as they were fitted."""
        rows = x.flatten(1)
        return word_shares(rows, self.words) if self.words else rows.double()


def export_onnx(fitted: FittedModel, path: Path) -> float:
    """Write the model and check it in onnxruntime.

    Args:
        fitted: The models.
        path: The file to write; it appears only if it agrees with the library.

    Returns:
        The largest difference from the library over bags of several sizes.
    """
    onnx, _ = _extra()
    with _without_warnings():
        # Kernels for short rows are another path in torch; some versions need an upper bound.
        size = torch.export.Dim("m", min=16, max=LONGEST)
        program = torch.onnx.export(
            OneBag(fitted).eval(),
            (_example(fitted, EXAMPLE),),
            dynamo=True,
            input_names=["segments"],
            output_names=list(OUTPUTS),
            dynamic_shapes={"segments": {0: size}},
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    for key, value in _metadata(fitted).items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    onnx.checker.check_model(model)
    content = model.SerializeToString()
    worst = max(_gap(fitted, content, m) for m in CHECKED_SIZES)
    if not worst <= TOLERANCE:
        raise FoveateError(f"the exported model is {worst:.1e} off the library; it is not written")
    write_atomically(path, lambda file: file.write(content))
    return worst


def run_onnx(model: bytes | Path, segments: Array) -> dict[str, Array]:
    """The outputs of an exported model for one bag, in onnxruntime."""
    _, runtime = _extra()
    source = str(model) if isinstance(model, Path) else model
    session = runtime.InferenceSession(source, providers=["CPUExecutionProvider"])
    return dict(zip(OUTPUTS, session.run(list(OUTPUTS), {"segments": segments}), strict=True))


def _gap(fitted: FittedModel, content: bytes, m: int) -> float:
    """The largest difference between the exported model and the library on a drawn bag."""
    rows = _example(fitted, m)
    from_onnx = run_onnx(content, rows.numpy())
    first = int(fitted.preparation.null)
    ready = _prepared(fitted.preparation, rows)
    bag = pad([ready], torch.zeros(1, dtype=torch.long))
    explained = fitted.explain(add_null_segment(bag, _null_position(fitted)) if first else bag)
    expected = (
        fitted.probabilities(explained)[0],
        explained.alpha[0][first:],
        explained.evidence[0][first:],
    )
    size = [max(1.0, float(np.abs(values).max(initial=0.0))) for values in expected]
    gaps = [
        np.abs(from_onnx[name] - values).max() / s
        for name, values, s in zip(OUTPUTS, expected, size, strict=True)
    ]
    return float(max(gaps))


def _example(fitted: FittedModel, m: int) -> Tensor:
    """Segments of one made-up bag, as a user would give them."""
    chance, preparation = generator("export", m), fitted.preparation
    shape = (m, *preparation.width)
    if preparation.vocabulary is not None:
        return torch.randint(4, max(5, len(preparation.vocabulary)), shape, generator=chance)
    rows = torch.randn(shape, generator=chance)
    standard, imputation = preparation.standard, preparation.imputation
    rows = rows if standard is None else rows * standard.scale + standard.mean
    if imputation is None:
        return rows
    rows = rows[:, : rows.shape[1] - imputation.extra]
    absent = torch.rand(rows.shape, generator=chance) < MISSING_SHARE
    return rows.masked_fill(absent, torch.nan)


def _prepared(preparation: Preparation, rows: Tensor) -> Tensor:
    """Segments as the network reads them; NaN is a missing number."""
    if preparation.imputation is not None:
        rows = preparation.imputation.apply(rows, rows.isnan())
    return rows if preparation.standard is None else preparation.standard.apply(rows)


def _null_position(fitted: FittedModel) -> Tensor:
    """The content of the null segment: its word for texts, else an empty tensor."""
    width = fitted.preparation.width
    if fitted.preparation.vocabulary is None:
        return torch.zeros(width)
    return torch.tensor([START] + [0] * (width[0] - 1))


def _without_dropout(model: nn.Module) -> nn.Module:
    """The model with fused layers separated, which the exporter can trace."""
    for name, child in model.named_children():
        plain = (
            nn.Sequential(OrderedDict(child.named_children()))
            if isinstance(child, Layers)
            else _without_dropout(child)
        )
        setattr(model, name, plain)
    return model


def _metadata(fitted: FittedModel) -> dict[str, str]:
    preparation = fitted.preparation
    metadata = {
        "classes": list(fitted.classes),
        "columns": list(preparation.columns),
        "paradigm": fitted.name,
        "temperature": fitted.temperature,
    }
    if preparation.vocabulary is not None:
        metadata["vocabulary"] = list(preparation.vocabulary.words)
    if preparation.encoding is not None:
        metadata["encoder"] = preparation.encoding.as_json()
    return {key: json.dumps(value, ensure_ascii=False) for key, value in metadata.items()}


def _extra() -> tuple[Any, Any]:
    try:
        import onnx
        import onnxruntime
        import onnxscript  # noqa: F401  (torch's exporter needs it)
    except ImportError as error:
        need = "pip install 'foveate[onnx]'"
        raise FoveateError(f"export needs {error.name}, which is not installed: {need}") from None
    return onnx, onnxruntime


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Suppress the exporter's log messages."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = logging.root.manager.disable
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(before)
