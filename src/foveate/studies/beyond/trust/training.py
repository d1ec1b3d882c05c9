"""Train the models of one set, examine them without relevance, and compare with the truth."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.metrics.focus import focus_true
from foveate.models.focus import FCAM, AttentionModel
from foveate.models.nets import pair
from foveate.randomness import generator
from foveate.records.record import Array, Record
from foveate.studies.beyond.trust.sets import MODEL_VARIANTS, ModelVariant, Sample, TrustSet
from foveate.studies.beyond.trust.third import EVERY
from foveate.training.loop import fit
from foveate.trust.auditor import Audit, audit
from foveate.trust.examination import Trust
from foveate.trust.examine import examine
from foveate.trust.external import External
from foveate.trust.grades import GRADES, grade_of
from foveate.trust.subject import Subject, as_subject
from foveate.types import StepProgress

if TYPE_CHECKING:
    from foveate.studies.beyond.trust import TrustSettings

__all__ = ["train_and_examine"]


def train_and_examine(
    settings: "TrustSettings",
    name: str,
    checkpoint: Path,
    progress: StepProgress,
) -> Record:
    """The verdict on every model variant and class of one set, and the true values.

    ``final`` has one number for each pair of way and graded class: ``ft`` and ``chance`` by the
    known relevance; ``estimate``, ``low``, ``high`` and ``grade`` as said (nan where nothing is);
    ``auditor``, the estimate before it is decided whether it may be believed; ``model_score`` and
    ``model_grade`` by the model-dependent score. ``way_*`` has one number for each way.
    """
    del checkpoint  # a set takes seconds
    trust_set = EVERY[name]
    sample = trust_set.load(settings.n, settings.seed)
    checked = audit(
        [replace(sample.test, z=None)],
        len(trust_set.classes),
        more=sample.train,
        labels=sample.test_labels,
        more_labels=sample.train_labels,
    )
    variants = [
        variant
        for variant in MODEL_VARIANTS[: settings.ways]
        if _is_possible(variant, trust_set, sample)
    ]
    rows: list[dict[str, float]] = []
    whole: dict[str, list[float]] = {"ft": [], "score": [], "model_score": [], "accuracy": []}
    whole["swapped"] = []
    for k, variant in enumerate(variants):
        subject = _trained(trust_set, sample, variant, settings)
        trust = _examine(subject, trust_set, sample, variant, checked)
        truth = _truth(subject, sample.test, trust_set.graded)
        rows += [_row(trust, truth, k, c) for c in trust_set.graded]
        for key, value in _variant_row(trust, truth, subject, trust_set).items():
            whole[key].append(value)
        progress(k + 1, len(variants))
    final = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    final |= {f"way_{key}": np.array(values) for key, values in whole.items()}
    meta = {"set": name, "role": trust_set.role, "identifiable": trust_set.identifiable}
    meta |= {"ways": [variant.name for variant in variants], "seeds": settings.seeds}
    return Record(np.zeros(1), {}, final, meta)


def _is_possible(variant: ModelVariant, trust_set: TrustSet, sample: Sample) -> bool:
    """Whether a variant can be trained on a set: torchmil's models need two classes and numbers."""
    if not variant.torchmil:
        return True
    numbers = sample.train.take(slice(0, 1)).dense().is_floating_point()
    return len(trust_set.classes) == 2 and numbers and find_spec("torchmil") is not None


def _abmil(sample: Sample, plan: dict[str, Any], seed: int) -> nn.Module:
    """ABMIL of torchmil behind a layer of 64, trained on its logit with Adam."""
    from torchmil.models import ABMIL

    x, y = sample.train.dense().flatten(2).float(), sample.train.y.float()
    mask = torch.ones(x.shape[:2], dtype=torch.bool)
    mask = mask if sample.train.mask is None else sample.train.mask
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = nn.Sequential(nn.Linear(x.shape[-1], 64), nn.ReLU())
        model: nn.Module = ABMIL(in_shape=(x.shape[-1],), att_dim=32, feat_ext=encoder)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=plan["lr"], weight_decay=plan.get("weight_decay", 0.0)
    )
    criterion = nn.BCEWithLogitsLoss()
    rng = generator("trust study", "abmil", seed)
    for _ in range(plan["epochs"]):
        for rows in torch.randperm(len(x), generator=rng).split(plan["batch"]):
            optimizer.zero_grad()
            loss = criterion(model(x[rows], mask[rows]).reshape(-1), y[rows])
            loss.backward()
            optimizer.step()
    return model


def _trained(
    trust_set: TrustSet, sample: Sample, variant: ModelVariant, settings: "TrustSettings"
) -> Subject:
    """The models of one variant as a subject of the examination."""
    rows = torch.arange(max(20, int(variant.share * len(sample.train))))
    rng = generator("trust study", "share", trust_set.net)
    order = torch.randperm(len(sample.train), generator=rng)
    train = sample.train if variant.share == 1 else sample.train.take(order[rows])
    shape = sample.train.segment_shape

    def build() -> FCAM:
        f, g, layer = pair(trust_set.net, shape, len(trust_set.classes))
        return FCAM(f, g, variant.map, layer)

    plan = dict(trust_set.plan)
    plan["epochs"] = max(1, round(plan["epochs"] * variant.epochs * settings.epochs))
    seeds = range(settings.seeds)
    if variant.torchmil:
        return External([_abmil(sample, plan, seed).eval() for seed in seeds], sample.train)
    record = fit(build, train, sample.test, variant.paradigm, seeds=seeds, every=10_000, **plan)
    rule = PARADIGMS.get(variant.paradigm)()
    if not variant.redraw:
        return as_subject(record.trained, rule)
    members = [record.trained.member(i) for i in seeds]
    return as_subject([_redrawn(model, i) for i, model in enumerate(members)], rule)


def _redrawn(model: AttentionModel, seed: int) -> AttentionModel:
    """The model with the last layer of f redrawn: same classifier, random attention."""
    if not isinstance(model, FCAM):
        raise FoveateError(f"a model with a focus network is needed, got {type(model).__name__}")
    last = [layer for layer in model.f.modules() if isinstance(layer, nn.Linear)][-1]
    rng = generator("trust study", "focus", seed)
    with torch.no_grad():
        last.weight.copy_(torch.randn(last.weight.shape, generator=rng))
    return model


def _examine(
    subject: Subject, trust_set: TrustSet, sample: Sample, variant: ModelVariant, checked: Audit
) -> Trust:
    return examine(
        subject,
        variant.paradigm,
        replace(sample.test, z=None),
        trust_set.classes,
        audited=checked,
        labels=sample.test_labels,
        probe=False,
    )


def _truth(subject: Subject, test: Bag, graded: tuple[int, ...]) -> dict[str, Any]:
    """FT of every model and bag where the relevance is known, and chance."""
    reading = subject.read([test])
    mask = np.ones(test.shape, bool) if test.mask is None else test.mask.numpy()
    z, y = np.asarray(test.z) & mask, test.y.numpy()
    known = z.any(1) & np.isin(y, graded)
    ft = focus_true(reading.alpha, np.broadcast_to(z, reading.alpha.shape), mask).astype(float)
    return {"ft": ft, "known": known, "y": y, "chance": z.sum(1) / mask.sum(1), "p": reading.p}


def _row(trust: Trust, truth: dict[str, Any], variant: int, c: int) -> dict[str, float]:
    """The verdict on one class and its true values."""
    of = truth["known"] & (truth["y"] == c)
    entry = trust.by_class[c]
    attended = entry["answers"]["looks"]
    return {
        "way": float(variant),
        "class": float(c),
        "bags": float(of.sum()),
        "ft": float(truth["ft"][:, of].mean()) if of.any() else float("nan"),
        "chance": float(truth["chance"][of].mean()) if of.any() else float("nan"),
        "estimate": entry["estimate"],
        "low": entry["low"],
        "high": entry["high"],
        "auditor": attended["estimate"],
        "grade": float(GRADES.index(entry["verdict"]["grade"])),
        "model_score": entry["model_score"],
        "model_grade": float(GRADES.index(grade_of(entry["model_score"]))),
        "accuracy": entry["accuracy"],
    }


def _variant_row(
    trust: Trust, truth: dict[str, Any], subject: Subject, trust_set: TrustSet
) -> dict[str, float]:
    """One model variant; ``swapped`` is its accuracy on the bags of a unit test that break it."""
    swapped = float("nan")
    if trust_set.swapped is not None:
        bag = trust_set.swapped()
        swapped = float((subject.read([bag]).p.argmax(-1) == bag.y.numpy()).mean())
    known: Array = truth["known"]
    return {
        "ft": float(truth["ft"][:, known].mean()),
        "score": trust.score,
        "model_score": trust.model_score,
        "accuracy": float((truth["p"].argmax(-1) == truth["y"]).mean()),
        "swapped": swapped,
    }
