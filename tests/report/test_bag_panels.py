import re

import numpy as np
import pytest

from foveate.charts.palette import AGAINST, FOR
from foveate.errors import FoveateError
from foveate.report.drawing.bag_panels import bag_view
from foveate.report.pages.explain import explain_page
from foveate.userdata.gallery import GalleryBag, load_gallery, save_gallery

CLASSES = ("no", "<b>yes</b>")


def gallery_bag(kind="features", m=5, classes=2, **parts):
    chance = np.random.default_rng(0)
    alpha = chance.dirichlet(np.ones(m))
    evidence = chance.normal(size=(m, classes))
    evidence -= evidence.mean(1, keepdims=True)
    p = np.full(classes, 0.1)
    p[1] = 1 - 0.1 * (classes - 1)
    return GalleryBag("a<i>&", kind, p, 1, alpha, evidence, **parts)


def test_ranked_segments_have_attention_and_evidence():
    bag = gallery_bag(values=np.zeros((5, 2)), z=np.arange(5) == 3)
    rows = bag_view(bag, CLASSES, (), "k")["ranked"]["rows"]
    order = np.argsort(-bag.alpha)
    assert [row["segment"] for row in rows] == order.tolist()
    largest = np.abs(bag.evidence).max()
    for row, j in zip(rows, order, strict=True):
        assert row["alpha"] == bag.alpha[j]
        assert row["relevant"] == (j == 3)
        assert row["evidence"] == [(bag.evidence[j, 1], bag.evidence[j, 1] / largest)]


def test_attention_of_segments_beyond_the_limit_is_summed():
    bag = gallery_bag(m=40, values=np.zeros((40, 2)))
    ranked = bag_view(bag, CLASSES, (), "k")["ranked"]
    assert ranked["omitted"] == 28
    assert ranked["rest"] == pytest.approx(np.sort(bag.alpha)[:28].sum())


def test_words_are_shaded_by_square_root_of_attention_and_relative_evidence():
    bag = gallery_bag("text", m=3, words=("a", "<script>", "c"))
    views = bag_view(bag, CLASSES, (), "k")["texts"]["views"]
    assert [view["kind"] for view in views] == ["look", "sign"]
    assert views[0]["levels"] == np.rint(100 * np.sqrt(bag.alpha)).astype(int).tolist()
    largest = np.abs(bag.evidence).max()
    assert views[1]["levels"] == np.rint(100 * bag.evidence[:, 1] / largest).astype(int).tolist()
    page = explain_page([bag], CLASSES, paradigm="soft", total=1, source="x<y>.csv")
    assert "<script>" not in page.partition("</style>")[2]
    assert "&lt;script&gt;" in page
    assert "<b>yes</b>" not in page
    assert "a&lt;i&gt;&amp;" in page


def test_evidence_is_drawn_for_the_most_probable_and_the_true_class():
    bag = gallery_bag(classes=7, values=np.zeros((5, 2)))
    p = np.array([0.3, 0.0, 0.2, 0.1, 0.15, 0.05, 0.2])
    bag = GalleryBag("a", "features", p, 1, bag.alpha, bag.evidence, values=bag.values)
    names = [f"c{k}" for k in range(7)]
    assert bag_view(bag, names, (), "k")["shown_classes"] == ["c0", "c2", "c6", "c1"]


def test_tiles_are_at_their_positions_without_smoothing():
    places = np.array([[0, 0, 4, 4], [4, 0, 4, 4], [0, 4, 4, 4]])
    tiles = np.zeros((3, 3, 4, 4), np.uint8)
    bag = gallery_bag("image", m=3, values=tiles, places=places, z=np.array([False, True, False]))
    panels = dict(bag_view(bag, CLASSES, (), "k")["panels"])
    assert list(panels) == ["the image", "attention", f"evidence for {CLASSES[1]}"]
    for svg in panels.values():
        assert 'viewBox="0 0 8 8"' in svg
        assert "stroke-dasharray" in svg  # the relevant tile
    assert "image-rendering:pixelated" in panels["the image"]
    assert "blur" not in "".join(panels.values())
    signed = panels[f"evidence for {CLASSES[1]}"]
    shares = bag.evidence[:, 1] / np.abs(bag.evidence).max()
    for (x, y, _, _), alpha, e in zip(places, bag.alpha, shares, strict=True):
        box = f'<rect x="{x}" y="{y}" width="4" height="4" fill='
        assert f'{box}"#8250f0" opacity="{0.45 * np.sqrt(alpha):.3f}"' in panels["attention"]
        paint = FOR if e > 0 else AGAINST
        assert f'{box}"{paint}" opacity="{0.7 * abs(e):.3f}"' in signed


def test_window_width_is_its_duration_and_bar_height_its_evidence():
    places = np.array([[0.0, 10.0], [10.0, 30.0], [30.0, 40.0]])
    bag = gallery_bag("series", m=3, values=np.arange(6.0).reshape(3, 2), places=places)
    (first, drawn), (_, signed) = bag_view(bag, CLASSES, ("a", "b<i>"), "k")["panels"]
    assert first == "attention, and each column from its lowest to its highest value"
    assert re.findall(r">([^<>]*)</text>", drawn)[:2] == ["a", "b&lt;i&gt;"]
    e = bag.evidence[:, 1] / np.abs(bag.evidence).max()
    step = (600 - 28) / 40
    for (a, b), share in zip(places, e, strict=True):
        tall = abs(share) * 31
        top = 35 - tall if share > 0 else 35
        left, wide = 14 + a * step + 0.5, (b - a) * step - 1
        box = f'x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{tall:.1f}"'
        assert box in signed


def test_columns_in_which_the_top_window_deviates_most_are_drawn():
    chance = np.random.default_rng(0)
    values = chance.normal(size=(8, 7))
    bag = gallery_bag("series", m=8, values=values, places=np.arange(16.0).reshape(8, 2))
    values[int(bag.alpha.argmax()), [1, 2, 5, 6]] += [9, -9, 9, 9]
    (title, drawn), _ = bag_view(bag, CLASSES, [f"c{k}" for k in range(7)], "k")["panels"]
    assert title.endswith("; 4 of 7 columns, in which the top window deviates most")
    assert re.findall(r">(c\d)</text>", drawn) == ["c1", "c2", "c5", "c6"]


@pytest.mark.parametrize("kind", ["features", "text", "image", "series"])
def test_gallery_round_trip(tmp_path, kind):
    parts = {
        "features": {"values": np.ones((5, 2)), "z": np.arange(5) == 1},
        "text": {"words": ("a", "b", "c", "d", "e"), "null": 0.25},
        "image": {"values": np.ones((5, 3, 2, 2), np.uint8), "places": np.zeros((5, 4))},
        "series": {"values": np.ones((5, 1)), "places": np.arange(10.0).reshape(5, 2)},
    }[kind]
    before = [gallery_bag(kind, **parts), gallery_bag(kind, m=5, **parts)]
    save_gallery(tmp_path / "gallery.npz", before)
    after = load_gallery(tmp_path / "gallery.npz")
    for a, b in zip(before, after, strict=True):
        assert {k for k, v in vars(a).items() if v is None} == {
            k for k, v in vars(b).items() if v is None
        }
        for name, value in vars(a).items():
            np.testing.assert_array_equal(value, getattr(b, name))
    assert load_gallery(tmp_path / "none.npz") == []


def test_explain_page_without_bags_is_an_error():
    with pytest.raises(FoveateError, match="at least one bag"):
        explain_page([], CLASSES, paradigm="soft", total=0, source="x")
