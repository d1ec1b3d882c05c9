"""The study of the witness: validation images, the control, the summary, a smoke run."""

import numpy as np
import pytest
import torch

from foveate.data import DATASETS
from foveate.experiments.runner import start_experiment
from foveate.experiments.witness import RULES, WitnessStudy
from foveate.experiments.witness.figures import flow_chart
from foveate.experiments.witness.sets import STUDY, recut
from foveate.experiments.witness.summary import lines, markdown, variants
from foveate.experiments.witness.tried import TRIED, WithSilence
from foveate.figures.render import to_svg
from foveate.paradigms import Soft, Witness
from foveate.record import Record


def test_held_out_images_are_in_no_training_mosaic_and_keep_their_kind():
    data = DATASETS.get("digits")()

    def load(count):
        return data.load("train", n=count, m=5, seed=0)

    train, held = recut(load, 3, 400, 300, seed=0)
    rows = [{row.numpy().tobytes() for row in side.dense().flatten(0, 1)} for side in (train, held)]
    assert len(train) == 400
    assert len(held) == 300
    assert not rows[0] & rows[1]
    source = load(20_000)
    kind = {}
    for bag, y, z in zip(source.dense(), source.y.tolist(), source.z, strict=True):
        for row, relevant in zip(bag, z, strict=True):
            kind[row.numpy().tobytes()] = y if relevant else "background"
    for bag, y, z in zip(held.dense(), held.y.tolist(), held.z, strict=True):
        seen = [kind[row.numpy().tobytes()] for row in bag]
        assert seen[int(z.nonzero())] == y
        assert seen.count("background") == 4


def test_silence_is_the_weighted_divergence_from_uniform():
    chance = torch.Generator().manual_seed(0)
    alpha = torch.rand(3, 4, generator=chance, dtype=torch.float64).softmax(1)
    x = torch.randn(3, 4, 2, generator=chance, dtype=torch.float64)
    w = torch.randn(2, 5, generator=chance, dtype=torch.float64)
    y, places = torch.tensor([0, 4, 2]), torch.tensor([[1], [0], [3]])

    def g(rows):
        return rows @ w

    found = WithSilence(Soft(), 0.5).loss(alpha, x, g, y, places)
    for i in range(3):
        r = int(places[i, 0])
        log_p = g(x[i, r][None]).log_softmax(1)[0]
        cross = -log_p.mean()  # KL from uniform, but for log C
        weight = (1 - alpha[i, r]) * 4 / 3
        plain = Soft().loss(alpha, x, g, y)[i]
        assert float(found[i]) == pytest.approx(float(plain + 0.5 * weight * cross))


def test_the_default_is_one_of_those_tried():
    assert TRIED["witness 3, 0"] == Witness()


def made_record(saif, rule, n=10, epochs=5, calls=4):
    values = {key: np.array([[0.0, 0.0], saif]) for key in ("saif", "ft", "accuracy")}
    meta = {
        "n": n,
        "plan": {"epochs": epochs},
        "classifier_calls": [calls * n * epochs] * 2,
        "rule": rule,
    }
    return Record(np.array([0, 5]), values, {}, meta)


def test_the_summary_is_over_seeds_against_oracle_and_the_better_of_two():
    ends = {"soft": [0.5, 0.7], "hard": [0.1, 0.1], "lvml": [0.6, 0.6], "hybrid": [0.5, 0.9]}
    ends |= {"witness": [0.8, 0.9], "oracle": [0.9, 0.9]}
    records = {f"digits-5-{rule}": made_record(np.array(end), rule) for rule, end in ends.items()}
    found = {line.rule: line for line in lines(records, ["digits-5"])}
    assert found["witness"].measured["saif"].mean == pytest.approx(85)
    assert found["witness"].of_oracle["saif"] == pytest.approx(0.85 / 0.9)
    assert found["witness"].gain.mean == pytest.approx(15)  # above the hybrid: +30, 0
    assert found["soft"].gain is None
    assert found["soft"].calls == 4
    assert "| Digits m=5 | witness | 85.0" in markdown(records, ["digits-5"])


def test_the_flow_is_drawn():
    assert "with a witness" in to_svg(flow_chart())


def test_smoke(tmp_path):
    run = start_experiment("witness", "smoke", out=tmp_path / "run")
    records = run.records()
    use = WitnessStudy.scales["smoke"]
    assert {f"digits-5-{rule}" for rule in RULES} <= set(records)
    assert [name for _, name, _ in variants(records)] == list(use.tried)
    charts = WitnessStudy().figures(use, records)
    for chart in charts.values():
        assert to_svg(chart).startswith("<svg")
    by_rule = {line.rule: line.calls for line in lines(records, use.sets)}
    assert by_rule["soft"] == 1
    assert by_rule["lvml"] == 5
    assert 2 <= by_rule["witness"] <= 4


def test_every_set_has_sizes():
    for use in WitnessStudy.scales.values():
        assert {STUDY[name].sizes for name in (*use.sets, *use.chosen_on)} <= set(use.sizes)
