"""align, diagnose and read as a user types them: what they write, and how they refuse."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foveate.cli import main
from foveate.metrics.alignment import alignment_scores, pharaoh, read_pharaoh
from foveate.randomness import generator
from foveate.text.corpora import load_pairs, load_texts
from foveate.text.corpora.copying import copying
from foveate.text.models.stored_reader import load_reader
from foveate.text.statistics.diagonal import fit_diagonal
from foveate.text.statistics.hmm import fit_hmm
from foveate.text.statistics.ibm1 import fit_ibm1

from .typed import call, complain, contents, succeed


def refuse(folder, *arguments):
    """The sentence of a command that must fail, and leave nothing behind."""
    before = contents(folder)
    output = complain(*arguments)
    assert contents(folder) == before
    return output


@pytest.fixture
def pairs(workdir):
    """Made-up sentences in two files, and their gold links."""
    data = load_pairs("made-up", train=120)
    sides = (data.train.source, data.source_vocabulary), (data.train.target, data.target_vocabulary)
    for (tokens, vocabulary), name in zip(sides, ("s.txt", "t.txt"), strict=True):
        lines = (" ".join(vocabulary.decode(tokens[i])).title() for i in range(120))
        (workdir / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    sure, _ = data.train.links.sets(120)
    (workdir / "gold.txt").write_text("".join(f"{pharaoh(links)}\n" for links in sure))
    return data.train


@pytest.fixture
def texts(workdir):
    """Keyword sentences as CSV."""
    data = load_texts("keywords", train=160)
    with (workdir / "texts.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        for i in range(160):
            words = " ".join(f"w{word}" for word in data.vocabulary.decode(data.train[i])[:12])
            label = data.classes[int("w1" in words.split())]
            rows.writerow([words, label])
    return workdir / "texts.csv"


@pytest.mark.parametrize("iterations", [1, 3])
def test_align_writes_the_links_of_model_1(pairs, workdir, iterations):
    out = succeed("align", "s.txt", "t.txt", "--out", "a.txt", "--iterations", iterations)
    assert out == "120 pairs: a.txt\n"
    model = fit_ibm1(pairs.source, pairs.target, iterations=iterations)
    assert read_pharaoh(workdir / "a.txt") == model.align(pairs.source, pairs.target)


def test_align_scores_against_gold(pairs, workdir):
    out = succeed("align", "s.txt", "t.txt", "--out", "a.txt", "--gold", "gold.txt")
    scores = alignment_scores(read_pharaoh(workdir / "a.txt"), read_pharaoh(workdir / "gold.txt"))
    for name, value in zip(("AER", "precision", "recall"), scores[:3], strict=True):
        assert f"{name:<9} {value:.3f} [" in out


def test_only_lines_with_gold_are_scored(pairs, workdir):
    """Gold for the first 20 of 120 pairs: scores are those of these pairs alone."""
    gold = (workdir / "gold.txt").read_text().splitlines()[:20]
    (workdir / "gold.txt").write_text("\n".join(gold + [""] * 100) + "\n")
    out = succeed("align", "s.txt", "t.txt", "--out", "a.txt", "--gold", "gold.txt")
    scores = alignment_scores(
        read_pharaoh(workdir / "a.txt")[:20], read_pharaoh(workdir / "gold.txt")[:20]
    )
    assert "scored on the 20 of 120 pairs that have gold links\n" in out
    assert f"AER       {scores.aer:.3f} [" in out
    (workdir / "gold.txt").write_text("\n" * 120)
    arguments = ("align", "s.txt", "t.txt", "--out", "b.txt", "--gold", "gold.txt")
    assert "gold.txt has no links" in refuse(workdir, *arguments)


@pytest.mark.parametrize("method", ["ibm1-diagonal", "hmm"])
def test_align_by_position_models(pairs, workdir, method):
    fit = {"hmm": fit_hmm, "ibm1-diagonal": fit_diagonal}[method]
    flags = ("--method", method, "--report", "a.html", "--gold", "gold.txt")
    succeed("align", "s.txt", "t.txt", "--out", "a.txt", *flags)
    expected = fit(pairs.source, pairs.target).align(pairs.source, pairs.target)
    assert read_pharaoh(workdir / "a.txt") == expected
    count = 4 if method == "hmm" else 5
    assert f"iteration {count} of {count}" in (workdir / "a.html").read_text()


def test_align_with_null(pairs, workdir):
    succeed("align", "s.txt", "t.txt", "--out", "a.txt", "--null", "--report", "a.html")
    model = fit_ibm1(pairs.source, pairs.target, null=True)
    assert read_pharaoh(workdir / "a.txt") == model.align(pairs.source, pairs.target)


def test_possible_links_count_as_such(workdir):
    (workdir / "s.txt").write_text("a b\nb a\n")
    (workdir / "t.txt").write_text("x y\ny x\n")
    (workdir / "gold.txt").write_text("0-0 1?1\n0-0 1-1?\n")
    out = succeed("align", "s.txt", "t.txt", "--out", "a.txt", "--gold", "gold.txt")
    result = read_pharaoh(workdir / "a.txt")
    wanted = alignment_scores(result, [{(0, 0)}] * 2, [{(1, 1)}] * 2)
    assert f"AER       {wanted.aer:.3f}" in out
    assert f"recall    {wanted.recall:.3f}" in out


def test_symmetrisation_keeps_links_of_both_directions(pairs, workdir):
    links = {}
    for how in ("none", "intersection", "grow"):
        succeed("align", "s.txt", "t.txt", "--out", "a.txt", "--symmetrise", how)
        links[how] = read_pharaoh(workdir / "a.txt")
    for one, both, grown in zip(*links.values(), strict=True):
        assert both <= one
        assert both <= grown
    assert links["intersection"] != links["none"]


def test_align_shows_matrices(pairs, workdir):
    out = succeed(
        "align", "s.txt", "t.txt", "--out", "a.txt", "--report", "a.html", "--gold", "gold.txt"
    )
    assert out.endswith("page: a.html\n")
    page = (workdir / "a.html").read_text()
    assert "iteration 5 of 5" in page
    assert page.count("<table class=") == 12
    assert 'class="sure predicted"' in page


def test_align_by_attention(pairs, workdir):
    flags = ("--method", "attention", "--steps", "30", "--report", "a.html")
    out = succeed("align", "s.txt", "t.txt", "--out", "a.txt", *flags)
    assert out.splitlines()[0] == "120 pairs: a.txt"
    for i, links in enumerate(read_pharaoh(workdir / "a.txt")):
        assert sorted(t for _, t in links) == list(range(int(pairs.target.lengths[i])))
        assert all(folder < int(pairs.source.lengths[i]) for folder, _ in links)
    page = (workdir / "a.html").read_text()
    assert "step 30 of 30" in page
    assert "&lt;unk" not in page  # words are shown as they were written


def test_attention_is_warned_of_where_nothing_can_be_learnt(workdir):
    x, _ = copying("permutation", 40, generator("cli"), 5)
    lines = "".join(" ".join(map(str, row)) + "\n" for row in x.tolist())
    (workdir / "s.txt").write_text(lines)
    flags = ("--method", "attention", "--steps", "1", "--out", "a.txt")
    code, _, err = call("align", "s.txt", "s.txt", *flags)
    assert code == 0
    assert err.splitlines() == [
        "Attention is unlikely to be learnt. No word is more informative about the output than the "
        "others of its sentence: by word counts, all positions are equal."
    ]


def test_diagnose_texts(texts, workdir):
    out = succeed("diagnose", texts)
    assert out.startswith("Attention is likely to be learnt.")
    assert "words: w1 → with" in out
    assert out.endswith("page: diagnosis.html\n")
    assert "Will attention be learnt on texts.csv?" in (workdir / "diagnosis.html").read_text()


def test_diagnose_pairs_as_json(pairs, workdir):
    result = json.loads(succeed("diagnose", "s.txt", "t.txt", "--json"))
    assert result["verdict"] == "likely"
    assert result["sentences"] == 120
    assert len(result["control"]) == 20
    assert result["information"] > max(result["control"])
    assert not list(workdir.glob("*.html"))


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_diagnose_reads_tables_by_columns(pairs, workdir, form):
    sides = [(workdir / name).read_text().splitlines() for name in ("s.txt", "t.txt")]
    columns = {"english": sides[0], "other": sides[1]}
    path = workdir / f"pairs.{form}"
    if form == "parquet":
        pq.write_table(pa.table(columns), path)
    else:
        rows = ({"english": a, "other": b} for a, b in zip(*sides, strict=True))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = ("--source", "english", "--target", "other", "--json")
    assert json.loads(succeed("diagnose", path, *flags))["verdict"] == "likely"


def test_diagnose_says_unlikely_of_permutations(workdir):
    x, _ = copying("permutation", 60, generator("cli"), 6)
    lines = "".join(" ".join(map(str, row)) + "\n" for row in x.tolist())
    (workdir / "s.txt").write_text(lines)
    assert succeed("diagnose", "s.txt", "s.txt").startswith("Attention is unlikely to be learnt.")


def test_read_trains_and_writes_a_page(texts, workdir):
    flags = ("--steps", "30", "--d", "8", "--embedding", "8", "--shown", "4")
    out = succeed("read", texts, *flags)
    assert out.splitlines()[0].startswith("step 30 of 30: ")
    page = (workdir / "texts.html").read_text()
    assert page.count("<article") == 4
    assert "What a reader looks at in texts.csv" in page
    assert "truly <bdi>with</bdi>" in page
    assert "truly <bdi>without</bdi>" in page


def test_read_writes_numbers_tokens_and_model(texts, workdir):
    flags = ("--steps", "30", "--d", "8", "--embedding", "8")
    out = succeed("read", texts, *flags, "--out", "page.html")
    numbers = json.loads((workdir / "page.numbers.json").read_text())
    assert f"A(α, β) {numbers['agreement']['alpha, beta']['A_fair']:.2f}" in out
    assert numbers["rationales"] is None
    with (workdir / "page.tokens.csv").open() as file:
        tokens = list(csv.DictReader(file))
    words = texts.read_text().splitlines()[1 + int(tokens[0]["row"])].split(",")[0].split()
    rows = [token for token in tokens if token["row"] == tokens[0]["row"]]
    assert [token["word"] for token in rows] == words
    assert sum(float(token["alpha"]) for token in rows) == pytest.approx(1, abs=1e-5)
    assert len({token["row"] for token in tokens}) == numbers["texts"]
    assert load_reader(workdir / "page.model.safetensors").classes == ("with", "without")


def test_read_takes_three_classes_and_rationales(workdir):
    rng = np.random.default_rng(0)
    rows = []
    for i in range(150):
        words = [f"w{k}" for k in rng.integers(30, size=8)]
        at = int(rng.integers(8))
        words[at] = ("red", "green", "blue")[i % 3]
        flags = [int(k == at) for k in range(8)]
        rows.append({"text": " ".join(words), "label": words[at], "why": flags})
    (workdir / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = ("--steps", "150", "--d", "8", "--embedding", "8", "--lr", "0.02")
    out = succeed("read", "x.jsonl", *flags, "--rationale", "why", "--table", "parquet")
    numbers = json.loads((workdir / "texts.numbers.json").read_text())
    assert numbers["accuracy"] > 0.9
    assert numbers["rationales"]["texts"] == numbers["texts"]
    assert numbers["rationales"]["alpha"]["auc"] > 0.8
    assert "rationales: α on them" in out
    table = pq.read_table(workdir / "texts.tokens.parquet")
    assert table.column_names[-1] == "rationale"
    assert "says" in (workdir / "texts.html").read_text()


def test_users_words_are_shown_as_written_and_escaped(workdir):
    rng = np.random.default_rng(0)
    words = ["<script>alert(1)</script>", "fine", "bad", "“so”", "😀"]
    rows = []
    for i in range(60):
        some = [words[k] for k in rng.integers(5, size=6)] + [f"once{i}"]
        rows.append({"text": " ".join(some), "label": "</script>" if i % 2 else "<b>"})
    (workdir / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    succeed("read", "x.jsonl", "--steps", "1", "--d", "4", "--embedding", "4", "--out", "x.html")
    page = (workdir / "x.html").read_text()
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert page.count("</script>") == 2
    assert "once" in page
    succeed("diagnose", "x.jsonl", "--out", "d.html")
    assert "<script" not in (workdir / "d.html").read_text()


def table(*rows):
    return "".join(",".join(row) + "\n" for row in (("text", "label"), *rows))


GOOD = [("a good film", "pos"), ("a bad film", "neg")] * 20


@pytest.mark.parametrize("command", ["diagnose", "read"])
@pytest.mark.parametrize(
    ("content", "output"),
    [
        (table(*GOOD, ("", "pos")), "x.csv, line 42: the text is empty"),
        (table(*GOOD, ("film", "")), "x.csv, line 42: the label is missing"),
        (table(*[(t, "pos") for t, _ in GOOD]), "x.csv: two classes are needed, all labels"),
        (table(*GOOD).encode() + b"caf\xe9,pos\n", "x.csv, line 42: must be UTF-8, got the byte"),
        ("words,mark\na,b\n", "x.csv"),
        ("", "x.csv, line 1: must name the columns, is empty"),
    ],
)
def test_bad_texts_are_named_by_file_line_and_reason(workdir, command, content, output):
    data = content if isinstance(content, bytes) else content.encode()
    (workdir / "x.csv").write_bytes(data)
    assert output in refuse(workdir, command, "x.csv", "--out", "out.html")


@pytest.mark.parametrize("command", ["diagnose", "read"])
def test_an_unknown_label_is_named(workdir, command):
    (workdir / "x.csv").write_text(table(*GOOD, ("so so", "meh")))
    output = refuse(workdir, command, "x.csv", "--classes", "neg,pos", "--out", "out.html")
    assert output == "x.csv, line 42: label 'meh' is none of neg, pos"


@pytest.mark.parametrize("command", ["align", "diagnose"])
@pytest.mark.parametrize(
    ("source", "target", "output"),
    [
        ("a b\nc\nd\n", "x\ny\n", "s.txt has 3 lines and t.txt 2: line 3 has no partner"),
        ("a b\n\nd\n", "x\ny\nz\n", "s.txt, line 2: the text is empty"),
        ("a b\nc\nd\n", "x\ny\n \n", "t.txt, line 3: the text is empty"),
        ("", "", "s.txt and t.txt are empty"),
        (
            b"a\n\xff\xfe\n",
            b"x\ny\n",
            "s.txt, line 2: must be UTF-8, got the byte 0xff: save the file as UTF-8",
        ),
    ],
)
def test_bad_pairs_are_named_by_file_line_and_reason(workdir, command, source, target, output):
    for name, content in (("s.txt", source), ("t.txt", target)):
        (workdir / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert refuse(workdir, command, "s.txt", "t.txt", "--out", "out") == output


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("0_1", "gold.txt, line 3: links must be pairs like 0-1, or 0?1 if possible, got '0_1'"),
        ("0-99", "gold.txt, line 3: link 0-99 is outside a pair of"),
    ],
)
def test_bad_gold_is_named(pairs, workdir, line, output):
    lines = (workdir / "gold.txt").read_text().splitlines()
    lines[2] = line
    (workdir / "gold.txt").write_text("\n".join(lines))
    arguments = ("align", "s.txt", "t.txt", "--out", "a.txt", "--gold", "gold.txt")
    assert refuse(workdir, *arguments).startswith(output)
    (workdir / "gold.txt").write_text("0-0\n")
    assert "must have a line for each of 120 pairs, has 1" in refuse(workdir, *arguments)
    (workdir / "gold.txt").write_text("0-0\n" * 121)
    assert "line 121: there are only 120 pairs" in refuse(workdir, *arguments)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (("align", "s.txt", "t.txt"), "--out"),
        (("align", "s.txt", "t.txt", "--out", "no/a.txt"), "there is no folder no"),
        (("align", "s.txt", "t.txt", "--out", "."), "it is a folder"),
        (("align", "s.txt", "no.txt", "--out", "a.txt"), "there is no file no.txt"),
        (("align", "s.txt", "t.txt", "--out", "a", "--iterations", "0"), "iterations must be at"),
        (("align", "s.txt", "t.txt", "--out", "a", "--method", "magic"), "magic"),
        (("diagnose", "s.txt"), "a table must end in .csv"),
        (("diagnose", "s.txt", "t.txt", "--label", "y"), "labelled texts or sentence pairs"),
        (("diagnose", "s.txt", "t.txt", "--source", "y"), "name columns of a table"),
        (("read", "texts.csv", "--steps", "0"), "steps must be at least 1, got 0"),
        (("read", "texts.csv", "--share", "1"), "share must be between 0 and 1, got 1"),
        (("read", "texts.csv", "--text", "nope"), "texts.csv has no column 'nope'"),
        (("read", "texts.csv", "--classes", "a"), "--classes takes different names"),
        (("read", "texts.csv", "--lr", "0"), "lr must be above 0, got 0"),
    ],
)
def test_bad_arguments_are_one_sentence(pairs, texts, workdir, arguments, output):
    assert output in refuse(workdir, *arguments)


def test_three_classes_can_be_diagnosed_and_read(workdir):
    rows = [("good one", "a"), ("bad one", "b"), ("so one", "c")] * 30
    (workdir / "x.csv").write_text(table(*rows))
    assert json.loads(succeed("diagnose", "x.csv", "--json"))["verdict"] == "likely"
    assert "held-out texts" in succeed("read", "x.csv", "--steps", "5", "--d", "4")


def test_too_few_sentences_are_reported(workdir):
    (workdir / "x.csv").write_text(table(*GOOD[:10]))
    assert refuse(workdir, "diagnose", "x.csv") == "30 sentences are needed at least, got 10"


def test_an_interrupted_page_leaves_the_old_one(texts, workdir, monkeypatch):
    (workdir / "old.html").write_text("old")
    monkeypatch.setattr("foveate.report.pages.diagnosis.render_page", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["diagnose", str(texts), "--out", "old.html", "--overwrite"])
    assert (workdir / "old.html").read_text() == "old"
    assert {p.name for p in workdir.iterdir()} == {"old.html", "texts.csv"}


@pytest.mark.data
def test_imdb_promises_attention(workdir):
    import os
    from pathlib import Path

    (path,) = (Path(os.environ["FOVEATE_DATA"]) / "imdb").glob("train*.parquet")
    result = json.loads(succeed("diagnose", path, "--json"))
    assert result["verdict"] == "likely"
    assert result["without"] < 0.1
    assert {"bad", "worst", "waste", "awful"} <= {c["word"] for c in result["words"]}
