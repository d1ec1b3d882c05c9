from dataclasses import replace

import numpy as np
import pytest

from foveate.metrics.focus import focus_and_prediction
from foveate.records.record import Record
from foveate.studies.vr23.signatures import NETS, RULES, Signatures, SignatureSettings

USE = SignatureSettings(seeds=6, lengths=(5,))


def record(a_z, p_y, saif=None, accuracy=0.98):
    """A record in which every bag of seed k has these scores, spread a little by seed."""
    seeds, n = 6, 40
    shift = 0.001 * np.arange(seeds)[:, None]
    a = np.broadcast_to(np.resize(a_z, n), (seeds, n)) - shift
    p = np.broadcast_to(np.resize(p_y, n), (seeds, n)) - shift
    alpha = np.stack([a, 1 - a], -1)
    z = np.zeros((1, n, 2), bool)
    z[..., 0] = True
    final = {
        "alpha": alpha,
        "z": z,
        "y": np.zeros((1, n), int),
        "log_p": np.log(np.stack([p, 1 - p], -1)),
    }
    level = np.mean((a >= 0.8) & (p >= 0.8), 1) if saif is None else saif + 0.001 * np.arange(seeds)
    values = {"saif": level[None], "accuracy": np.full((1, seeds), accuracy)}
    return Record(np.zeros(1), values, final, {})


def as_the_paper_says():
    return {
        "soft-m5": record([0.5, 0.9], [0.95], saif=0.5),
        "hard-m5": record([0.05, 0.95], [0.6, 0.9], saif=0.45),
        "lvml-m5": record([0.95], [0.95], saif=0.9),
        "hybrid-m5": record([0.9], [0.9], saif=0.7),
        "random-matched-m5": record([0.9], [0.9], saif=0.6),
    }


def verdicts(records):
    return {f.claim: f.verdict for f in Signatures().findings(USE, records)}


def test_records_as_in_the_paper_hold():
    assert set(verdicts(as_the_paper_says()).values()) == {"holds"}


def test_the_opposite_does_not():
    records = as_the_paper_says()
    flipped = {
        "soft-m5": record([0.95], [0.5], saif=0.9),
        "hard-m5": record([0.5], [0.95], saif=0.9),
        "lvml-m5": record([0.5], [0.5], saif=0.4),
        "hybrid-m5": record([0.9], [0.9], saif=0.3, accuracy=0.9),
        "random-matched-m5": record([0.9], [0.9], saif=0.6),
    }
    assert flipped.keys() == records.keys()
    assert set(verdicts(flipped).values()) == {"contradicted"}


def test_focus_and_prediction_reads_the_true_class():
    a_z, p_y = focus_and_prediction(record([0.3], [0.8]))
    assert a_z[0, 0] == pytest.approx(0.3)
    assert p_y[0, 0] == pytest.approx(0.8)


def test_a_gain_in_saif_that_costs_accuracy_holds_in_part():
    records = {**as_the_paper_says(), "hybrid-m5": record([0.9], [0.9], saif=0.7, accuracy=0.9)}
    assert verdicts(records)["vr23:C16"] == "holds in part"
    assert len(RULES) == 5


def test_one_seed_decides_nothing():
    records = {
        name: replace(
            r,
            values={k: v[:, :1] for k, v in r.values.items()},
            final={k: v if k in "yz" else v[:1] for k, v in r.final.items()},
        )
        for name, r in as_the_paper_says().items()
    }
    result = verdicts(records)
    assert {result[f"vr23:{k}"] for k in ("C1", "C2", "C3", "C21")} == {"underpowered"}


def test_a_dead_seed_enters_no_comparison_and_is_counted():
    records = as_the_paper_says()
    s = np.random.default_rng(0).normal(size=(6, 40, 2))
    s[2] = 0.0
    soft = records["soft-m5"]
    values = {**soft.values, "saif": np.where(np.arange(6) == 2, 9.0, soft.values["saif"])}
    meta = {"seeds": list(range(6))}
    dead = replace(soft, values=values, final={**soft.final, "s": s}, meta=meta)
    result = {f.claim: f for f in Signatures().findings(USE, {**records, "soft-m5": dead})}
    assert result["vr23:C16"].effect == pytest.approx(20.0)
    assert "Dead seeds, in no comparison: soft-m5 1." in result["vr23:C16"].summary


def test_paper_scale_is_figure_1_on_pixels():
    paper = Signatures.scales["paper"]
    assert (paper.data, paper.n, paper.lengths, paper.epochs) == ("cifar10", 10_000, (5,), 150)
    assert (paper.optimizer, paper.lr, paper.batch) == ("sgd", 0.05, 256)
    assert NETS[paper.data] == "vr23"
