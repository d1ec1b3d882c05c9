"""Pages of texts, alignments and diagnoses: numbers where they belong, and nothing escapes."""

import json
import re

import numpy as np
import pytest
import torch

from foveate.errors import FoveateError
from foveate.records.record import Record
from foveate.report.pages.alignments import AlignedPair, alignments_page, write_alignment_page
from foveate.report.pages.diagnosis import diagnosis_page, write_diagnosis_page
from foveate.report.pages.texts import ShadedText, texts_of, texts_page, write_texts_page
from foveate.text.statistics.diagnosis import diagnose
from foveate.text.tokens import Tokens

from .html_tree import read_html

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    '"quoted"',
    "it's",
    "<!--",
    "]]>",
    "&lt;",
    "{{7*7}}",
    "😀",
    "שלום",
    "\u202eabc",
]
CAPTIONS = ["step 0", "step 10 </script>", "step 20"]
ALLOWED = {"svg", "g", "path", "rect", "text", "line", "clippath", "defs", "lineargradient", "stop"}


def shaded(tokens, label="good", seed=0):
    rng, L = np.random.default_rng(seed), len(tokens)
    says = [f"says <b>{k}</b>" for k in range(3)]
    alpha = rng.dirichlet(np.ones(L), 3)
    return ShadedText(tokens, label, says, alpha, rng.random((3, L)), rng.normal(size=(3, L)))


def own_texts(*texts, **more):
    return texts_page(texts, CAPTIONS, title="<i>T</i>", lead="L", **more)


def frames(page):
    """What the script is given, as a browser would read it."""
    (data,) = [s for s in page.all("script") if s.attrs.get("id") == "frames"]
    return json.loads("".join(data.texts))


def must_be_harmless(text, scripts):
    """One file without scripts of others, pictures, handlers, or addresses to load from."""
    page = read_html(text)
    tags = {node.tag for node in page.walk()}
    assert not tags & {"img", "iframe", "link", "object", "b", "i", "base", "form"}, tags
    assert len(page.all("script")) == scripts
    for node in page.walk():
        assert not [name for name in node.attrs if name.startswith("on")], node
        assert "src" not in node.attrs
        assert node.attrs.get("href", "#").startswith("#")
    assert not re.search(
        r"@import|url\((?!#)|//[a-z]+\.[a-z]", text.replace("http://www.w3.org", "")
    )
    return page


def test_hostile_words_are_escaped():
    page = must_be_harmless(own_texts(shaded(HOSTILE, "<b>bad</b>"), command="a <b>"), 2)
    for view in (n for n in page.walk() if "view" in n.attrs.get("class", "").split()):
        assert [w.text for w in view.all("span")] == [" ".join(w.split()) for w in HOSTILE]
    assert page.all("h3")[0].text == "Text 1, truly <b>bad</b>"
    assert frames(page)["captions"] == CAPTIONS
    assert frames(page)["says"][1] == ["says <b>1</b>"]


def test_shades_follow_the_numbers():
    tokens = ["a", "b", "c"]
    text = ShadedText(
        tokens,
        "good",
        ["one", "two", "three"],
        np.array([[1, 0, 0], [0.25, 0.75, 0], [0.01, 0.04, 0.95]]),
        np.array([[0.5, 0.5, 0.5], [1, 0, 0.5], [0.9, 0.1, 0.49]]),
        np.array([[0, 0, 0], [2, -1, 0], [0.5, -2, 0.1]]),
    )
    page = read_html(own_texts(text, shaded(["d"])))
    alpha, beta, delta = (np.array(frames(page)["levels"])[:, k : k + 3] for k in (0, 3, 6))
    assert alpha.tolist() == [[100, 0, 0], [50, 87, 0], [10, 20, 97]]
    assert beta.tolist() == [[0, 0, 0], [100, -100, 0], [80, -80, -2]]
    assert delta.tolist() == [[0, 0, 0], [100, -50, 0], [25, -100, 5]]
    cells = [n for n in page.all("span") if "data-v" in n.attrs]
    opacity = [float(n.attrs["style"].removeprefix("--o:")) for n in cells]
    assert opacity == [abs(v) / 100 for v in frames(page)["levels"][-1]]  # the end, without scripts
    assert [n.attrs["class"] for n in cells[3:6]] == ["w", "w n", "w"]
    assert len(cells) == len(frames(page)["levels"][0]) == 3 * 3 + 3


def test_the_slider_can_be_operated_by_keyboard_and_says_where_it_is():
    page = read_html(own_texts(shaded(["a", "b"])))
    (slider,) = page.all("input")
    assert slider.attrs["type"] == "range"
    assert (slider.attrs["min"], slider.attrs["max"], slider.attrs["value"]) == ("0", "2", "2")
    (label,) = page.all("label")
    assert label.attrs["for"] == slider.attrs["id"]
    assert page.all("output")[0].text == CAPTIONS[-1]
    assert page.all("noscript")


def test_one_step_needs_no_slider():
    text = ShadedText(["a"], "x", ["says x"], np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)))
    page = read_html(texts_page([text], ["end"], title="T", lead="L"))
    assert not page.all("input")
    assert not page.all("script")


def test_long_texts_are_cut_and_is_reported():
    page = read_html(own_texts(shaded([str(i) for i in range(450)])))
    assert len([n for n in page.all("span") if "data-v" in n.attrs]) == 3 * 400
    assert "the first 400 words of 450" in page.text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": np.ones((2, 2))}, r"text 1: alpha must have shape \(3, 2\), got \(2, 2\)"),
        ({"delta": np.full((3, 2), np.nan)}, "text 1: delta has values that are no numbers"),
        ({"says": ["once"]}, "text 1: 3 steps need as many words, got 1"),
    ],
)
def test_wrong_shapes_are_reported(change, message):
    fine = shaded(["a", "b"])
    with pytest.raises(FoveateError, match=message):
        own_texts(ShadedText(**{**fine.__dict__, **change}))


def test_an_empty_selection_is_an_error():
    with pytest.raises(FoveateError, match="needs a text and a step"):
        own_texts()


def test_texts_of_a_record():
    t = np.array([0, 25])
    values = {
        "accuracy": np.array([[0.5], [0.875]]),
        "logit": np.array([[[0.0, -2.0]], [[2.0, -1.0]]]),
        "alpha": np.arange(10.0).reshape(2, 1, 5) / 10,
        "beta": np.full((2, 1, 5), 0.5),
        "delta": np.zeros((2, 1, 5)),
    }
    meta = {
        "classes": ["neg", "pos"],
        "texts": [{"tokens": ["a", "b"], "label": 1}, {"tokens": ["c", "d", "e"], "label": 1}],
    }
    texts, captions = texts_of(Record(t, values, {}, meta))
    assert captions[1] == "step 25 of 25: 88 % of held-out texts right"
    assert [text.label for text in texts] == ["pos", "pos"]
    assert texts[0].says[1] == "says pos with probability 0.88, which is right"
    assert texts[1].says[0] == "says neg with probability 0.88, which is wrong"
    np.testing.assert_array_equal(texts[1].alpha, [[0.2, 0.3, 0.4], [0.7, 0.8, 0.9]])


def aligned(source, target, **links):
    alpha = np.random.default_rng(1).dirichlet(np.ones(len(source)), (3, len(target)))
    return AlignedPair(source, target, alpha, **links)


def matrices(*pairs):
    return alignments_page(pairs, CAPTIONS, title="<i>T</i>", lead="L")


def test_alignments_mark_links_and_shade_cells():
    pair = aligned(
        ["a", "b", "c"], ["x", "y"], sure={(0, 1)}, possible={(2, 0)}, predicted={(0, 1), (1, 0)}
    )
    page = read_html(matrices(pair))
    rows = page.all("tbody")[0].all("tr")
    assert [row.all("th")[0].text for row in rows] == ["a", "b", "c"]
    marks = [[cell.attrs["class"] for cell in row.all("td")] for row in rows]
    assert marks == [["", "sure predicted"], ["predicted", ""], ["possible", ""]]
    expected = np.rint(100 * pair.alpha.transpose(0, 2, 1)).astype(int)
    assert frames(page)["levels"] == expected.reshape(3, -1).tolist()
    printed = [[cell.text for cell in row.all("td")] for row in rows]
    assert printed == [[str(v) if v >= 10 else "" for v in row] for row in expected[-1]]
    assert "sure link" in page.text
    assert "possible link" in page.text


def test_alignments_without_gold_have_no_legend_of_it():
    text = read_html(matrices(aligned(["a"], ["x"]))).text
    assert "sure link" not in text
    assert "was written" not in text


def test_hostile_words_are_escaped_in_matrices():
    page = must_be_harmless(matrices(aligned(HOSTILE, HOSTILE[::-1])), 2)
    heads = [h.text for h in page.all("thead")[0].all("th")]
    assert heads == [" ".join(word.split()) for word in HOSTILE[::-1]]


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (AlignedPair(["a"], ["x"], np.ones((1, 1, 1))), r"must have shape \(3, 1, 1\)"),
        (aligned(["a"], ["x"], sure={(0, 1)}), "pair 1: link 0-1 lies outside its sentences"),
        (AlignedPair(["a"], ["x"], np.full((3, 1, 1), np.inf)), "no numbers"),
    ],
)
def test_wrong_alignments_are_reported(pair, message):
    with pytest.raises(FoveateError, match=message):
        matrices(pair)


@pytest.fixture(scope="module")
def hostile_diagnosis():
    """Texts of hostile words, one of which decides the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    texts = [[*rng.integers(1, len(HOSTILE), size=4).tolist(), 0 if one else 1] for one in y]
    target = Tokens.of([[int(one)] for one in y])
    return diagnose(Tokens.of(texts), target, (HOSTILE, ["<b>no</b>", "</script>"]))


def test_a_diagnosis_shows_its_numbers_and_escapes_words(hostile_diagnosis):
    diagnosis = hostile_diagnosis
    assert diagnosis.verdict == "likely"
    assert diagnosis.words[0].word == HOSTILE[0]
    text = diagnosis_page(diagnosis, name="<b>x.csv", pairs=False, command="foveate <b>")
    page = must_be_harmless(text, 0)
    assert page.all("h1")[0].text == "Will attention be learnt on <b>x.csv?"
    assert page.all("strong")[0].text == diagnosis.summary
    assert {n.tag for svg in page.all("svg") for n in svg.walk()} <= ALLOWED
    numbers = {row.children[0].text: row.children[1].text for row in page.all("tr")[1:6]}
    assert [f"{diagnosis.information:.3g}", f"{diagnosis.z:.1f}", f"{diagnosis.lift:+.3g}"] == [
        next(v for k, v in numbers.items() if k.startswith(name))
        for name in ("Information", "z", "Lift")
    ]
    words = [row.children[0].text for t in page.all("table")[1:2] for row in t.all("tr")[1:]]
    assert words == [" ".join(c.word.split()) for c in diagnosis.words]
    assert len([n for n in page.walk() if n.attrs.get("class") == "view sign"]) == len(
        diagnosis.examples
    )


def test_a_flat_corpus_has_a_page_too():
    x = torch.stack(
        [torch.randperm(5, generator=torch.Generator().manual_seed(k)) for k in range(40)]
    )
    tokens = Tokens(x.flatten(), torch.arange(41) * 5)
    diagnosis = diagnose(tokens, tokens, ("abcde", "abcde"))
    text = diagnosis_page(diagnosis, name="permutations", pairs=True)
    assert "unlikely" in text
    assert "Words that carry it" not in text


def test_pages_are_written_whole(tmp_path, hostile_diagnosis):
    text, pair = shaded(["a"]), aligned(["a"], ["x"])
    same = {"title": "T", "lead": "L"}
    assert (
        write_texts_page(tmp_path / "t.html", [text], CAPTIONS, **same)
        .read_text()
        .endswith("</html>")
    )
    write_alignment_page(tmp_path / "a.html", [pair], CAPTIONS, **same)
    write_diagnosis_page(tmp_path / "d.html", hostile_diagnosis, name="x", pairs=False)
    assert {p.name for p in tmp_path.iterdir()} == {"t.html", "a.html", "d.html"}
    with pytest.raises(FoveateError, match="cannot write in"):
        write_texts_page(tmp_path / "no" / "t.html", [text], CAPTIONS, **same)
