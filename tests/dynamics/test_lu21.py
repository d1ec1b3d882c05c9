import numpy as np
import pytest
from scipy.integrate import solve_ivp

from foveate.dynamics.lu21 import embedding_norm, relative_gap, topic_attention


@pytest.mark.parametrize("m", [1, 20, 500])
@pytest.mark.parametrize("q_norm", [0.3, 1.7])
def test_the_norm_solves_the_flow_whatever_drives_it(m: int, q_norm: float) -> None:
    """s' = ‖q‖² a(1−a)·νᵀh and ν' = a·h along any h(τ), here one that turns."""

    def h(tau: float) -> np.ndarray:
        return np.array([np.sin(3 * tau), 1.0, 0.5 * np.cos(tau)])

    def rates(tau: float, state: np.ndarray) -> np.ndarray:
        s, nu = state[0], state[1:]
        a = topic_attention(s, m)
        return np.concatenate([[q_norm**2 * a * (1 - a) * nu @ h(tau)], a * h(tau)])

    start = np.array([0.2, 0.3, -0.4, 0.1])
    t = np.linspace(0, 40, 9)
    path = solve_ivp(rates, (0, 40), start, rtol=1e-11, atol=1e-12, t_eval=t).y
    norm = np.linalg.norm(path[1:], axis=0)
    theory = embedding_norm(path[0], m, q_norm, start[0], norm[0])
    assert np.ptp(norm) > 0.05
    np.testing.assert_allclose(norm, theory, rtol=1e-8)


def test_from_zero_it_is_the_published_form() -> None:
    s, m, q = 2.5, 20, 0.8
    published = np.sqrt(2 * (s + np.exp(s) / m - 1 / m)) / q
    assert embedding_norm(s, m, q) == pytest.approx(published)


def test_a_score_below_what_any_embedding_allows_gives_zero() -> None:
    assert embedding_norm(-1.0, 20, 1.0, 0.0, 0.1) == 0.0
    assert embedding_norm(-0.001, 20, 1.0, 0.0, 0.1) == pytest.approx(0.0889, abs=1e-3)


def test_gap_is_relative_to_what_is_measured() -> None:
    np.testing.assert_allclose(relative_gap([2.0, 0.0], [1.5, 0.0]), [0.25, 0.0])


def test_attention_of_a_score() -> None:
    assert topic_attention(0.0, 20) == pytest.approx(1 / 21)
    assert topic_attention(np.log(20.0), 20) == pytest.approx(0.5)
