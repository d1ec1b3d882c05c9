"""Captions: names and boxes by hand, findings in both directions, resuming, sides of the split."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from foveate.charts.render import to_svg
from foveate.errors import FoveateError
from foveate.jobs.experiment import settings_for, start_experiment
from foveate.metrics.bleu import bleu_of_captions
from foveate.metrics.boxes import Grid, box_mask
from foveate.randomness import generator
from foveate.records.record import Record, load_checkpoint
from foveate.studies.pvr22.captions import Captions
from foveate.studies.pvr22.captions.evaluation import CaptionEvaluation
from foveate.studies.pvr22.captions.findings import cosine, saif_of
from foveate.studies.pvr22.captions.overlays import overlay
from foveate.studies.pvr22.captions.published import PUBLISHED
from foveate.studies.pvr22.captions.sources import Bank, pool_of
from foveate.studies.pvr22.captions.training import CaptionTraining, marks, model_for, train_part
from foveate.studies.pvr22.captions.word_attention import (
    Names,
    compared,
    generate_captions,
    kinds_of,
    names_in,
    padded,
    read_words,
)
from foveate.studies.reproduction import reproduce
from foveate.text.tokens import END, PAD, Epochs

USE = Captions.scales["smoke"]
KINDS = kinds_of(USE.top)
SEEDS, N = 4, 30


def record(cosines, saif=0.5, bleu=10.0, start=None):
    """A record whose names have these cosines, by kind; others are 0."""
    values = {}
    noise = 0.01 * np.random.default_rng(0).normal(size=(SEEDS, N))
    for source in ("own", "reference"):
        last = np.stack([2 * (cosines.get(k, 0.0) + noise) for k in KINDS], -1)
        values[source] = np.stack([last if start is None else start, last])
        values[f"{source}_there"] = np.full((2, SEEDS, N), 2.0)
        values[f"{source}_named"] = np.full((2, SEEDS, N), 4.0)
        spread = np.linspace(-0.1, 0.1, N)
        values[f"{source}_saif"] = np.broadcast_to(4 * (saif + spread), (2, SEEDS, N))
    for name, value in (("loss", 3.0), ("validation", 3.0), ("bleu", bleu)):
        values[name] = np.full((2, SEEDS), value)
    values["shown"] = np.full((2, SEEDS, 1, 36), 1 / 36)
    values["shown_said"] = np.zeros((2, SEEDS, 1, 8))
    photographs = [{"image_id": 1, "caption": "a <b> cat", "word": "cat", "licence": ""}]
    meta = {
        "kinds": list(KINDS),
        "per_epoch": 3,
        "images": {"train": 5, "test": N},
        "captions": 10,
        "names": 2 * N,
        "grid": [6, 8],
        "shown": photographs,
        "words": ["<pad>"],
        "notes": ["image 4 has no caption and is left out"],
    }
    final = {
        "photo": np.zeros((1, 1, 224, 224, 3), np.uint8),
        "boxes": np.array([[[[0.2, 0.2, 0.6, 0.7]]]]),
    }
    return Record(np.array([0, 60]), values, final, meta)


def table(soft, hybrid, hard=None):
    return {"soft": soft, "hard": hard or soft, "hybrid": hybrid}


RISING = {"full": 0.5, "top-4": 0.4, "random-4": 0.2, "uniform": 0.55, "shuffled": 0.45}


def verdicts(records):
    return {f.claim: f.verdict for f in Captions().findings(USE, records)}


def test_findings_follow_from_records_in_both_directions():
    good = record(RISING)
    better = record(RISING, saif=0.8)
    assert set(verdicts(table(good, better)).values()) == {"holds"}
    bad = record({"full": 0.1, "top-4": 0.2, "random-4": 0.3})
    worse = record(RISING, saif=0.2, bleu=8.0)
    assert set(verdicts(table(bad, worse)).values()) == {"does not hold"}
    half = record({"full": 0.5, "top-4": 0.2, "random-4": 0.3})
    costly = record(RISING, saif=0.8, bleu=8.0)
    assert set(verdicts(table(half, costly)).values()) == {"holds in part"}


def test_the_deviation_names_the_controls_and_the_data():
    computed = Captions().findings(USE, table(record(RISING), record(RISING, saif=0.8)))
    assert "full minus uniform -0.050" in computed[0].summary
    assert "4 of 4 conditions met" in computed[0].summary
    assert computed[0].effect == pytest.approx(0.2)
    assert "image 4 has no caption" in computed[0].deviation
    assert computed[1].effect == pytest.approx(30)


def test_cells_are_the_numbers_of_the_records():
    records = table(record(RISING), record(RISING, saif=0.8, bleu=12.0))
    cells = Captions().cells(USE, records)
    assert {c.group for c in cells} >= set(PUBLISHED.groups)
    by = {(c.name, c.measure, c.setting): c for c in reversed(cells)}  # soft comes first
    title = "captions the model says"
    assert by["hybrid", "SAIF at .3, %", title].mean == pytest.approx(80)
    assert by["hybrid", "BLEU-4", title].mean == 12
    assert by["soft", "object named that is there, %", title].mean == 50
    assert by["top-4", "cosine", title].mean == pytest.approx(0.4, abs=0.01)
    assert saif_of(records["soft"], "reference").mean == pytest.approx(50)
    gap = cosine(records["soft"], "own", "full", "top-4")
    assert gap == pytest.approx((0.1, 0.1, 0.1))  # the same noise in both


def test_charts_draw_and_escape_what_captions_say():
    charts = Captions().figures(USE, table(record(RISING), record(RISING)))
    assert set(charts) == {"cosines", "saif", "curves", "overlays"}
    bars = to_svg(charts["cosines"])
    for words in ("captions the model says", "reference captions"):
        assert f"Soft attention, {words}" in bars
    assert bars.count("full") >= 2  # a bar in both
    svg = to_svg(charts["overlays"])
    assert "data:image/png;base64," in svg
    assert "a &lt;b&gt; cat" in svg
    assert "<b>" not in svg


def test_an_overlay_keeps_the_photo_where_there_is_no_attention():
    photo = np.full((224, 224, 3), 100, np.uint8)
    heat = np.zeros((224, 224))
    heat[:, 112:] = 2.0
    seen = overlay(photo, heat)
    assert (seen[:, :112] == 100).all()
    assert seen[0, -1].tolist() == [124, 84, 212]  # .8 of #8250f0 and .2 of the photo


def test_names_are_found_with_the_boxes_they_may_stand_for():
    pool = pool_of(USE)
    side = pool.test
    kind, *ends = side.captioned.boxes[0][0]
    other = (kind + 1) % 3
    captions = [["a", ("cat", "dog", "kite")[k], "here"] for k in (kind, other)]
    names = names_in(pool, side, [captions, [["kite"] * 9]], 5)
    assert names.image.tolist() == [0, 0, 1, 1, 1, 1, 1]  # words beyond the fifth are not read
    assert names.step[:2].tolist() == [1, 1]
    assert names.has_box[:2].tolist() == [True, False]
    assert names.area[:2].tolist() == [box_mask([tuple(ends)]).sum(), 0.0]
    assert not names.low[1].any()


def test_columns_matches_manual_computation():
    grid = Grid(2, 4)
    mask = box_mask([(0.0, 0.0, 0.5, 1.0)], 4)
    one = np.ones(1, int)
    names = Names(
        0 * one, 0 * one, 0 * one, one > 0, grid.lowered(mask)[None], one * mask.sum(), ((0,),)
    )
    alpha = np.array([[0.4, 0.1, 0.3, 0.2]])
    computed = dict(
        zip(kinds_of((2, 1)), compared(grid, alpha, names, (2, 1), "x")[0], strict=True)
    )

    def by_pixels(values):
        up = grid.raised(np.array(values))
        return (up * mask).sum() / np.sqrt((up**2).sum() * mask.sum())

    assert computed["full"] == pytest.approx(by_pixels(alpha[0]))
    assert computed["top-2"] == pytest.approx(by_pixels([1.0, 0.0, 1.0, 0.0]))
    assert computed["top-1"] == pytest.approx(by_pixels([1.0, 0.0, 0.0, 0.0]))
    assert computed["uniform"] == pytest.approx(0.5**0.5)
    pairs = [
        by_pixels(np.isin(range(4), p)) for p in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    ]
    assert any(computed["random-2"] == pytest.approx(value) for value in pairs)
    up = grid.raised(alpha[0])
    assert computed["inside"] == pytest.approx((up * mask).sum() / up.sum())
    nowhere = replace(names, has_box=one < 0)
    assert np.isnan(compared(grid, alpha, nowhere, (2, 1), "x")).all()


def test_reading_in_batches_is_reading_one_by_one():
    pool = pool_of(USE)
    exam, model = CaptionEvaluation.of(USE, pool), model_for(USE, pool, 0)
    whole = read_words(model, pool, pool.test, pool.test.y, "soft", exam.names)
    for row in range(0, len(exam.names.image), 5):
        i, k, t = (
            int(part[row]) for part in (exam.names.image, exam.names.caption, exam.names.step)
        )
        with torch.no_grad():
            a = pool.bank.take(pool.test.rows[i : i + 1])
            log_p, output = model.log_prob(a, pool.test.y[i : i + 1, k : k + 1], "soft")
        np.testing.assert_allclose(whole.alpha[row], output.alpha[0, 0, t], atol=1e-6)
        assert whole.p[row] == pytest.approx(float(log_p[0, 0, t].exp()), abs=1e-6)


def test_measurements_of_generated_captions_use_those_captions():
    pool = pool_of(USE)
    model = model_for(USE, pool, 0)
    ids = generate_captions(model, pool, pool.test, "soft", longest=5, beam=2)
    assert len(ids) == len(pool.test)
    y = padded(ids)
    assert y[0, 0, : len(ids[0]) + 1].tolist() == [*ids[0], END]
    assert y[0, 0, len(ids[0]) + 1 :].eq(PAD).all()


def test_features_are_stored_once_and_standardised_by_training_images():
    x = torch.randn(6, 3, 2, 2, generator=generator("bank")).half()
    bank = Bank(x, torch.arange(4))
    rows = bank.take(torch.tensor([5, 5, 1]))
    assert rows.shape == (3, 4, 3)
    train = x[:4].double()
    mean, std = train.mean((0, 2, 3)), train.std((0, 2, 3), correction=0)
    segment = (x[5].double()[:, 0, 1] - mean) / std
    torch.testing.assert_close(rows[0, 1].double(), segment, atol=1e-5, rtol=1e-5)
    assert torch.equal(rows[0], rows[1])


def test_the_hybrid_goes_on_from_soft_weights(tmp_path):
    run = start_experiment("captions", "smoke", {"seeds": 1, "soft_epochs": 2}, out=tmp_path / "a")
    settings = settings_for("captions", "smoke", {"seeds": 1, "soft_epochs": 2})
    records = run.records()
    switch = 2 * records["soft"].meta["per_epoch"]
    at = records["soft"].t.tolist().index(switch)
    pool = pool_of(settings)
    model = model_for(settings, pool, 0)
    model.load_state_dict(load_checkpoint(tmp_path / "a" / "soft" / "switch-0.safetensors")[0])
    measured = CaptionEvaluation.of(settings, pool).measure(model, "soft", 0)
    assert float(measured["loss"]) == pytest.approx(records["soft"].values["loss"][at, 0])
    top = CaptionEvaluation.of(settings, pool).measure(model, "top", 0)
    assert float(top["loss"]) == pytest.approx(records["hybrid"].values["loss"][0, 0])


class Killed(Exception):
    """What stops a training in a test."""


@pytest.mark.parametrize("rule", ["soft", "hard"])
def test_a_killed_training_resumes_with_the_same_numbers(rule, tmp_path, monkeypatch):
    monkeypatch.setattr("foveate.text.loop.SAVE_EVERY", 0.0)
    settings = settings_for("captions", "smoke", {"seeds": 1, "soft_epochs": 3, "hard_epochs": 1})
    for folder in ("whole", "killed"):
        (tmp_path / folder / rule).mkdir(parents=True)
        (tmp_path / folder / "soft").mkdir(exist_ok=True)
    whole = train_part(settings, rule, tmp_path / "whole" / rule / "c", lambda *_: None)
    file = tmp_path / "killed" / rule / "c"
    done = CaptionTraining.loss

    def until_five(lesson, step):
        if step == 6:
            raise Killed
        return done(lesson, step)

    with monkeypatch.context() as patch:
        patch.setattr(CaptionTraining, "loss", until_five)
        with pytest.raises(Killed):
            train_part(settings, rule, file, lambda *_: None)
    resumed = train_part(settings, rule, file, lambda *_: None)
    for name, values in whole.values.items():
        np.testing.assert_array_equal(values, resumed.values[name], err_msg=name)


def test_marks():
    assert marks(USE, 3, "hybrid") == [0, 12]
    assert marks(USE, 3, "hard") == [0, 30, 60]
    assert marks(USE, 3, "soft") == [0, 30, 48, 60]


def test_the_baseline_follows_log_p_and_a_step_alone_decides_its_loss():
    pool = pool_of(USE)
    order = Epochs((pool.train.y != PAD).sum(-1).amax(-1), USE.batch, "captions", 0)
    losses = []
    for _ in range(2):
        model = model_for(USE, pool, 0)
        before = float(model.baseline)
        lesson = CaptionTraining(model, pool, "hard", order, 0, 0)
        losses.append(float(lesson.loss(2).detach()))
        after = float(model.baseline)
        assert before == pytest.approx(-np.log(len(pool.vocabulary)))
        assert 0 < abs(after - before) < 1
    assert losses[0] == losses[1]
    assert float(lesson.loss(3).detach()) != losses[0]


def test_soft_attention_learns_to_look_at_what_it_names(tmp_path):
    run = start_experiment("captions", "smoke", out=tmp_path / "a")
    soft = run.records()["soft"]
    assert soft.last("loss").mean() < 0.6 < soft.values["loss"][0].mean()
    assert cosine(soft, "reference", "full", "shuffled").low > 0
    assert "switch-0.safetensors" in [f.name for f in (tmp_path / "a" / "soft").iterdir()]


def test_bleu_of_captions_with_several_references():
    expected = [["a cat on a mat", "one cat"], ["a dog in the park now"]]
    assert bleu_of_captions(["a cat on a mat", "a dog in the park now"], expected) == pytest.approx(
        100
    )
    assert bleu_of_captions(["a cat on a mat", "a bird"], expected) < 60
    with pytest.raises(FoveateError, match="every caption needs a reference: got 1 and 2"):
        bleu_of_captions(["a"], expected)


def test_without_data_the_table_is_reported(monkeypatch):
    monkeypatch.setenv("FOVEATE_DATA", "/nowhere")
    result = reproduce("captions", "small")
    assert result["cells"] == []
    assert set(result["absent"]) == set(PUBLISHED.groups)
    assert "'coco_captions_boxes' are not here" in result["absent"]["MSCOCO"]
    with pytest.raises(FoveateError, match="must name at least one folder"):
        pool_of(Captions.scales["small"].model_copy(update={"sets": ()}))


def test_paper_scale_is_the_published_one():
    settings = Captions.scales["paper"]
    assert (settings.embed, settings.hidden, settings.attention) == (512, 512, 256)
    assert (settings.soft_epochs, settings.hard_epochs, settings.top) == (20, 5, (20, 10))
    assert Captions().seconds(USE) > 0


@pytest.mark.data
def test_the_stored_images_are_split_as_they_should_be():
    from foveate.studies.pvr22.captions.sources import unavailable_reason

    settings = Captions.scales["small"].model_copy(update={"image_side": 64})  # 50 times faster
    if unavailable_reason(settings) is not None:
        pytest.skip(str(unavailable_reason(settings)))
    pool = pool_of(settings)
    assert [len(s) for s in (pool.train, pool.validation, pool.test)] == [908, 200, 326]
    sides = [set(s.captioned.image_id.tolist()) for s in (pool.train, pool.validation, pool.test)]
    assert len(set.union(*sides)) == sum(map(len, sides))
    assert pool.bank.x.shape == (1434, 320, 2, 2)
    assert len(CaptionEvaluation.of(settings, pool).names.image) == 2287
    assert pool.photo(0).shape == (224, 224, 3)
