"""The direct classifier: training, findings in both directions, and its figure."""

import numpy as np
import pytest

from foveate.charts.render import to_svg
from foveate.jobs.experiment import experiment_charts, start_experiment
from foveate.records.record import Record
from foveate.studies.pvr22.direct_classifier import (
    CLAIM_SET,
    GENERATED,
    DirectClassifier,
    part_name,
)


def _record(train=1.0, test=0.35, classes=3):
    final = {"train_accuracy": np.full(3, train), "test_accuracy": np.full(3, test)}
    return Record(np.zeros(1), {}, final, {"classes": classes})


def _verdict(*sets, **changed):
    settings = DirectClassifier.scales["small"]
    records = {part_name(name, n): _record(**changed) for name in sets for n in settings.n}
    [finding] = DirectClassifier().findings(settings, records)
    assert finding.claim == "pvr22:C5"
    return finding.verdict


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [({}, "holds"), ({"test": 0.49}, "holds in part"), ({"train": 0.9}, "holds in part")],
)
def test_it_must_fit_the_training_mosaics_and_fail_on_others(changed, verdict):
    assert _verdict(*GENERATED, CLAIM_SET, **changed) == verdict


def test_without_images_the_claim_is_not_testable():
    assert _verdict(*GENERATED) == "not testable here"


def test_a_run_measures_training_and_held_out_mosaics(tmp_path):
    changes = {"sets": ("error-mode-1",), "n": (60,), "epochs": 30, "lr": 0.02}
    run = start_experiment("direct-classifier", "smoke", changes, out=tmp_path / "run")
    record = run.records()["error-mode-1-60"]
    assert record.final["train_accuracy"].shape == record.final["test_accuracy"].shape == (2,)
    assert record.final["train_accuracy"].min() > 0.9
    assert record.final["test_accuracy"] == pytest.approx(record.last("accuracy"))
    assert "60 training mosaics" in to_svg(experiment_charts(run)["accuracy"])
