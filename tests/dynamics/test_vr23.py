"""The flows of the linear-orthogonal setting against autograd, an integrator and descent itself."""

import itertools
import time

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from foveate.dynamics import vr23
from foveate.errors import FoveateError

PARADIGMS = vr23.PARADIGMS
each_paradigm = pytest.mark.parametrize("paradigm", PARADIGMS)
drawn = settings(deadline=None, database=None, max_examples=25)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads only wait for each other on tensors this small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# --- the real model: explicit weights, explicit mosaics, the losses of Sec. 2.3 ------------------


def population(m, C):
    """Every mosaic once: label, place of the foreground, and signs of the background segments."""
    background = torch.zeros(C + 1, dtype=torch.float64)
    background[C] = 0.7
    rows, labels, positions = [], [], []
    for y, z, signs in itertools.product(
        range(C), range(m), itertools.product((-1, 1), repeat=m - 1)
    ):
        segments = [sign * background for sign in signs]
        segments.insert(z, torch.eye(C + 1, dtype=torch.float64)[y])
        rows.append(torch.stack(segments))
        labels.append(y)
        positions.append(z)
    return torch.stack(rows), torch.tensor(labels), torch.tensor(positions)


def mosaic_loss(paradigm, attention, x, y, w):
    """The paper's loss of each mosaic: attention (N, m), x (N, m, d), y (N,), w (C, d) -> (N,)."""
    if paradigm == "soft":
        mixed = torch.einsum("nm,nmd->nd", attention, x)
        return -(mixed @ w.T).log_softmax(-1).gather(1, y[:, None])[:, 0]
    of_label = (x @ w.T).softmax(-1)[torch.arange(len(y)), :, y]
    if paradigm == "hard":
        return -(attention * of_label.log()).sum(1)
    return -(attention * of_label).sum(1).log()


def fixed_attention(alpha, x, z):
    m = x.shape[1]
    attention = ((1 - alpha) / (m - 1)).expand(x.shape[:2]).clone()
    attention[torch.arange(len(z)), z] = alpha
    return attention


def directions(C):
    """The theorem's directions of w and u: (C, C + 1) and (C + 1,)."""
    s = torch.eye(C, C + 1, dtype=torch.float64)
    return s - s.mean(0), s.sum(0)


def weights(mu, nu, C):
    along_w, along_u = directions(C)
    return (mu * along_w).requires_grad_(), (nu * along_u).requires_grad_()


sizes = {"m": st.integers(2, 4), "C": st.integers(2, 5)}


@each_paradigm
@drawn
@given(mu=st.floats(-2, 6), nu=st.floats(-2, 6), **sizes)
def test_rates_are_the_whole_gradient_of_the_real_loss(paradigm, mu, nu, m, C):
    """Eqs (1)-(6): no component of the gradient leaves the theorem's two directions."""
    x, y, _ = population(m, C)
    w, u = weights(mu, nu, C)
    loss = mosaic_loss(paradigm, (x @ u).softmax(-1), x, y, w).mean()
    to_w, to_u = torch.autograd.grad(loss, (w, u))
    alpha = vr23.share(nu, m)
    mu_dot, nu_dot = vr23.rates(paradigm, mu, alpha, C)
    along_w, along_u = directions(C)
    torch.testing.assert_close(-to_w, float(mu_dot) * along_w, rtol=0, atol=1e-12)
    torch.testing.assert_close(-to_u, float(nu_dot) * along_u, rtol=0, atol=1e-12)
    assert vr23.losses(paradigm, mu, alpha, C) == pytest.approx(loss.item(), rel=1e-12)


@each_paradigm
@drawn
@given(mu=st.floats(-2, 8), alpha=st.floats(0, 1), **sizes)
def test_fixed_focus_rate_loss_and_incentives_are_those_of_the_real_loss(paradigm, mu, alpha, m, C):
    x, y, z = population(m, C)
    w, _ = weights(mu, 0.0, C)
    focus = torch.tensor(alpha, dtype=torch.float64, requires_grad=True)

    def real(at):
        return mosaic_loss(paradigm, fixed_attention(at, x, z), x, y, w).mean()

    loss = real(focus)
    to_w, to_alpha = torch.autograd.grad(loss, (w, focus))
    mu_dot, _ = vr23.rates(paradigm, mu, alpha, C)
    torch.testing.assert_close(-to_w, float(mu_dot) * directions(C)[0], rtol=0, atol=1e-12)
    assert vr23.losses(paradigm, mu, alpha, C) == pytest.approx(loss.item(), abs=1e-12)
    assert vr23.incentive(paradigm, mu, alpha, C) == pytest.approx(-to_alpha.item(), abs=1e-11)
    gain = (loss - real((focus + 0.01).clamp(max=1))).item()
    published = vr23.finite_difference_incentive(paradigm, mu, alpha, C)
    assert published == pytest.approx(gain, abs=1e-12)


def test_published_incentive_vanishes_at_full_focus_where_the_exact_one_does_not():
    for paradigm in PARADIGMS:
        assert vr23.finite_difference_incentive(paradigm, 3.0, 1.0, 20) == 0
        assert vr23.incentive(paradigm, 3.0, 1.0, 20) > 0.5


@each_paradigm
def test_descent_on_the_real_loss_nears_the_flow_linearly_in_the_step(paradigm):
    m, C, horizon = 3, 4, 24.0
    x, y, _ = population(m, C)
    mu, nu = vr23.exact(paradigm, horizon, m, C)
    end_w, end_u = (value.detach() for value in weights(float(mu), float(nu), C))
    errors = []
    for steps in (40, 80, 160, 320):
        w, u = weights(0.0, 0.0, C)
        for _ in range(steps):
            loss = mosaic_loss(paradigm, (x @ u).softmax(-1), x, y, w).mean()
            to_w, to_u = torch.autograd.grad(loss, (w, u))
            with torch.no_grad():
                w -= horizon / steps * to_w
                u -= horizon / steps * to_u
        errors.append(max((w - end_w).abs().max().item(), (u - end_u).abs().max().item()))
    ratios = np.divide(errors[:-1], errors[1:])
    assert errors[-1] < 0.01 * float(mu)
    np.testing.assert_allclose(ratios, 2, atol=0.25)
    assert abs(ratios[-1] - 2) < 0.05


# --- the exact solution -------------------------------------------------------------------------


@each_paradigm
@drawn
@given(
    m=st.integers(2, 2000),
    C=st.integers(2, 2000),
    log_horizon=st.floats(-4, 7),
    start=st.just((0.0, 0.0)) | st.tuples(st.floats(-3, 3), st.floats(-3, 3)),
)
def test_exact_equals_numerical(paradigm, m, C, log_horizon, start):
    t = 10**log_horizon * np.array([0, 1e-3, 0.01, 0.1, 0.3, 0.6, 1])
    result = vr23.exact(paradigm, t, m, C, start)
    expected = vr23.numerical(paradigm, t, m, C, start=start)
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)


@each_paradigm
@pytest.mark.parametrize(("m", "C"), [(100, 20), (2000, 2), (10**6, 2)])
def test_exact_equals_numerical_to_the_last_digits_of_either(paradigm, m, C):
    """Through the sharpest rise of alpha, and on to times that leave 1 − alpha no digits."""
    t = [1e4, 1.1e4, 1e6, 6e6, 1e9, 1e12]
    result = vr23.exact(paradigm, t, m, C)
    np.testing.assert_allclose(result, vr23.numerical(paradigm, t, m, C), rtol=3e-11)


@each_paradigm
@drawn
@given(alpha=st.floats(0, 1), C=st.integers(2, 2000), log_horizon=st.floats(-4, 7))
def test_exact_fixed_equals_numerical(paradigm, alpha, C, log_horizon):
    t = 10**log_horizon * np.array([0, 0.01, 0.1, 0.4, 1])
    result = vr23.exact_fixed(paradigm, t, alpha, C)
    expected, nu = vr23.numerical(paradigm, t, 20, C, alpha, start=(0.0, 1.5))
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)
    assert (nu == 1.5).all()


@pytest.mark.parametrize(
    ("paradigm", "mu", "nu"),
    [("soft", 6.31401, 5.54314), ("hard", 5.75676, 6.81206), ("lvml", 6.32938, 6.16296)],
)
def test_reference_values(paradigm, mu, nu):
    assert vr23.exact(paradigm, 1000.0, 20, 20) == (
        pytest.approx(mu, abs=6e-6),
        pytest.approx(nu, abs=6e-6),
    )


@each_paradigm
def test_classifier_potential_is_the_integral_of_the_rates_ratio(paradigm):
    """F' = nu_dot / ((1 − alpha) mu_dot) at any alpha; both branches and the seam between them."""
    for C, mu in itertools.product((2, 20, 10**6), (-2.5, 1e-7, 0.4, 1 - 1e-9, 1 + 1e-9, 6.0)):

        def ratio(x, C=C):
            mu_dot, nu_dot = vr23.rates(paradigm, x, 0.3, C)
            return nu_dot / (0.7 * mu_dot)

        expected, _ = quad(ratio, 0, mu, epsabs=0, epsrel=1e-11)
        assert vr23.classifier_potential(paradigm, mu, C) == pytest.approx(
            expected, rel=1e-10, abs=0
        )


@each_paradigm
def test_the_integrated_flow_keeps_the_first_integral(paradigm):
    m, C = 30, 12
    mu, nu = vr23.numerical(paradigm, np.linspace(0, 2000, 40), m, C, start=(0.3, -0.8))
    conserved = vr23.focus_potential(nu, m) - vr23.classifier_potential(paradigm, mu, C)
    assert vr23.focus_potential(nu[-1], m) > 10  # the terms do move, by far more than their sum
    np.testing.assert_allclose(conserved, conserved[0], atol=1e-8)


@pytest.mark.parametrize("m", [2, 3, 20, 10**6, 10**12])
def test_inverted_potential_is_relatively_exact(m):
    value = np.logspace(-40, 12, 500)
    nu = vr23.invert_potential(value, m)
    np.testing.assert_allclose(vr23.focus_potential(nu, m), value, rtol=1e-13)


EXTREMES = list(itertools.product((2, 10**6), (2, 10**6)))


@each_paradigm
@pytest.mark.parametrize(("m", "C"), EXTREMES)
def test_extreme_sizes_solve_their_own_equations(paradigm, m, C):
    t = np.logspace(-9, 9, 60)
    step = 1e-5
    mu, nu = vr23.exact(paradigm, t, m, C)
    assert np.isfinite([mu, nu]).all()
    assert (np.diff(mu) > 0).all()
    assert (np.diff(nu) > 0).all()
    np.testing.assert_allclose(
        vr23.focus_potential(nu, m), vr23.classifier_potential(paradigm, mu, C), rtol=1e-12
    )
    after = vr23.exact(paradigm, t * np.exp(step), m, C)
    before = vr23.exact(paradigm, t * np.exp(-step), m, C)
    by_differences = (np.array(after) - before) / (2 * step * t)
    by_rates = vr23.rates(paradigm, mu, vr23.share(nu, m), C, vr23.rest(nu, m))
    np.testing.assert_allclose(by_differences, by_rates, rtol=2e-6)


@each_paradigm
@pytest.mark.parametrize("alpha", [0.0, 1e-6, 1e-3, 0.5, 1.0])
def test_extreme_fixed_focus_solves_its_own_equation(paradigm, alpha):
    t = np.logspace(-9, 10, 60)
    step = 1e-5
    for C in (2, 10**6):
        mu = vr23.exact_fixed(paradigm, t, alpha, C)
        after = vr23.exact_fixed(paradigm, t * np.exp(step), alpha, C)
        before = vr23.exact_fixed(paradigm, t * np.exp(-step), alpha, C)
        by_differences = (after - before) / (2 * step * t)
        np.testing.assert_allclose(
            by_differences, vr23.rates(paradigm, mu, alpha, C)[0], rtol=2e-6, atol=0
        )
        assert (mu == 0).all() if alpha == 0 else (np.diff(mu) > 0).all()


@pytest.mark.parametrize("alpha", [0.2, 0.6, 1.0])
def test_fixed_focus_losses_reach_their_limits_from_one_slope(alpha):
    C = 20
    curves = vr23.flow(5, C, [0, 1e-6, 1e12], alpha)
    limits = {
        "soft": 0,
        "hard": (1 - alpha) * np.log(C),
        "lvml": -np.log(alpha + (1 - alpha) / C),
    }
    for paradigm, limit in limits.items():
        loss = curves[paradigm].loss
        assert loss[2] == pytest.approx(limit, abs=1e-9)
        assert loss[2] > limit
        assert loss[0] == pytest.approx(np.log(C))
        assert (loss[1] - loss[0]) / 1e-6 == pytest.approx(-(alpha**2) * (C - 1) / C**2, rel=1e-4)


def test_losses_keep_their_digits_near_zero_and_for_many_classes():
    """Where 1 − alpha or Z would cancel, a series of the loss is the reference."""
    tiny = 1e-20
    mu = np.log(1e18)
    beta_gap = 19 / (1e18 + 19)
    expected = tiny * 19 / 20 + beta_gap
    assert vr23.losses("lvml", mu, 1.0, 20, tiny) == pytest.approx(expected, rel=1e-12, abs=0)
    nothing = vr23.losses("lvml", 0.0, 0.3, 1e12)
    assert nothing == pytest.approx(np.log(1e12), rel=1e-15)


# --- hybrid and the border ----------------------------------------------------------------------


def test_hybrid_is_soft_before_the_switch_and_flows_hard_after():
    m, C, switch = 20, 20, 600.0
    t = np.sort(np.append(np.linspace(0, 1500, 31), switch + 0.1))
    mu, nu = vr23.hybrid(t, m, C, switch)
    early = t <= switch
    np.testing.assert_allclose(
        (mu[early], nu[early]), vr23.exact("soft", t[early], m, C), rtol=1e-13
    )
    at_switch = tuple(float(value) for value in vr23.exact("soft", switch, m, C))
    expected = vr23.numerical("hard", t[~early] - switch, m, C, start=at_switch)
    np.testing.assert_allclose((mu[~early], nu[~early]), expected, rtol=1e-9)

    curves = vr23.flow(m, C, t, switch=switch)
    np.testing.assert_allclose(curves["hybrid"].loss[early], curves["soft"].loss[early], rtol=1e-12)
    late = curves["hybrid"]
    expected = -late.alpha * np.log(late.beta) + (1 - late.alpha) * np.log(C)
    np.testing.assert_allclose(late.loss[~early], expected[~early], rtol=1e-12)


@pytest.mark.parametrize(("m", "C", "horizon"), [(20, 20, 1000.0), (5, 3, 50.0), (20, 20, 100.0)])
def test_best_switch_beats_every_other_switch(m, C, horizon):
    ends = [vr23.hybrid([horizon], m, C, s) for s in np.linspace(0, horizon, 101)]
    hard_loss = [float(vr23.losses("hard", mu, vr23.share(nu, m), C)[0]) for mu, nu in ends]
    alpha = [float(vr23.share(nu, m)[0]) for _, nu in ends]

    switch, least = vr23.best_switch(m, C, horizon)
    assert least <= min(hard_loss) + 1e-13
    mu, nu = vr23.hybrid([horizon], m, C, switch)
    reached = vr23.losses("hard", mu, vr23.share(nu, m), C)[0]
    assert least == pytest.approx(float(reached), rel=1e-9)
    assert vr23.best_switch(m, C, horizon) == (switch, least)

    switch, most = vr23.best_switch(m, C, horizon, objective="alpha")
    assert most >= max(alpha) - 1e-13
    assert most == pytest.approx(float(vr23.share(vr23.hybrid([horizon], m, C, switch)[1], m)[0]))


def test_a_late_enough_switch_beats_both_pure_flows_and_a_short_one_stays_soft():
    switch, least = vr23.best_switch(20, 20, 1000.0)
    pure = vr23.flow(20, 20, [1000.0])
    read_hard = vr23.losses("hard", pure["soft"].mu, pure["soft"].alpha, 20)[0]
    assert 0 < switch < 1000
    assert least < 0.95 * min(pure["hard"].loss[0], read_hard)
    assert vr23.best_switch(20, 20, 100.0)[0] == 100.0


def test_flow_carries_the_exact_solution_and_its_shares():
    t = [0.0, 10.0, 10.0, 400.0]
    for paradigm, curve in vr23.flow(7, 5, t).items():
        mu, nu = vr23.exact(paradigm, t, 7, 5)
        np.testing.assert_array_equal(curve.mu, mu)
        np.testing.assert_array_equal(curve.nu, nu)
        np.testing.assert_allclose(curve.alpha, np.exp(nu) / (np.exp(nu) + 6), rtol=1e-14)
        np.testing.assert_allclose(curve.beta, np.exp(mu) / (np.exp(mu) + 4), rtol=1e-14)
        np.testing.assert_allclose(
            curve.loss, vr23.losses(paradigm, mu, curve.alpha, 5), rtol=1e-10
        )
    fixed = vr23.flow(7, 5, t, alpha=0.4)
    assert list(fixed) == list(PARADIGMS)
    assert all(curve.nu is None and (curve.alpha == 0.4).all() for curve in fixed.values())


def test_both_settings_of_figure_4_take_far_less_than_a_second():
    begin = time.perf_counter()
    for m, C, horizon in ((20, 20, 1000), (100, 1000, 400_000)):
        vr23.flow(m, C, np.linspace(0, horizon, 200))
    assert time.perf_counter() - begin < 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"m": 1}, "m must be from 2 to 1e+12 segments, got 1"),
        ({"C": 1}, "C must be from 2 to 1e+12 classes, got 1"),
        ({"C": float("nan")}, "C must be from 2 to 1e+12 classes, got nan"),
        ({"t": []}, "t must be a list of at least one time, got shape (0,)"),
        ({"t": 3.0}, "t must be a list of at least one time, got shape ()"),
        ({"t": [0, -1]}, "t[1] must be a time from 0 to 1e+100, got -1.0"),
        ({"t": [0, float("inf")]}, "t[1] must be a time from 0 to 1e+100, got inf"),
        ({"t": [0, float("nan")]}, "t[1] must be a time from 0 to 1e+100, got nan"),
        ({"t": [0, 2, 1]}, "t must be sorted, but t[2] = 1.0 comes after 2.0"),
        ({"alpha": 1.5}, "alpha must lie between 0 and 1, got 1.5"),
        ({"alpha": float("nan")}, "alpha must lie between 0 and 1, got nan"),
        ({"switch": -2.0}, "switch must be a time from 0 to 1e+100, got -2.0"),
        (
            {"switch": 2.0, "alpha": 0.5},
            "switch needs a focus that learns: leave out alpha or switch",
        ),
    ],
)
def test_flow_reports_invalid_arguments(arguments, sentence):
    with pytest.raises(FoveateError) as caught:
        vr23.flow(**({"m": 5, "C": 3, "t": [0, 1]} | arguments))
    assert str(caught.value) == sentence


def test_best_switch_checks_its_horizon():
    with pytest.raises(FoveateError, match=r"horizon must be a time from 0 to 1e\+100, got inf"):
        vr23.best_switch(5, 3, float("inf"))
