"""Annotated texts in ERASER's layout."""

import json

import pytest

from foveate.errors import FoveateError
from foveate.io import read_bags

DOCS = {"d1": "a Good film\n\nreally it is\n", "d2": "bad , bad\n", "d3": "so so"}


def span(docid, start, end):
    return {
        "docid": docid,
        "start_token": start,
        "end_token": end,
        "text": "ignored",
        "start_sentence": -1,
    }


LINES = {
    "train": [
        {
            "annotation_id": "r1",
            "classification": "POS",
            "docids": None,
            "query": "?",
            "evidences": [[span("d1", 1, 3)], [span("d1", 2, 4)]],
        },
        {"annotation_id": "r2", "classification": "NEG", "docids": ["d2"], "evidences": []},
    ],
    "val": [{"annotation_id": "d3", "classification": "NEG", "docids": None, "evidences": None}],
    "test": [
        {
            "annotation_id": "r4",
            "classification": "POS",
            "docids": ["d2", "d1"],
            "evidences": [[span("d2", 0, 1), span("d1", 5, 6)]],
        },
    ],
}


def write(root, docs="folder", **changes):
    root.mkdir()
    if docs == "folder":
        (root / "docs").mkdir()
        for name, text in DOCS.items():
            (root / "docs" / name).write_text(text)
    else:
        rows = [json.dumps({"docid": name, "document": text}) for name, text in DOCS.items()]
        (root / "docs.jsonl").write_text("\n".join(rows) + "\n")
    for split, lines in {**LINES, **changes}.items():
        (root / f"{split}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return root


def by_id(collection):
    """Words and their relevance (None if unknown) of each bag, by plain loops."""
    out = {}
    for i, name in enumerate(collection.ids):
        rows = collection.bag.x.index[i][collection.bag.mask[i]].tolist()
        z = (
            [bool(v) for v in collection.bag.z[i][collection.bag.mask[i]]]
            if collection.known[i]
            else None
        )
        out[name] = ([collection.words[row] for row in rows], z)
    return out


@pytest.mark.parametrize("docs", ["folder", "file"])
def test_words_and_their_rationales(tmp_path, docs):
    collection = read_bags(write(tmp_path / "set", docs))
    result = by_id(collection)
    assert collection.kind == "text"
    assert result["r1"] == (
        ["a", "good", "film", "really", "it", "is"],
        [False, True, True, True, False, False],
    )
    assert result["r2"] == (["bad", ",", "bad"], [False] * 3)
    assert result["d3"] == (["so", "so"], None)
    assert result["r4"] == (
        ["bad", ",", "bad", "a", "good", "film", "really", "it", "is"],
        [True, False, False, False, False, False, False, False, True],
    )
    assert collection.classes == ("NEG", "POS")
    assert dict(zip(collection.ids, collection.split, strict=True)) == {
        "r1": "train",
        "r2": "train",
        "d3": "val",
        "r4": "test",
    }
    groups = {
        name: collection.groups[g]
        for name, g in zip(collection.ids, collection.bag.group, strict=True)
    }
    assert groups == {"r1": "d1", "r2": "d2", "d3": "d3", "r4": "d2, d1"}


def test_sentences_and_their_rationales(tmp_path):
    result = by_id(read_bags(write(tmp_path / "set"), tokens=False))
    assert result["r1"] == (["a good film", "really it is"], [True, True])
    assert result["r4"] == (["bad , bad", "a good film", "really it is"], [True, False, True])
    assert result["d3"] == (["so so"], None)


def test_documents_within_the_lines(tmp_path):
    lines = [
        {
            "annotation_id": 1,
            "classification": "x",
            "document": "one two",
            "evidences": [[{"start_token": 1, "end_token": 2}]],
        },
        {"annotation_id": 2, "classification": "y", "document": "three", "evidences": [[]]},
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    collection = read_bags(path)
    assert by_id(collection) == {"1": (["one", "two"], [False, True]), "2": (["three"], [False])}
    assert collection.split is None
    assert not read_bags(path, labelled=False).labelled


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"evidences": [[span("d1", 4, 7)]]},
            "a span must lie within the 6 words of document 'd1', got 4 to 7",
        ),
        ({"evidences": [[span("d1", 3, 2)]]}, "a span must lie within"),
        ({"evidences": [[span("d1", "0", 2)]]}, "a span must lie within"),
        ({"evidences": 3}, "evidences must be a list, got 3"),
        ({"evidences": [["d1"]]}, "evidences must be groups of spans"),
        ({"docids": ["nowhere"]}, "there is no document .*docs/nowhere"),
        ({"docids": ["../train.jsonl"]}, "there is no document"),
        ({"annotation_id": None}, "the annotation_id is missing"),
    ],
)
def test_bad_annotations_are_named(tmp_path, change, message):
    lines = [LINES["train"][1], {**LINES["train"][0], **change}]
    root = write(tmp_path / "set", train=lines)
    with pytest.raises(FoveateError, match=message) as caught:
        read_bags(root)
    assert str(caught.value).startswith(f"{root / 'train.jsonl'}, line 2: ")


def test_an_empty_rationale_is_skipped_with_a_warning(tmp_path):
    lines = [LINES["train"][1], {**LINES["train"][0], "evidences": [[span("d1", 2, 2)]]}]
    bags = read_bags(write(tmp_path / "set", train=lines))
    (problem,) = bags.reading_problems
    assert problem.severity == "warning"
    assert "a rationale covers no word and is skipped" in problem.what
    row = bags.ids.index(LINES["train"][0]["annotation_id"])
    assert bool(bags.known[row])
    assert not bool(bags.bag.z[row].any())


def test_an_annotation_without_a_class_is_an_unlabelled_bag(tmp_path):
    lines = [LINES["train"][1], {**LINES["train"][0], "classification": None}]
    bags = read_bags(write(tmp_path / "set", train=lines))
    assert int((~bags.label_known).sum()) == 1
    assert "no label" in bags.reading_problems[0].what


def test_an_empty_document_is_named(tmp_path):
    root = write(tmp_path / "set")
    (root / "docs" / "d2").write_text(" \n")
    with pytest.raises(FoveateError, match=r"docs/d2: the document is empty"):
        read_bags(root)
