"""The study of the witness: validation images, the control, the summary, a smoke run."""

import numpy as np
import pytest
import torch

from foveate.attention.paradigms import Hard, Marginal, Progress, Soft, TopMarginal, Witness
from foveate.charts.render import to_svg
from foveate.data import DATASETS
from foveate.jobs.experiment import start_experiment
from foveate.records.record import Record
from foveate.studies.beyond.witness import WitnessStudy
from foveate.studies.beyond.witness.background_losses import (
    ConfidencePenalty,
    NullClass,
    WithUniformPenalty,
)
from foveate.studies.beyond.witness.cells import (
    CALIBRATED_SAIF,
    CALM_GAIN,
    GAIN,
    RULES,
    witness_cells,
)
from foveate.studies.beyond.witness.figures import flow_chart
from foveate.studies.beyond.witness.sets import STUDY, resplit
from foveate.studies.beyond.witness.variants import VARIANT_PARADIGMS
from foveate.studies.beyond.witness.witness_variants import (
    ConfidenceWitness,
    DrawnMarginal,
    ExcessConfidenceWitness,
    PowerLoss,
)


def test_held_out_images_are_in_no_training_mosaic_and_keep_their_kind():
    data = DATASETS.get("digits")()

    def load(count):
        return data.load("train", n=count, m=5, seed=0)

    train, held = resplit(load, 3, 400, 300, seed=0)
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


@pytest.fixture(scope="module")
def three():
    """Three bags of four segments, a linear classifier of five classes, a drawn place each."""
    rng = torch.Generator().manual_seed(0)
    alpha = torch.rand(3, 4, generator=rng, dtype=torch.float64).softmax(1)
    x = torch.randn(3, 4, 2, generator=rng, dtype=torch.float64)
    w = torch.randn(2, 5, generator=rng, dtype=torch.float64)
    y, positions = torch.tensor([0, 4, 2]), torch.tensor([[1], [0], [3]])
    return alpha, x, (lambda rows: rows @ w), y, positions


def test_uniform_penalty_is_the_weighted_divergence_from_uniform(three):
    alpha, x, g, y, positions = three
    result = WithUniformPenalty(Soft(), 0.5).loss(alpha, x, g, y, positions)
    adapted = ConfidencePenalty(Soft(), 0.5).loss(alpha, x, g, y, positions)
    for i in range(3):
        r = int(positions[i, 0])
        log_p = g(x[i, r][None]).log_softmax(1)[0]
        cross = -log_p.mean()  # KL from uniform, but for log C
        weight = (1 - alpha[i, r]) * 4 / 3
        plain = Soft().loss(alpha, x, g, y)[i]
        assert float(result[i]) == pytest.approx(float(plain + 0.5 * weight * cross))
        says = 1 + float((log_p.exp() * log_p).sum()) / np.log(5)
        assert float(adapted[i]) == pytest.approx(float(plain + 0.5 * weight * says * cross))


def test_a_weighted_witness_counts_by_how_informative_those_of_its_bag_are(three):
    alpha, x, g, y, _ = three
    positions = torch.tensor([[1, 2], [0, 0], [3, 1]])
    result = ConfidenceWitness(Soft(), 0.5, 2).loss(alpha, x, g, y, positions)
    uniform = ConfidenceWitness(Soft(), 0.5, 2).loss(
        alpha, x, lambda rows: 0 * g(rows), y, positions
    )
    assert torch.allclose(uniform, torch.full((3,), np.log(5), dtype=x.dtype))  # the plain loss
    for i in range(3):
        p = g(x[i, positions[i]]).softmax(1)
        says = float(((5 * p.square().sum(1) - 1) / 4).mean())
        plain = float(Soft().loss(alpha, x, g, y)[i])
        query = -float(p[:, y[i]].log().mean())
        assert float(result[i]) == pytest.approx(plain + 0.5 * says * query)
    sure = torch.tensor([[[0.0, -99.0], [-99.0, 0.0]]])
    assert ConfidenceWitness(Soft()).witness_weight(sure, y[:1]).tolist() == pytest.approx([1.0])


def test_excess_confidence_weighs_witnesses_by_their_excess_over_label_frequencies():
    log_p = torch.tensor([[[0.8, 0.2]], [[0.8, 0.2]], [[0.5, 0.5]]], dtype=torch.float64).log()
    rule = ExcessConfidenceWitness(Soft())
    # Sure of .8 and wrong both times: .68 − .2, twice; the third says nothing: .5 − .5.
    wrong = rule.witness_weight(log_p, torch.tensor([1, 1, 0]))
    assert float(wrong) == pytest.approx(2 * (0.68 - 0.2) / 3)
    assert (
        float(rule.witness_weight(log_p, torch.tensor([0, 0, 0]))) == 0
    )  # right more often than it claims


def test_witnesses_represent_segments_outside_the_top(three):
    alpha, x, g, y, _ = three
    order = alpha.argsort(1, descending=True)
    positions = torch.stack([order[0, [2, 3]], order[1, [0, 3]], order[2, [1, 0]]])
    result = DrawnMarginal(weight=0.5).loss(alpha, x, g, y, positions)
    p = g(x).softmax(2)
    for i, rest in enumerate(([2, 3], [3], [])):
        probabilities = {k: float(p[i, order[i, k], y[i]]) for k in range(4)}
        a = {k: float(alpha[i, order[i, k]]) for k in range(4)}
        mean = (
            sum(a[k] * probabilities[k] for k in rest) / sum(a[k] for k in rest) if rest else 1 / 5
        )
        marginal = a[0] * probabilities[0] + a[1] * probabilities[1] + (1 - a[0] - a[1]) * mean
        query = np.mean([np.log(float(p[i, k, y[i]])) for k in positions[i]])
        assert float(result[i]) == pytest.approx(-np.log(marginal) - 0.5 * query)
    assert torch.equal(DrawnMarginal().loss(alpha, x, g, y), TopMarginal(2).loss(alpha, x, g, y))


def test_powers_lie_between_hard_attention_and_lvml(three):
    alpha, x, g, y, _ = three
    lvml, hard = (rule.loss(alpha, x, g, y) for rule in (Marginal(), Hard()))
    assert torch.allclose(PowerLoss(power=1.0).loss(alpha, x, g, y), lvml)
    assert torch.allclose(PowerLoss(power=1e-6).loss(alpha, x, g, y), hard, atol=1e-4)
    between = PowerLoss(power=0.5).loss(alpha, x, g, y)
    assert bool(((between > lvml) & (between < hard)).all())


def test_a_null_class_is_one_more_logit(three):
    alpha, x, g, y, positions = three
    p = torch.cat([g(x), torch.zeros(3, 4, 1, dtype=x.dtype)], 2).softmax(2)
    result = NullClass(weight=0.5).loss(alpha, x, g, y, positions)
    for i in range(3):
        r = int(positions[i, 0])
        marginal = -torch.log((alpha[i] * p[i, :, y[i]]).sum())
        null = -torch.log(p[i, r, 5]) * (1 - alpha[i, r]) * 4 / 3
        assert float(result[i]) == pytest.approx(float(marginal + 0.5 * null))
    probabilities = NullClass().log_prob(alpha, x, g).exp()
    assert torch.allclose(probabilities.sum(1), torch.ones(3, dtype=x.dtype))
    mixed = (alpha[:, :, None] * p[:, :, :5]).sum(1)
    assert torch.allclose(probabilities, mixed / mixed.sum(1, keepdim=True))


def test_weights_decay_to_zero():
    penalty = VARIANT_PARADIGMS["LVML, uniform penalty 1 falling to 0"]
    seen = [penalty.phase(Progress(epoch, 10)) for epoch in range(10)]
    assert [phase.weight for phase in seen[:8]] == pytest.approx([1 - k / 8 for k in range(8)])
    assert seen[8:] == [Marginal(), Marginal()]
    witness = VARIANT_PARADIGMS["three witnesses 3 falling to 0"]
    seen = [witness.phase(Progress(epoch, 10)) for epoch in range(10)]
    assert [phase.weight for phase in seen[:6]] == pytest.approx([3 - k / 2 for k in range(6)])
    assert seen[6:] == [TopMarginal()] * 4


def test_the_default_is_one_of_those_tried():
    assert VARIANT_PARADIGMS["three witnesses 3, 0"] == Witness()


def made_record(saif, calls=4, n=10, epochs=5):
    """Two seeds with ten known bags each, of which a share is right and looked at right."""
    shares = np.asarray(saif)
    good = np.arange(10) < np.round(10 * shares)[:, None]
    # An eleventh bag has no relevant segment: it counts for accuracy alone.
    alpha = np.where(good[..., None], [0.9, 0.1], [0.1, 0.9])
    alpha = np.concatenate([alpha, np.full((2, 1, 2), 0.5)], 1)
    z = np.zeros((2, 11, 2), bool)
    z[:, :10, 0] = True
    final = {"s": np.log(alpha), "alpha": alpha, "z": z, "y": np.zeros((2, 11), int)}
    final["log_p"] = np.log(np.broadcast_to([0.95, 0.05], (2, 11, 2)))
    meta = {"n": n, "plan": {"epochs": epochs}, "classifier_calls": [calls * n * epochs] * 2}
    return Record(np.array([5]), {"accuracy": np.full((1, 2), 0.75)}, final, meta)


def test_cells_are_over_known_bags_against_the_oracle_and_the_better_of_two():
    ends = {"soft": [0.5, 0.7], "hard": [0.1, 0.1], "lvml": [0.6, 0.6], "hybrid": [0.5, 0.9]}
    ends |= {"witness": [0.8, 0.9], "oracle": [0.9, 0.9]}
    records = {f"digits-5-{rule}": made_record(end) for rule, end in ends.items()}
    result = {(c.name, c.measure): c for c in witness_cells(("digits-5",), records)}
    assert result["witness", "SAIF %"].mean == pytest.approx(85)
    assert result["witness", "FT %"].mean == pytest.approx(85)
    assert result["witness", "accuracy %"].mean == pytest.approx(75)
    assert result["witness", "SAIF of the oracle's, %"].mean == pytest.approx(100 * 0.85 / 0.9)
    assert result["witness", GAIN].mean == pytest.approx(15)  # above the hybrid: +30, 0
    ends = (result["witness", GAIN].low, result["witness", GAIN].high)
    assert ends == pytest.approx((15 - 12.7062 * 15, 15 + 12.7062 * 15), rel=1e-5)  # Student's t
    assert ("soft", GAIN) not in result
    assert result["witness", "log loss"].mean == pytest.approx(-np.log(0.95))
    # All answers are right: calibrated they are surer still, and only the focus decides.
    assert result["witness", CALIBRATED_SAIF].mean == pytest.approx(85)
    assert result["witness", CALM_GAIN].mean == pytest.approx(15)
    assert result["soft", "calls of g a bag and epoch"].mean == 4
    records["digits-5-oracle"] = made_record([0.0, 0.0])
    hopeless = {(c.name, c.measure) for c in witness_cells(("digits-5",), records)}
    assert not any(measure.endswith("of the oracle's, %") for _, measure in hopeless)


def test_overconfident_answers_count_less_after_calibration():
    """Half of the bags are answered wrongly with .95: at their own word .95, calibrated .5."""
    record = made_record([1.0, 1.0])
    wrong = np.arange(11) % 4 > 1  # as many in each half that calibrates the other
    record.final["log_p"] = np.where(
        wrong[:, None], np.log([0.05, 0.95]), np.log([0.95, 0.05])
    ) + np.zeros((2, 1, 1))
    records = {f"digits-5-{rule}": record for rule in RULES}
    result = {(c.name, c.measure): c.mean for c in witness_cells(("digits-5",), records)}
    assert result["lvml", "SAIF %"] == pytest.approx(60)  # 6 of the 10 known ones
    assert result["lvml", CALIBRATED_SAIF] == 0


def test_the_flow_is_drawn():
    assert "with a witness" in to_svg(flow_chart())


def test_smoke(tmp_path):
    run = start_experiment("witness", "smoke", out=tmp_path / "run")
    records = run.records()
    settings = WitnessStudy.scales["smoke"]
    assert {f"digits-5-{rule}" for rule in RULES} <= set(records)
    cells = WitnessStudy().cells(settings, records)
    held = [c.name for c in cells if c.setting == "validation bags" and c.measure == "FT %"]
    assert held == list(settings.tried)
    charts = WitnessStudy().figures(settings, records)
    for chart in charts.values():
        assert to_svg(chart).startswith("<svg")
    calls = {c.name: c.mean for c in cells if c.measure.startswith("calls")}
    assert calls["soft"] == 1
    assert calls["lvml"] == 5
    assert 2 <= calls["witness"] <= 4


def test_every_set_has_sizes():
    for settings in WitnessStudy.scales.values():
        assert {STUDY[name].sizes for name in (*settings.sets, *settings.chosen_on)} <= set(
            settings.sizes
        )
