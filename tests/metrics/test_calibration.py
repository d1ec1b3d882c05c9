import numpy as np
import pytest

from foveate.metrics.calibration import (
    calibrated,
    calibration_error,
    cross_calibrated,
    temperature,
)


def test_the_temperature_of_sharpened_probabilities_is_found():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 20_000)
    y = np.array([rng.choice(3, p=row) for row in p])
    for t in (0.5, 1.0, 2.0):
        assert temperature(calibrated(p, 1 / t), y) == pytest.approx(t, rel=0.05)
    assert calibration_error(p, y) < 0.02
    assert calibration_error(calibrated(p, 0.4), y) > 0.1


def test_a_model_without_mistakes_keeps_some_doubt():
    y = np.arange(10) % 2
    p = np.eye(2)[y] * 0.8 + 0.1
    assert 0.3 < temperature(p, y) < 1.0


def test_calibration_error_matches_manual_computation():
    p = np.array([[0.95, 0.05], [0.92, 0.08], [0.35, 0.65], [0.62, 0.38]])
    y = np.array([0, 1, 1, 0])
    expected = 2 / 4 * abs(0.5 - 0.935) + 2 / 4 * abs(1.0 - 0.635)
    assert calibration_error(p, y) == pytest.approx(expected)


def test_one_sure_mistake_is_not_overlooked():
    """A probability of 1e-25 for the truth has no slope once it is cut off; it must not be."""
    p = np.array([[1 - 1e-25, 1e-25], [0.9, 0.1], [0.1, 0.9]])
    assert temperature(p, np.array([1, 0, 1])) > 5


def test_each_half_of_the_bags_is_calibrated_on_the_other():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), 200)
    y = np.array([rng.choice(3, p=row) for row in p])
    result = cross_calibrated(p, y)
    np.testing.assert_allclose(result[::2], calibrated(p[::2], temperature(p[1::2], y[1::2])))
    np.testing.assert_allclose(result[1::2], calibrated(p[1::2], temperature(p[::2], y[::2])))
    assert calibration_error(cross_calibrated(calibrated(p, 0.3), y), y) < calibration_error(
        calibrated(p, 0.3), y
    )
