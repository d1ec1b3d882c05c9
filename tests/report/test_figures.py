import re
import struct
from collections import Counter

import altair as alt
import numpy as np
import pytest

from foveate.charts.palette import colour, dash, label, shape
from foveate.charts.render import inline_svg, spread_labels, to_png, to_svg
from foveate.errors import FoveateError
from foveate.metrics.focus import (
    QUADRANTS,
    focus_and_prediction,
    released_heat_map,
    threshold_curve,
)
from foveate.metrics.intervals import mean_interval
from foveate.metrics.metric import summarise
from foveate.report import export_figures
from foveate.report.drawing.race_charts import figures, heat_map_chart, plane
from foveate.report.outcomes import Switch, find_switch, outcomes

PARTS = ("soft", "hard", "lvml", "hybrid")
NAMES = {
    "plane",
    "threshold",
    *(f"heat-map-{p}" for p in PARTS),
    *(f"quadrants-{p}" for p in PARTS),
    *(f"curve-{q}" for q in ("accuracy", "ft", "saif", "train_loss")),
}


def size_of(svg):
    return tuple(round(float(v)) for v in re.search(r'width="(\S+)" height="(\S+)"', svg).groups())


def rows_of(chart):
    spec = chart.to_dict()
    return next(iter(spec["datasets"].values())) if "datasets" in spec else spec["data"]["values"]


def test_every_figure_is_valid_and_has_a_readable_width(race):
    charts = figures(race)
    assert set(charts) == NAMES
    for name, chart in charts.items():
        chart.to_dict(validate=True)
        width, _ = size_of(to_svg(chart))
        assert 280 <= width <= 480, name


def test_figures_without_known_relevance(make_run):
    assert set(figures(make_run(z=False))) == {"curve-accuracy", "curve-train_loss"}
    assert figures(make_run("none", finished=())) == {}


def test_plane_contains_means_intervals_and_cost(race):
    rows = {row["name"]: row for row in rows_of(figures(race)["plane"])}
    for name, record in race.records().items():
        summary, row = summarise(record), rows[label(name)]
        for k in ("accuracy", "saif"):
            assert [row[k], row[f"{k}_low"], row[f"{k}_high"]] == pytest.approx(list(summary[k]))
        assert row["cpu_seconds"] == pytest.approx(summary["cpu_seconds"])
        assert row["cost"] == f"{summary['cpu_seconds']:.2g} CPU s"
        assert row["colour"] == colour(name)


def test_plane_labels_do_not_overlap_for_equal_points(make_run):
    record = make_run(parts=("soft",)).record("soft")
    many = outcomes("r", {f"p{k}": record for k in range(9)})
    chart = plane(many)
    spec = chart.to_dict()
    heights = sorted(row["label_y"] for row in rows_of(chart))
    low, high = spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    pixels = np.diff(heights) * spec["height"] / (high - low)
    assert pixels.min() >= 36 - 1e-9
    assert low <= heights[0]
    assert heights[-1] <= high


def test_plane_axes_span_ten_points_within_0_and_100(make_run):
    spec = plane(outcomes("r", make_run(parts=("soft",), members=1).records())).to_dict()
    for channel in ("x", "y"):
        encoding = spec["layer"][0]["encoding"][channel]
        low, high = encoding["scale"]["domain"]
        assert high - low >= 10
        ticks = encoding["axis"]["values"]
        assert len(ticks) >= 3
        assert ticks[0] >= 0
        assert ticks[-1] <= 100


def test_curves_are_means_with_intervals(race):
    charts = figures(race)
    for name, factor in (("accuracy", 100), ("saif", 100), ("train_loss", 1)):
        rows = rows_of(charts[f"curve-{name}"])
        for part, record in race.records().items():
            rows_at = {row["x"]: row for row in rows if row["paradigm"] == label(part)}
            times = [
                t
                for t, v in zip(record.t, record.values[name], strict=True)
                if not np.isnan(v).any()
            ]
            assert sorted(rows_at) == times
            for t in times:
                top = np.inf if factor == 1 else 100.0
                expected = mean_interval(factor * record.values[name][t], within=(0, top))
                assert rows_at[t]["mean"] == pytest.approx(expected.mean)
                assert [rows_at[t]["low"], rows_at[t]["high"]] == pytest.approx(
                    [expected.low, expected.high]
                )


def test_quadrants_sum_to_100_percent(race):
    chart = figures(race)["quadrants-hard"]
    total = Counter()
    for row in rows_of(chart):
        total[row["x"]] += row["share"]
    assert list(total.values()) == pytest.approx([100.0] * 5)
    ends = [row["share"] for row in rows_of(chart) if row["x"] == 4]
    record = race.record("hard")
    assert ends == pytest.approx([100 * record.last(k).mean() for k in QUADRANTS])


def test_threshold_curve_is_the_share_of_bags_above(race):
    rows = rows_of(figures(race)["threshold"])
    a_z, _ = focus_and_prediction(race.record("lvml"))
    for row in (row for row in rows if row["paradigm"] == "LVML"):
        expected = 100 * np.mean([[a > row["x"] for a in bags] for bags in a_z])
        assert row["mean"] == pytest.approx(expected)
    assert threshold_curve(a_z, np.array([1.0])).max() == 0


@pytest.mark.parametrize(
    ("switch", "epoch"), [(0.5, 2), (3, 3), (0.0, None), (9, None), ("plateau", None)]
)
def test_switch_is_marked_if_it_is_known(make_run, switch, epoch):
    run = make_run("one", ("hybrid",), manifest={"config": {"switch": switch}})
    expected = None if epoch is None else Switch("hybrid", epoch, "Hard")
    assert find_switch(run, run.records()) == expected
    mentioned = "hybrid switches to hard" in to_svg(figures(run)["curve-ft"])
    assert mentioned == (epoch is not None)


def test_the_released_heat_map_divides_the_range_of_the_data(race):
    record = race.records()["soft"]
    a_z, p_y = (scores.ravel() for scores in focus_and_prediction(record))
    rows = rows_of(heat_map_chart(record, "soft", bins="data range"))
    shares = np.array([row["share"] for row in rows]).reshape(5, 5)
    np.testing.assert_allclose(shares, 100 * released_heat_map(a_z, p_y))
    names = list(dict.fromkeys(row["a"] for row in rows))
    assert len(names) == 5
    assert float(names[0].split("–")[0]) == pytest.approx(a_z.min(), abs=np.ptp(a_z) / 50)
    assert float(names[-1].split("–")[1]) == pytest.approx(a_z.max(), abs=np.ptp(a_z) / 50)


def test_inlined_figures_have_unique_ids():
    data = alt.Data(values=[{"a": 1, "b": 2}])
    chart = alt.Chart(data, description='a "b" <c>').mark_line(clip=True).encode(x="a:Q", y="b:Q")
    first, second = inline_svg(chart, "one"), inline_svg(chart, "two")
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert set(re.findall(r"url\(#([^)]+)\)", first)) == ids[0]
    assert 'aria-label="a &quot;b&quot; &lt;c&gt;"' in first


def test_export_writes_every_figure_in_every_format(race, tmp_path):
    written = export_figures(race, tmp_path / "out")
    names = NAMES | {"gallery", *(f"released-heat-map-{p}" for p in PARTS)}
    assert {p.name for p in written} == {f"{n}.{form}" for n in names for form in ("svg", "png")}
    assert set(written) == set((tmp_path / "out").iterdir())
    for name in names:
        svg = (tmp_path / "out" / f"{name}.svg").read_text()
        png = (tmp_path / "out" / f"{name}.png").read_bytes()
        assert svg.startswith("<svg")
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", png[16:24]) == pytest.approx(
            [2 * side for side in size_of(svg)], abs=2
        )


def test_export_of_one_format_and_of_an_unknown_format(make_run, tmp_path):
    run = make_run("one", ("soft",), z=False)
    only = export_figures(run, tmp_path / "svg", ("svg",))
    assert [p.name for p in only] == ["curve-accuracy.svg", "curve-train_loss.svg", "gallery.svg"]
    with pytest.raises(FoveateError, match="svg and png, got 'gif'"):
        export_figures(run, tmp_path, ("gif",))
    (tmp_path / "file").write_text("")
    with pytest.raises(FoveateError, match="cannot make the folder"):
        export_figures(run, tmp_path / "file" / "x")


def test_png_has_the_size_of_the_svg(points):
    png = to_png(figures(points)["plane"], scale=1.0)
    assert struct.unpack(">II", png[16:24]) == size_of(to_svg(figures(points)["plane"]))


def test_paradigms_have_distinct_colours_dashes_and_shapes():
    known = ("soft", "hard", "lvml", "hybrid", "witness", "logit", "em", "direct", "random")
    assert len({colour(p) for p in known}) == len(known)
    assert len({(tuple(dash(p)), shape(p)) for p in PARTS}) == len(PARTS)
    assert colour("soft") == "#0072B2"
    assert colour("lvml") == "#009E73"
    assert colour("never heard of") == colour("never heard of")
    assert (label("lvml"), label("soft"), label("mine")) == ("LVML", "Soft", "Mine")


@pytest.mark.parametrize(
    "positions",
    [[5.0], [50.0, 50.0, 50.0], [99.0, 98.0, 97.0, 1.0], [0.0, 100.0, 50.0, 51.0, 52.0]],
)
def test_spread_labels_keeps_order_distance_and_bounds(positions):
    placed = spread_labels(positions, 20.0, 100.0)
    assert np.diff(sorted(placed)).min(initial=20.0) >= 20.0 - 1e-9
    assert min(placed) >= 10.0 - 1e-9
    assert max(placed) <= 90.0 + 1e-9
    assert np.array_equal(np.argsort(placed, kind="stable"), np.argsort(positions, kind="stable"))
