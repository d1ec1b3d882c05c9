"""Runs through the lab: the list, curves, cells and bags are those of the records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.lab.server.bags import bags_in_cell
from foveate.lab.server.compare import paired_differences
from foveate.lab.server.downsample import evenly_spaced_rows, extreme_rows, time_slice
from foveate.lab.server.runs import curve_rows
from foveate.lab.server.timeline import timeline_rows
from foveate.metrics.focus import EDGES, focus_and_prediction
from foveate.records.record import Record
from foveate.records.runs import open_run

from .conftest import HOSTILE


def test_one_broken_run_does_not_break_the_list(client):
    rows = {row["name"]: row for row in client.get("/api/runs").json()["runs"]}
    assert rows.keys() >= {
        "boxes",
        "digits",
        "long",
        "broken",
        HOSTILE,
    }  # others may keep theirs too
    assert "damaged" in rows["broken"]["broken"]
    assert rows["boxes"]["status"] == "done"
    assert rows["boxes"]["seeds"] == 2
    assert client.get("/api/run", params={"run": "broken"}).status_code == 400


@pytest.mark.parametrize("name", ["../runs", "..", "boxes/../boxes", "/etc", "boxes/soft", "", "."])
@pytest.mark.parametrize("path", ["/api/run", "/api/run/report", "/api/run/figures"])
def test_names_are_looked_up_and_never_walked(client, name, path):
    answer = client.get(path, params={"run": name})
    assert answer.status_code == 404
    assert answer.json()["error"] == "there is no such run"


@pytest.mark.parametrize("part", ["../boxes/soft", "..", "lvml", ""])
def test_parts_too(client, part):
    answer = client.get("/api/run/heat", params={"run": "boxes", "part": part})
    assert answer.status_code == 404


def test_the_run_reports_the_values_of_the_record(client, folder):
    page_data = client.get("/api/run", params={"run": "boxes"}).json()
    record = open_run(folder / "boxes").record("soft")
    outcome = next(row for row in page_data["outcomes"] if row["paradigm"] == "soft")
    assert outcome["accuracy"]["mean"] == pytest.approx(100 * record.last("accuracy").mean())
    assert page_data["parts"]["soft"]["members"] == 2
    assert page_data["classes"] == ["class 0", "class 1", "class 2"]


def test_cells_hold_the_bags_that_lie_in_them(client, folder):
    record = open_run(folder / "boxes").record("soft")
    a_z, p_y = (score[1] for score in focus_and_prediction(record))
    shares = client.get(
        "/api/run/heat", params={"run": "boxes", "part": "soft", "member": 1}
    ).json()["shares"]
    seen = []
    for row in range(5):
        for column in range(5):
            inside = [
                i
                for i in range(len(a_z))
                if EDGES[column] <= a_z[i] and (a_z[i] < EDGES[column + 1] or column == 4)
                if EDGES[row] <= p_y[i] and (p_y[i] < EDGES[row + 1] or row == 4)
            ]
            assert bags_in_cell(record, 1, row, column).tolist() == inside
            assert shares[row][column] == pytest.approx(len(inside) / len(a_z))
            seen += inside
    assert sorted(seen) == list(range(len(a_z)))


def test_a_bag_is_drawn_again_as_it_was(client, folder):
    from foveate.data import DATASETS

    page_data = client.get("/api/run/bag", params={"run": "boxes", "bag": 7, "member": 1}).json()
    bag = DATASETS.get("error-mode-1")().load("test", n=60, m=9, seed=1)
    np.testing.assert_allclose(page_data["segments"]["values"], bag.x[7].numpy(), rtol=1e-6)
    assert page_data["z"] == bag.z[7].tolist()
    record = open_run(folder / "boxes").record("hard")
    np.testing.assert_allclose(page_data["views"]["hard"]["alpha"], record.final["alpha"][1, 7])
    evidence = np.array(page_data["evidence"]["hard"])
    assert evidence.shape == (9, 3)
    np.testing.assert_allclose(evidence.sum(1), 1, rtol=1e-5)
    # Hard attention answers with what g says of the segment that it looks at.
    top = np.argmax(page_data["views"]["hard"]["alpha"])
    np.testing.assert_allclose(evidence[top], page_data["views"]["hard"]["p"], atol=1e-5)


def test_pictures_come_as_bytes(client):
    page_data = client.get("/api/run/bag", params={"run": "digits", "bag": 0}).json()["segments"]
    assert (page_data["kind"], page_data["shape"], page_data["m"]) == ("image", [8, 8, 1], 20)


@pytest.mark.parametrize("query", [{"bag": 9999}, {"bag": -1}, {"bag": 0, "member": 7}])
def test_bags_that_are_not_there(client, query):
    assert client.get("/api/run/bag", params={"run": "boxes", **query}).status_code == 404


def test_figures_are_the_librarys(client):
    names = client.get("/api/run/figures", params={"run": "boxes"}).json()["figures"]
    assert "heat-map-soft" in names
    spec = client.get("/api/run/figure", params={"run": "boxes", "name": "curve-ft"}).json()["spec"]
    assert spec["data"]["values"]
    missing = client.get("/api/run/figure", params={"run": "boxes", "name": "../x"})
    assert missing.status_code == 404


def test_a_report_has_no_origin(client, folder):
    place = folder / "boxes" / "report.html"
    place.write_text("<script>document.title = 'ran'</script>")
    answer = client.get("/api/run/report", params={"run": "boxes"})
    place.unlink()
    assert "sandbox allow-scripts" in answer.headers["content-security-policy"]
    assert "allow-same-origin" not in answer.headers["content-security-policy"]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300), st.integers(4, 60))
def test_thinning_keeps_extremes_and_ends(values, points):
    y = np.array(values)
    rows = extreme_rows(y, points)
    assert len(rows) <= max(points, 4)
    assert (np.diff(rows) > 0).all()
    assert {0, len(y) - 1} <= set(rows.tolist())
    assert y[rows].min() == y.min()
    assert y[rows].max() == y.max()
    if len(y) <= points:
        assert len(rows) == len(y)


def test_a_million_points_are_thinned_and_exact_from_near():
    t = np.arange(1_000_000.0)
    y = np.sin(t / 5e4)
    y[777_777] = 5.0
    record = Record(t, {"loss": y[:, None]})
    far = curve_rows(record, "loss", None, None, 600)
    assert len(far["t"]) <= 600
    assert not far["exact"]
    assert far["mean"].max() == 5.0
    near = curve_rows(record, "loss", 777_700, 777_800, 600)
    assert near["exact"]
    np.testing.assert_array_equal(near["t"], np.arange(777_699, 777_802))
    np.testing.assert_array_equal(near["mean"], y[777_699:777_802])


def test_within_reaches_one_row_beyond():
    t = np.array([0.0, 1.0, 2.0, 3.0])
    assert t[time_slice(t, 1.5, 1.6)].tolist() == [1.0, 2.0]
    assert t[time_slice(t, None, None)].tolist() == t.tolist()


def test_rows_that_are_no_numbers_are_left_out():
    record = Record(np.arange(3.0), {"a": np.array([[np.nan, np.nan], [1.0, np.nan], [2.0, 4.0]])})
    result = curve_rows(record, "a", None, None, 10)
    assert result["t"].tolist() == [1.0, 2.0]
    assert result["mean"].tolist() == [1.0, 3.0]


def test_a_training_is_stepped_through(client, folder):
    record = open_run(folder / "boxes").record("hard")
    query = {"run": "boxes", "part": "hard", "member": 1}
    page_data = client.get("/api/run/heat", params=query).json()
    film = page_data["timeline"]
    assert film["t"] == record.t.tolist()
    np.testing.assert_allclose(film["heat"], record.values["heat"][:, 1], atol=1e-4)
    np.testing.assert_allclose(
        film["heat"][-1], page_data["shares"], atol=1e-4
    )  # it outcomes as it is
    for key in ("ftpt", "ffpt", "ftpf", "ffpf"):
        np.testing.assert_allclose(film["quadrants"][key], record.values[key][:, 1], atol=1e-4)
    mean = client.get("/api/run/heat", params={**query, "member": -1}).json()["timeline"]
    np.testing.assert_allclose(mean["heat"], record.values["heat"].mean(1), atol=1e-4)


def test_a_run_of_before_has_no_heat_map_over_time():
    shares = np.linspace(0, 1, 5)[:, None]
    result = timeline_rows(Record(np.arange(5.0), {"ftpt": shares}), 0, 10)
    assert result["heat"] is None
    assert result["quadrants"] == {"ftpt": pytest.approx(shares[:, 0])}


@given(st.integers(1, 2000), st.integers(2, 50))
def test_moments_are_spread_evenly(rows, most):
    result = evenly_spaced_rows(rows, most)
    assert len(result) == min(rows, most)
    assert (result[0], result[-1]) == (0, rows - 1)
    steps = np.diff(result)
    assert rows == 1 or (steps.min() >= 1 and steps.max() - steps.min() <= 1)


def test_differences_are_paired_over_shared_seeds(client, folder):
    """Against plain arithmetic on the records; a run minus itself is 0."""
    query = {"first": "boxes", "second": "boxes"}
    same = client.get("/api/runs/differences", params=query).json()["parts"]["soft"]
    assert same["seeds"] == 2
    assert same["metrics"]["ft"]["mean"] == 0
    one, other = (open_run(folder / "boxes").record(name) for name in ("soft", "hard"))
    paired = paired_differences(one, other)
    ends = other.values["accuracy"][-1] - one.values["accuracy"][-1]
    assert paired["metrics"]["accuracy"]["mean"] == pytest.approx(ends.mean())
    apart = client.get("/api/runs/differences", params={**query, "second": "digits"}).json()
    assert set(apart["parts"]) == {"soft"}
