"""Topic words: findings in both directions, from records made by hand."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from foveate.dynamics.lu21 import embedding_norm
from foveate.records.record import Record
from foveate.studies.lu21.topic_words import SYNTHETIC_RUNS, TopicWords, TopicWordsSettings
from foveate.studies.lu21.topic_words.findings import (
    NO_SST,
    epochs_to_half,
    identity_gap,
    sst_gap,
    suppressed_words,
)
from foveate.studies.lu21.topic_words.reviews import REVIEWS, TRACED_SENTENCE

USE = TopicWordsSettings(seeds=4, m=20, epochs=1000, ablation_epochs=1000)


# Findings


def made_records(settings: TopicWordsSettings = USE) -> dict[str, Record]:
    """Records in which every claim holds."""
    t = np.linspace(0, 1000, 21)
    seeds, rng = settings.seeds, np.random.default_rng(0)
    tau = (t / 1000)[:, None, None]
    noise = 1 + 0.01 * rng.random((seeds, 8))
    q_norm = np.ones((21, seeds))

    def record(height: float, half: int, **changes) -> Record:
        s = height * tau * noise
        values = {
            "s": s,
            "norm": embedding_norm(s, settings.m, 1.0, 0.0, 1e-6),
            "q_norm": q_norm,
            "loss": 1.4 * 0.01 ** np.repeat(tau[..., 0], seeds, 1),
            "a_z": 0.05 + 0.9 * np.repeat(tau[..., 0], seeds, 1),
            "accuracy": np.ones((21, seeds)),
        }
        losses = np.where(np.arange(1000) < half, 1.4, 0.1)[None].repeat(seeds, 0)
        return Record(t, {**values, **changes}, {"losses": losses}, {"lr": 0.1})

    fall = 0.3 * tau * (tau - 0.3) * np.ones((seeds, 8))
    off = {"norm": 1.5 * embedding_norm(2 * tau * noise, settings.m, 1.0)}
    far = {"a_z": np.full((21, seeds), 0.97), "loss": np.full((21, seeds), 1e-9)}
    return {
        "fc": record(3, 100),
        "tc": record(2, 100),
        "tl": record(1, 100),
        "fc-query": record(2, 100, **off),
        "fc-limit": record(3, 100, **far),
        "full": record(1, 200, s=fall, norm=0.3 + fall),
        "kf": record(1, 400),
        "ef": record(1, 2000),
        **{name: review_record() for name in REVIEWS},
    }


def review_record(rise: float = 0.3, gap: float = 0.05) -> Record:
    t, seeds, words = np.arange(0, 101, 10), 2, 100
    tau = (t / 100)[:, None, None] * np.ones((1, seeds, words))
    s, m = tau * np.linspace(0.5, 2, words), np.full(tau.shape, 17.0)
    values = {
        "top": np.zeros(tau.shape, int),
        "top_s": s,
        "top_m": m,
        "top_norm": embedding_norm(s, m, 1.0) / (1 - gap),
        "top_purity": 0.5 + rise * tau,
        "top_count": np.full(tau.shape, 9.0),
        "s": s[..., :5],
        "norm": s[..., :5],
        "alpha": np.full((len(t), seeds, 12), 1 / 12),
        "q_norm": np.ones((len(t), seeds)),
        "loss": 1 - 0.5 * tau[..., 0],
        "validation_loss": 1 - 0.5 * tau[..., 0],
        "accuracy": 0.5 + 0.3 * tau[..., 0],
    }
    meta = {"lr": 1.0, "traced": TRACED_SENTENCE.split(), "made_up": False}
    return Record(t, values, {}, meta)


def changed(name: str, **values) -> dict[str, Record]:
    records = made_records()
    old = records[name]
    return {**records, name: replace(old, values={**old.values, **values})}


def verdicts(records: Mapping[str, Record]) -> dict[str, str]:
    return {f.claim[5:]: f.verdict for f in TopicWords().findings(USE, records)}


def test_all_claims_hold_in_records_constructed_to_meet_them() -> None:
    records = made_records()
    result = TopicWords().findings(USE, records)
    assert [f.claim for f in result] == list(TopicWords.criteria)
    assert {f.verdict for f in result} == {"holds"}
    figures = TopicWords().figures(USE, records)
    for finding in result:
        assert finding.figure in figures
        assert finding.low <= finding.effect <= finding.high
        assert finding.summary.endswith(".")


def test_a_gap_in_one_classifier_is_in_part_and_in_all_is_none() -> None:
    records = made_records()
    bad = {name: records[name].values["norm"] * 1.015 for name in ("fc", "tc", "tl")}
    assert verdicts(changed("tl", norm=bad["tl"]))["C1"] == "holds in part"
    for name in bad:
        records[name] = changed(name, norm=bad[name])[name]
    assert verdicts(records)["C1"] == "does not hold"


def test_a_gap_on_the_way_counts_once_the_score_is_seen() -> None:
    norm = made_records()["fc"].values["norm"].copy()
    norm[10] *= 1.03
    assert verdicts(changed("fc", norm=norm))["C1"] == "holds in part"
    norm = made_records()["tl"].values["norm"].copy()
    norm[1] *= 1.5  # the score is .05 there
    assert verdicts(changed("tl", norm=norm))["C1"] == "holds"


def test_convergence_in_both_directions() -> None:
    low, high = np.full((21, 4), 0.4), np.full((21, 4), 0.2)
    assert verdicts(changed("fc-limit", a_z=low))["C2"] == "holds in part"
    assert verdicts(changed("fc", loss=high))["C2"] == "holds in part"
    records = changed("fc", loss=high)
    records["fc-limit"] = changed("fc-limit", a_z=low)["fc-limit"]
    assert verdicts(records)["C2"] == "does not hold"


def test_capacity_in_both_directions() -> None:
    s = made_records()["tl"].values["s"]
    assert verdicts(changed("tl", s=2.5 * s))["C3"] == "holds in part"
    assert verdicts(changed("tl", s=4 * s))["C3"] == "does not hold"


def test_promotion_in_both_directions() -> None:
    def with_half(**half: int) -> str:
        records = made_records()
        for name, at in half.items():
            losses = np.where(np.arange(1000) < at, 1.4, 0.1)[None].repeat(4, 0)
            records[name] = replace(records[name], final={"losses": losses})
        return verdicts(records)["C4"]

    assert with_half(kf=150) == "holds in part"
    assert with_half(kf=150, ef=200) == "does not hold"
    never = replace(made_records()["kf"], final={"losses": np.full((4, 1000), 1.4)})
    assert epochs_to_half(never).tolist() == [1001.0] * 4


def test_suppression_in_both_directions() -> None:
    full = made_records()["full"].values
    s, norm = full["s"].copy(), full["norm"].copy()
    s[:, 1:] = norm[:, 1:] = 1
    assert verdicts(changed("full", s=s, norm=norm))["C5"] == "holds in part"
    assert verdicts(changed("full", norm=np.abs(full["s"]) + 0.3))["C5"] == "does not hold"
    late = np.where(np.arange(21)[:, None, None] > 5, full["s"] - 1, 0.0)
    assert not suppressed_words(changed("full", s=late, norm=0.3 + late)["full"]).any()


def test_reviews_in_both_directions() -> None:
    records = made_records()
    assert sst_gap(records["sst2-fc"]) == pytest.approx(0.05)
    flat = {**records, "sst5-tc": review_record(rise=0.04)}
    assert verdicts(flat)["C6"] == "holds in part"
    wide = {**records, **{name: review_record(gap=0.2) for name in REVIEWS}}
    assert verdicts(wide)["C6"] == "holds in part"  # purer everywhere
    neither = {**records, **{name: review_record(0.0, 0.2) for name in REVIEWS}}
    assert verdicts(neither)["C6"] == "does not hold"


def test_without_sst_the_finding_states_only_its_absence() -> None:
    records = {name: made_records()[name] for name in SYNTHETIC_RUNS}
    result = TopicWords().findings(USE, records)
    assert "lu21:C6" not in {f.claim for f in result}
    assert result[0].summary.endswith(NO_SST)
    assert set(TopicWords().figures(USE, records)) == {f.figure for f in result}


def test_parts_of_sst_need_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def parts(**changes) -> set[str]:
        return set(TopicWords().parts(USE.model_copy(update=changes)))

    monkeypatch.setenv("FOVEATE_DATA", str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    assert parts() == set(SYNTHETIC_RUNS)
    (tmp_path / "sst").mkdir()
    assert parts() == {*SYNTHETIC_RUNS, *REVIEWS}
    assert parts(sst_seeds=0) == set(SYNTHETIC_RUNS)


def test_the_gap_is_measured_from_each_start() -> None:
    s = np.array([[[0.2]], [[1.2]]])
    norm0 = 0.3
    norm = np.stack([np.full((1, 1), norm0), embedding_norm(1.2, 5, 0.7, 0.2, norm0)[None, None]])
    record = Record(np.arange(2), {"s": s, "norm": norm, "q_norm": np.full((2, 1), 0.7)})
    np.testing.assert_allclose(identity_gap(record, 5), 0, atol=1e-12)


def test_cells_are_the_numbers_behind_the_findings():
    records = made_records()
    cells = {c[:3]: c for c in TopicWords().cells(USE, records)}
    gap = cells["Made-up sentences", "Attn-FC", "largest gap of the identity %"]
    assert gap.mean == pytest.approx(100 * identity_gap(records["fc"], USE.m)[-1].max(-1).mean())
    assert gap.mean < TopicWords.published.numbers[gap[:3]] == 0.25
    half = cells["Ablations", "keys frozen", "epochs to half the loss"]
    assert half.mean == pytest.approx(epochs_to_half(records["kf"]).mean())
    assert (half.seeds, len(half.values)) == (4, 4)
    without_reviews = {k: v for k, v in records.items() if k not in REVIEWS}
    assert any(group == "SST" for group, *_ in cells)
    assert not any(c.group == "SST" for c in TopicWords().cells(USE, without_reviews))
    assert TopicWords().differs(USE, records) == []
