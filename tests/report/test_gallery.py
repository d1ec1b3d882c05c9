import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from foveate.records.runs import Run
from foveate.report.drawing.gallery import gallery, verdict
from foveate.report.drawing.gallery_sheet import gallery_sheet
from foveate.report.drawing.segments import kind_of

from .conftest import drawn_segments
from .html_tree import read_html


def printed(svg: str) -> list[str]:
    return [t.text for t in read_html(svg).all("text")]


@pytest.mark.parametrize("mask", [False, True])
def test_views_agree_with_the_arrays(make_run, mask):
    run = make_run("one", ("soft", "hard", "lvml", "hybrid"), mask=mask)
    records = run.records()
    seen = set()
    for row in gallery(run, records):
        for view in row.views:
            final = records[view.paradigm].final
            p = [float(np.exp(v)) for v in final["log_p"][0, row.bag]]
            predicted, truth = p.index(max(p)), int(final["y"][0, row.bag])
            relevant = int(np.flatnonzero(final["z"][0, row.bag])[0])
            present = final["mask"][0, row.bag] if mask else np.ones(6, bool)
            s = final["s"][0, row.bag]
            looks = all(s[relevant] > s[j] for j in range(6) if j != relevant and present[j])
            name = ["cat", "dog", "emu"][predicted]
            assert view.prediction == f"{name} ({100 * p[predicted]:.1f} %)"
            expected = "right for the right reason" if looks else "right for the wrong reason"
            assert view.verdict == (expected if predicted == truth else "wrong")
            assert (view.correct, view.focused) == (predicted == truth, looks)
            seen.add(view.verdict)
        assert row.truth == ["cat", "dog", "emu"][int(records["soft"].final["y"][0, row.bag])]
    assert len(seen) > 1


def test_verdicts():
    assert verdict(True, True) == "right for the right reason"
    assert verdict(True, False) == "right for the wrong reason"
    assert verdict(True, False, even=True) == "right, without any focus"
    assert verdict(True, None) == "right"
    assert verdict(False, True) == verdict(False, False) == verdict(False, None) == "wrong"


@pytest.mark.parametrize("kind", ["grey", "rgb"])
def test_images_equal_the_segments_and_are_stored_once(make_run, kind):
    run = make_run(kind=kind)
    rows = gallery(run, run.records(), "here")
    assert rows
    assert all(row.views for row in rows)
    for row, segments in zip(rows, run.gallery()["segments"], strict=True):
        images = read_html(row.picture).all("image")
        assert len(images) == 6
        for image, segment in zip(images, segments, strict=True):
            raw = base64.b64decode(image.attrs["href"].removeprefix("data:image/png;base64,"))
            pixels = np.asarray(Image.open(io.BytesIO(raw)))
            assert np.array_equal(pixels, np.moveaxis(segment, 0, -1).squeeze())
            assert "pixelated" in image.attrs["style"]
        for view in row.views:
            assert f'href="#here-bag-{row.bag}"' in view.picture
            assert "<image" not in view.picture


def test_twenty_segments_are_drawn_in_four_rows_of_five(make_run):
    run = make_run(m=20)
    images = read_html(gallery(run, run.records())[0].picture).all("image")
    assert len({i.attrs["x"] for i in images}) == 5
    assert len({i.attrs["y"] for i in images}) == 4


@pytest.mark.parametrize("kind", ["grey", "point"])
def test_attention_from_a_tenth_is_printed(make_run, kind):
    run = make_run(kind=kind)
    records = run.records()
    rows = gallery(run, records)
    assert any(printed(view.picture) for row in rows for view in row.views)
    for row in rows:
        for view in row.views:
            alpha = records[view.paradigm].final["alpha"][0, row.bag]
            assert sorted(printed(view.picture)) == sorted(f"{a:.2f}" for a in alpha if a >= 0.1)
        assert printed(row.picture) == []


def test_frame_opacity_is_the_square_root_of_attention(make_run):
    run = make_run()
    records = run.records()
    row = gallery(run, records)[0]
    frames = [
        r for r in read_html(row.views[0].picture).all("rect") if r.attrs.get("stroke") == "#8250f0"
    ]
    alpha = records["soft"].final["alpha"][0, row.bag]
    assert [float(f.attrs["opacity"]) for f in frames] == pytest.approx(np.sqrt(alpha), abs=1e-3)


def test_disc_area_is_proportional_to_attention(make_run):
    run = make_run(kind="point")
    records = run.records()
    row = gallery(run, records)[0]
    discs = [
        c for c in read_html(row.views[1].picture).all("circle") if c.attrs["fill"] == "#8250f0"
    ]
    area = np.array([float(c.attrs["r"]) ** 2 for c in discs])
    assert area / 14**2 == pytest.approx(records["hybrid"].final["alpha"][0, row.bag], abs=1e-2)


def test_bar_height_is_proportional_to_attention(make_run):
    run = make_run(kind="vector")
    record = run.record("soft")
    row = gallery(run, {"soft": record})[0]
    bars = [r for r in read_html(row.views[0].picture).all("rect") if r.attrs["fill"] == "#8250f0"]
    alpha = record.final["alpha"][0, row.bag]
    assert [float(b.attrs["height"]) for b in bars] == pytest.approx(60 * alpha + 2, abs=0.06)
    assert printed(row.views[0].picture) == [f"{alpha.max():.2f}"]
    raw = read_html(row.picture).all("image")[0].attrs["href"].partition(",")[2]
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(raw))))
    values = run.gallery()["segments"][0].T
    assert np.array_equal(pixels, (255 * (values - values.min()) / np.ptp(values)).astype(np.uint8))


def test_absent_segments_are_not_drawn_and_the_relevant_one_is_marked(make_run):
    run = make_run(mask=True)
    record = run.record("soft")
    rows = gallery(run, run.records())
    assert not record.final["mask"][0, [row.bag for row in rows]].all()
    for row in rows:
        tree = read_html(row.picture)
        assert len(tree.all("image")) == int(record.final["mask"][0, row.bag].sum())
        dashed = [r for r in tree.all("rect") if "stroke-dasharray" in r.attrs]
        j = int(np.flatnonzero(record.final["z"][0, row.bag])[0])
        assert len(dashed) == 1
        corner = (8 + (j % 3) * 48 - 4, 8 + (j // 3) * 48 - 4)
        assert (float(dashed[0].attrs["x"]), float(dashed[0].attrs["y"])) == corner
        words = tree.all("svg")[0].attrs["aria-label"]
        assert words == f"Bag {row.bag}, relevant: segment {j + 1}"


@pytest.mark.parametrize("kind", ["grey", "rgb", "point", "vector"])
def test_gallery_sheet_of_every_kind_is_self_contained(make_run, kind):
    run = make_run(kind=kind, manifest={"sizes": {"classes": ["<cat>", "a&b", "emu"]}})
    sheet = gallery_sheet(gallery(run, run.records()))
    tree = read_html(sheet)
    assert not tree.all("cat")
    assert len(tree.all("svg")) == 1 + 3 * 3
    for text in ("The bag", "Hybrid", "Bag 11"):
        assert text in tree.text
    assert set(re.findall(r'href="#([^"]+)"', sheet)) <= {n.attrs.get("id") for n in tree.walk()}


def test_kind_of_segments():
    assert [kind_of(drawn_segments(k, 2, 3)) for k in ("grey", "rgb", "point", "vector")] == [
        "image",
        "image",
        "point",
        "vector",
    ]
    assert kind_of(np.zeros((2, 3))) == "vector"
    assert kind_of(np.zeros((2, 3, 8, 8))) == "image"


def test_run_without_gallery_has_no_rows(make_run):
    run = make_run(finished=("soft",))
    assert gallery(run, run.records()) == []
    whole = make_run("whole")
    np.savez(whole.path / "gallery.npz", rows=np.array([], int), segments=np.zeros((0, 6, 2)))
    assert gallery(Run(whole.path, whole.manifest), whole.records()) == []
