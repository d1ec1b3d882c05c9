import numpy as np
import pytest

from foveate.errors import FoveateError
from foveate.metrics.focus import quadrants, saif
from foveate.metrics.metric import (
    METRICS,
    Evaluation,
    curve_metrics,
    metric,
    summarise,
    summary_metrics,
)
from foveate.records.record import Record


@pytest.fixture
def evaluation():
    """Two members, four bags of three segments, two classes."""
    rng = np.random.default_rng(0)
    s = rng.normal(size=(2, 4, 3))
    alpha = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    logits = rng.normal(size=(2, 4, 2))
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    z = np.zeros((2, 4, 3), bool)
    z[..., 0] = True
    return Evaluation(s, alpha, alpha, log_p, rng.random((2, 4)), np.array([0, 1, 0, 1]), z)


@pytest.fixture
def registered():
    """Names registered here are removed again."""
    before = set(METRICS.names())
    yield
    for name in set(METRICS.names()) - before:
        del METRICS._items[name]


def test_recorded_metrics_are_those_of_the_functions_they_name(evaluation):
    values = {name: item.compute(evaluation) for name, item in METRICS.items()}
    np.testing.assert_array_equal(values["saif"], saif(evaluation.a_z, evaluation.p_y))
    for name, share in quadrants(evaluation.focused, evaluation.correct).items():
        np.testing.assert_array_equal(values[name], share)
    np.testing.assert_array_equal(values["accuracy"], evaluation.correct.mean(-1))
    assert values["heat"].shape == (2, 5, 5)


def test_probability_of_the_label_matches_manual_computation(evaluation):
    expected = [[np.exp(evaluation.log_p[k, i, i % 2]) for i in range(4)] for k in range(2)]
    np.testing.assert_array_equal(evaluation.p_y, expected)


def test_tables_and_curves_show_accuracy_ft_and_saif():
    names = ["accuracy", "ft", "saif"]
    assert [item.name for item in summary_metrics()] == names
    assert [item.name for item in curve_metrics()] == names
    assert [item.heading for item in summary_metrics()] == ["Accuracy, %", "FT, %", "SAIF, %"]


def test_every_metric_is_described():
    for _, item in METRICS.items():
        assert item.description.endswith(".")
        assert item.title


def test_a_new_metric_is_summarised_in_its_unit(registered):
    @metric("top", title="Largest weight", unit="nats", summary=True)
    def top(evaluation):
        """Largest weight."""
        return evaluation.alpha.max(-1).mean(-1)

    values = {"top": np.array([[1.0, 3.0]]), "accuracy": np.array([[0.5, 0.7]])}
    meta = {"seeds": [0, 1], "cpu_seconds": 4.0, "classifier_calls": [10, 20]}
    summary = summarise(Record(np.zeros(1), values, {}, meta))
    assert summary["top"].mean == 2.0
    assert summary["accuracy"].mean == pytest.approx(60.0)
    assert summary["cpu_seconds"] == 2.0
    assert "ft" not in summary


def test_a_name_is_registered_once(registered):
    with pytest.raises(FoveateError, match="'accuracy' is registered twice"):
        metric("accuracy", title="again")(lambda evaluation: evaluation.loss)
