"""A user's own files: what is read, and what is said of what cannot be read."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from foveate.errors import FoveateError
from foveate.io.tokenisation import whitespace_words
from foveate.text.corpora.user_files import kind_of, read_pairs, read_texts

ROWS = [("Good film!", "pos"), ("Bad, bad film", "neg"), ('A "so-so"\nfilm', "pos")]


def write_csv(path, rows=ROWS, header=("id", "Review", "Label")):
    quote = '"{}"'.format
    lines = [",".join(header)]
    lines += [f"{i},{quote(t.replace(chr(34), chr(34) * 2))},{y}" for i, (t, y) in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n")


def write_jsonl(path, rows=ROWS):
    path.write_text("".join(json.dumps({"label": y, "text": t}) + "\n" for t, y in rows))


def write_parquet(path, rows=ROWS):
    pq.write_table(
        pa.table({"class": [y for _, y in rows], "sentence": [t for t, _ in rows]}), path
    )


def write_tsv(path, rows=ROWS):
    path.write_bytes("\ufefftext\tlabel\r\n".encode())
    with path.open("a", newline="") as file:
        file.writelines(f"{t.replace(chr(10), ' ')}\t{y}\r\n" for t, y in rows)


def write_gz(path, rows=ROWS):
    plain = path.with_suffix("")
    write_jsonl(plain, rows)
    path.write_bytes(gzip.compress(plain.read_bytes()))


WRITERS = {
    "a.csv": write_csv,
    "a.jsonl": write_jsonl,
    "a.parquet": write_parquet,
    "a.tsv": write_tsv,
    "a.jsonl.gz": write_gz,
}


@pytest.mark.parametrize("name", WRITERS)
def test_labelled_texts_of_every_form_read_alike(tmp_path, name):
    WRITERS[name](tmp_path / name)
    assert kind_of(tmp_path / name) == "texts"
    texts = read_texts(str(tmp_path / name))
    rows = [" ".join(texts.vocabulary.decode(texts.train[i])) for i in range(3)]
    assert rows == ["good film !", "bad , bad film", 'a " so - so " film']
    assert texts.classes == ("neg", "pos")
    assert texts.y_train.tolist() == [1, 0, 1]
    assert len(texts.validation) == len(texts.y_validation) == 0


def test_columns_words_and_classes_can_be_named(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("a;b;text\nGood-ish film;2;x\nBad film;10;x\nBad;2;x\n")
    texts = read_texts(file, text="a", label="b", words=whitespace_words, least=2)
    assert texts.classes == ("2", "10")  # whole numbers by size
    assert texts.y_train.tolist() == [0, 1, 0]
    assert texts.vocabulary.words[4:] == ("bad", "film")
    inputs = read_texts(file, text="a", label="b", classes=["10", "2", "3"])
    assert inputs.classes == ("10", "2", "3")
    assert inputs.y_train.tolist() == [1, 0, 1]
    with pytest.raises(FoveateError, match=r"a.csv, line 3: label '10' is none of 2, 3"):
        read_texts(file, text="a", label="b", classes=["2", "3"])


def test_a_share_is_held_out_by_seed(tmp_path):
    write_jsonl(tmp_path / "a.jsonl", [(f"t{i}", str(i % 2)) for i in range(20)])
    draws = [read_texts(tmp_path / "a.jsonl", share=0.25, seed=seed) for seed in (0, 0, 1)]
    assert {(len(d.train), len(d.validation)) for d in draws} == {(15, 5)}
    words = [d.vocabulary.words[4:] for d in draws]
    assert words[0] == words[1] != words[2]
    assert (draws[0].validation.ids == 1).all()  # words are those of training
    assert [int(w[1:]) % 2 for w in draws[0].vocabulary.decode(draws[0].train.ids)] == draws[
        0
    ].y_train.tolist()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "line 1: must name the columns, is empty"),
        ("text,label\n", "has no rows"),
        ("text,label\na,1\n\nb,0\n", "line 3: is empty"),
        ("text,label\na,1\nb\n", "line 3: must have 2 columns as line 1 has, got 1"),
        ('text,label\n"a\nb",1\n"",0\n', "line 4: the text is empty"),
        ('text,label\n"a\nb",1\n" \n ",0\n', "line 4: the text is empty"),
        ("text,label\na,1\nb,\n", "line 3: the label is missing"),
        ("text,label\na,1\nb, \n", "line 3: the label is missing"),
        ("text,label\na,1\nb,1\n", "two classes are needed, all labels are '1'"),
        ('text,label\na,1\n"b,0\nc,1\n', "line 3: not CSV"),
        ("text,text\na,1\n", "two columns 'text'"),
        (
            "words,label\na,1\n",
            r"no column of texts known by its name \(text\); its columns are wo",
        ),
        ("text,grade\na,1\n", r"no column of labels known by its name \(label\)"),
    ],
)
def test_what_is_wrong_in_a_csv_file_is_named(tmp_path, text, why):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(FoveateError, match=r"a\.csv.*" + why):
        read_texts(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "line 2: is empty"),
        ("{text: 1}", "line 2: not JSON"),
        ("[1]", "line 2: must be one object"),
        ('{"text": 5, "label": 1}', "line 2: must be a text, got 5"),
        ('{"label": 1}', "line 2: the text is empty"),
        ('{"text": "b"}', "line 2: the label is missing"),
        ('{"text": "b", "label": NaN}', "line 2: the label is missing or no class, got nan"),
        ('{"text": "b", "label": [1]}', r"line 2: must be a label, got \[1\]"),
    ],
)
def test_what_is_wrong_in_json_lines_is_named(tmp_path, line, why):
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "a", "label": 0}\n' + line + '\n{"text": "c", "label": 1}\n')
    with pytest.raises(FoveateError, match=r"a\.jsonl, " + why):
        read_texts(file)


def test_what_is_wrong_in_parquet_is_named_by_row(tmp_path):
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", None], "label": [1.0, 0.0]}), file)
    with pytest.raises(FoveateError, match=r"a.parquet, row 2: the text is empty"):
        read_texts(file)
    pq.write_table(pa.table({"text": ["a", "b"], "label": [1.0, 0.0]}), file)
    assert read_texts(file).classes == ("0", "1")
    file.write_bytes(b"PAR1 no")
    with pytest.raises(FoveateError, match="not a complete Parquet file"):
        read_texts(file)
    for missing in ("b.parquet", "b.csv"):
        with pytest.raises(FoveateError, match="there is no file"):
            read_texts(tmp_path / missing)


def test_the_encoding_must_be_utf_8(tmp_path):
    for name in ("a.csv", "a.jsonl"):
        (tmp_path / name).write_bytes('text,label\n"x",1\n{"text":"é"}\n'.encode("latin-1"))
    with pytest.raises(FoveateError, match=r"a.csv, line 3: must be UTF-8, got the byte 0xe9"):
        read_texts(tmp_path / "a.csv")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"text": "a", "label": 1}\n' * 99)[:60])
    with pytest.raises(FoveateError, match=r"b.jsonl.gz cannot be read"):
        read_texts(tmp_path / "b.jsonl.gz")
    with pytest.raises(FoveateError, match=r"a.txt: a table must end in .csv, .tsv"):
        read_texts(tmp_path / "a.txt")


PAIRED = [("A dog", "Ein Hund"), ("Yes!", "Ja!")]


def paired(path, form):
    source, target = zip(*PAIRED, strict=True)
    if form == "csv":
        path.write_text("src,tgt\n" + "".join(f"{a},{b}\n" for a, b in PAIRED))
    elif form == "jsonl":
        rows = [{"translation": {"en": a, "de": b}} for a, b in PAIRED]
        path.write_text("\n".join(map(json.dumps, rows)))
    elif form == "flat":
        pq.write_table(pa.table({"id": [1, 2], "en": source, "de": target}), path)
    else:
        rows = [{"en": a, "de": b} for a, b in PAIRED]
        pq.write_table(pa.table({"id": [1, 2], "translation": rows}), path)


@pytest.mark.parametrize("form", ["csv", "jsonl", "flat", "nested"])
def test_pairs_of_every_form_read_alike(tmp_path, form):
    path = tmp_path / f"a.{'parquet' if form in ('flat', 'nested') else form}"
    paired(path, form)
    assert kind_of(path) == "pairs"
    pairs = read_pairs(path)
    spelt = [
        (pairs.source_vocabulary.text(pairs.train.source[i]), pairs.train.target.lengths[i])
        for i in range(2)
    ]
    assert spelt == [("a dog", 2), ("yes !", 2)]
    assert pairs.target_vocabulary.text(pairs.train.target[0]) == "ein hund"
    if form != "csv":
        back = read_pairs(path, source="de", target="en")
        assert back.source_vocabulary.text(back.train.source[0]) == "ein hund"
    with pytest.raises(FoveateError, match=r"has no column 'fr'; its columns are"):
        read_pairs(path, source="fr")


def test_lines_are_paired_by_what_spaces_part(tmp_path):
    source, target = tmp_path / "s.txt", tmp_path / "t.txt"
    source.write_text("Don't go !\nYes\tsir\n")
    target.write_text("Geh nicht !\r\nJa\r\n", newline="")
    pairs = read_pairs(source, target)
    assert [pairs.train.source.lengths.tolist(), pairs.train.target.lengths.tolist()] == [
        [3, 2],
        [3, 1],
    ]
    assert pairs.source_vocabulary.text(pairs.train.source[0]) == "don't go !"
    assert len(pairs.validation) == len(pairs.test) == 0
    halves = read_pairs(source, target, share=0.5)
    assert (len(halves.train), len(halves.validation)) == (1, 1)


@pytest.mark.parametrize(
    ("source", "target", "why"),
    [
        ("a\nb\nc\n", "x\ny\n", r"s.txt has 3 lines and .*t.txt 2: line 3 has no partner"),
        ("a\n", "x\ny\n\n", r"s.txt has 1 lines and .*t.txt 3: line 2 has no partner"),
        ("a\n\nc\n", "x\ny\nz\n", r"s.txt, line 2: the text is empty"),
        ("a\nb\nc\n", "x\ny\n \t\n", r"t.txt, line 3: the text is empty"),
        ("", "", "are empty"),
    ],
)
def test_lines_that_do_not_pair_up_are_named(tmp_path, source, target, why):
    (tmp_path / "s.txt").write_text(source)
    (tmp_path / "t.txt").write_text(target)
    with pytest.raises(FoveateError, match=why):
        read_pairs(tmp_path / "s.txt", tmp_path / "t.txt")


def test_tables_that_are_neither_are_refused(tmp_path):
    for header in ("a,b", "text,label,en,de", "en,de,fr"):
        (tmp_path / "a.csv").write_text(header + "\n")
        with pytest.raises(FoveateError, match=r"must hold labelled texts .* or sentence pairs"):
            kind_of(tmp_path / "a.csv")
    with pytest.raises(FoveateError, match="no column of source sentences"):
        read_pairs(tmp_path / "a.csv")


def test_a_large_file_is_held_as_numbers(tmp_path):
    import tracemalloc

    file = tmp_path / "a.jsonl"
    line = json.dumps({"text": "some words that come again and again " * 50, "label": 0}) + "\n"
    with file.open("w") as out:
        for i in range(200):
            out.write(line.replace('"label": 0', f'"label": {i % 2}'))
    assert file.stat().st_size > 3.5e5
    read_texts(file)  # imports are not what is measured
    tracemalloc.start()
    texts = read_texts(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert texts.train.lengths.eq(350).all()
    assert torch.equal(texts.y_train, torch.arange(200) % 2)
    # 4 + 8 + 8 bytes to a word while it is numbered anew, where its text takes over 50
    assert peak < 25 * len(texts.train.ids)
