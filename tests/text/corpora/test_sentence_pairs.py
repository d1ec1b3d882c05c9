"""Sentence pairs: words, shared pieces, stored sets in small."""

import gzip

import numpy as np
import pytest
import torch

from foveate.errors import FoveateError
from foveate.text.corpora import PAIRS, PairsRequest, load_pairs
from foveate.text.corpora import pieces as pieces_module
from foveate.text.corpora.news_commentary import commentary
from foveate.text.corpora.pieces import Pieces, in_pieces
from foveate.text.tokens import MARKS

EN = ["A man sleeps.", "Two men, one dog!", "A dog sleeps.", "One man runs."] * 5
DE = ["Ein Mann schläft.", "Zwei Männer, ein Hund!", "Ein Hund schläft.", "Ein Mann läuft."] * 5


def write_multi30k(store):
    for part, n in (("train", 20), ("validation", 3), ("test", 2)):
        store("multi30k", part, en=EN[:n], de=DE[:n])
    store("multi30k", "test_2017_flickr", en=["Other"], de=["Andere"])


def spelt(pairs, part):
    half = getattr(pairs, part)
    return [
        (pairs.source_vocabulary.text(half.source[i]), pairs.target_vocabulary.text(half.target[i]))
        for i in range(len(half))
    ]


def test_pieces_are_shared_and_spell_the_sentences(store):
    write_multi30k(store)
    pairs = load_pairs("multi30k", pieces=60)
    assert pairs.source_vocabulary is pairs.target_vocabulary
    assert len(pairs.source_vocabulary) == 60
    assert pairs.source_vocabulary.words[:4] == MARKS
    assert spelt(pairs, "train") == list(zip(EN, DE, strict=True))
    assert spelt(pairs, "test") == list(zip(EN[:2], DE[:2], strict=True))
    assert (len(pairs.validation), pairs.train.links) == (3, None)
    again = pairs.source_vocabulary.encode(pairs.source_words(EN[1]))
    assert again == pairs.train.source[1]


def test_words_are_numbered_for_each_language(store):
    write_multi30k(store)
    pairs = load_pairs("multi30k", unit="words", train=1)
    assert len(pairs.train) == 1
    (source, target) = spelt(pairs, "train")[0]
    row = [" ".join(words) for words in map(pairs.source_words, EN)].index(source)
    assert target == " ".join(pairs.target_words(DE[row]))
    assert set(pairs.source_vocabulary.words[4:]) == set(source.split())
    few, many = (load_pairs("multi30k", unit="words", train=n) for n in (3, 9))
    assert set(spelt(few, "train")) <= set(spelt(many, "train"))
    whole = load_pairs("multi30k", unit="words")
    assert spelt(whole, "train")[1] == ("two men , one dog !", "zwei männer , ein hund !")


def test_pieces_do_not_change_from_run_to_run():
    texts = [f"{a} {b}" for a, b in zip(EN, DE, strict=True)] * 3
    learnt = {pieces_module._train_tokenizer(texts, 80) for _ in range(3)}
    assert len(learnt) == 1


def test_pieces_separate_letters_from_punctuation_and_contain_no_marks():
    pieces, _ = in_pieces(EN + DE, 40, 200)
    for text in (*EN[:4], *DE[:4]):
        result = pieces.words(text)
        assert "".join(result).replace("▁", " ").strip() == text
        assert all(word.lstrip("▁").isalpha() or len(word) == 1 for word in result)
    odd = pieces.tokens(["A <s> man </s><pad>", "A ж dog"])
    assert odd.ids.min() >= 1
    assert not {2, 3} & set(odd.ids.tolist())
    assert 1 in odd[1]  # a letter that training lacks
    tight = pieces.tokens(["A  man\n\nsleeps. "])
    assert pieces.vocabulary.text(tight[0]) == "A man sleeps."


def test_pieces_come_from_training_texts_alone():
    first, _ = in_pieces([*EN, "zebra zebra zebra"], 20, 300)
    assert not any("z" in word for word in first.vocabulary.words)


def test_pieces_are_cached_and_rebuilt_if_the_file_is_damaged(cache, monkeypatch):
    parts = in_pieces(EN, 20, 50)
    (file,) = cache.rglob("*.npz")
    monkeypatch.setattr(pieces_module, "_train_tokenizer", lambda *_: pytest.fail("learnt twice"))
    again = in_pieces(EN, 20, 50)
    assert again[0].vocabulary.words == parts[0].vocabulary.words
    assert torch.equal(again[1].ids, parts[1].ids)
    assert torch.equal(again[1].start, parts[1].start)
    monkeypatch.undo()
    monkeypatch.setenv("FOVEATE_CACHE", str(cache))
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert torch.equal(in_pieces(EN, 20, 50)[1].ids, parts[1].ids)
    assert file.read_bytes()[:100] == whole[:100]
    in_pieces(EN, 20, 40)
    in_pieces(EN, 19, 50)
    in_pieces([*EN[1:], EN[0]], 20, 50)
    assert len(list(cache.rglob("*.npz"))) == 4


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FOVEATE_CACHE", str(tmp_path / "file"))
    assert len(in_pieces(EN, 20, 50)[1]) == 20


def test_pieces_of_another_make_are_refused():
    description = pieces_module._train_tokenizer(EN, 50).replace("<pad>", "[PAD]")
    with pytest.raises(FoveateError, match="must begin with the marks"):
        Pieces(description)


def test_iwslt_without_a_training_part_splits_its_validation_part(store):
    rows = {"de": [f"satz {i} &apos;s" for i in range(20)], "en": [f"line {i}" for i in range(20)]}
    store("iwslt14_de_en", "validation", **rows)
    store("iwslt14_de_en", "test", de=["eins"], en=["one"])
    pairs = load_pairs("iwslt14", unit="words")
    assert pairs.counts["train"] == 18
    assert pairs.counts["validation"] == 2
    assert pairs.counts["test"] == 1
    assert "no training part" in pairs.about
    assert all(a.split()[1] == b.split()[1] for a, b in spelt(pairs, "train"))
    assert spelt(pairs, "train")[0][0].endswith("&apos;s")
    others = spelt(load_pairs("iwslt14", unit="words", seed=1), "train")
    assert others != spelt(pairs, "train")
    store("iwslt14_de_en", "train", de=["a"] * 30, en=["b"] * 30)
    whole = load_pairs("iwslt14", unit="words")
    assert (len(whole.train), len(whole.validation)) == (30, 20)
    assert whole.about == "a sample of 30 of the 160,239 training pairs"


def test_news_commentary_without_numbers_nine_to_one(tmp_path, store):
    folder = store("news_commentary", "unused", a=["x"]).parent
    lines = [f"line {i}\tregel {i}" for i in range(20)] + ["", "12 %\t12 %", "1999\tjaar 1999"]
    (folder / "en-nl.tsv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    pairs = load_pairs("news_commentary", unit="words")
    assert (len(pairs.train), len(pairs.validation), len(pairs.test)) == (18, 2, 0)
    both = spelt(pairs, "train")
    assert [a.split()[1] for a, _ in both] == [b.split()[1] for _, b in both]
    (tmp_path / "a").write_text("".join(line.partition("\t")[0] + "\n" for line in lines[:20]))
    (tmp_path / "b").write_text("".join(line.partition("\t")[2] + "\n" for line in lines[:20]))
    files = commentary(PairsRequest(unit="words"), tmp_path / "a", tmp_path / "b")
    assert spelt(files, "train") == both
    (folder / "en-pt.tsv").write_text("a\tb\tc\n")
    with pytest.raises(FoveateError, match=r"one file of two columns .* got en-nl.tsv.gz, en-pt"):
        load_pairs("news_commentary")
    with pytest.raises(FoveateError, match=r"en-pt.tsv, line 1: must be two sentences"):
        commentary(PairsRequest(), folder / "en-pt.tsv")


GOLD = {
    "src_tokens": [["A", "Dog"], ["Yes", "!"], ["No"]],
    "tgt_tokens": [["Un", "chien"], ["Oui", "!"], ["Non"]],
    "sure": [[[0, 0], [1, 1]], [[0, 0]], []],
    "possible": [[[0, 1]], [], [[0, 0]]],
}


def test_gold_alignments_come_with_their_pairs(store):
    for part in ("train", "validation", "test"):
        rows = slice(0, 1) if part == "train" else slice(None)
        columns = {name: column[rows] for name, column in GOLD.items()}
        store("word_alignment/en_fr_hansards", part, **columns)
    pairs = load_pairs("hansards")
    assert pairs.train.links is None
    assert spelt(pairs, "test") == [("a dog", "un chien"), ("yes !", "oui !"), ("no", "non")]
    sure, possible = pairs.test.links.sets(3)
    assert sure == [{(0, 0), (1, 1)}, {(0, 0)}, set()]
    assert possible == [{(0, 1)}, set(), {(0, 0)}]
    with pytest.raises(FoveateError, match="links of 'hansards' are between words"):
        load_pairs("hansards", unit="pieces")


def test_gold_in_one_part_is_split_with_its_links(store):
    columns = {
        "src_tokens": [[f"s{i}"] * (i + 1) for i in range(10)],
        "tgt_tokens": [[f"t{i}"] for i in range(10)],
        "sure": [[[i, 0]] for i in range(10)],
        "possible": [[] for _ in range(10)],
    }
    columns["possible"][0] = [[0, 0]]
    store("word_alignment/de_en_europarl", "test", **columns)
    pairs = load_pairs("de_en")
    assert (len(pairs.train), len(pairs.validation), len(pairs.test)) == (9, 1, 0)
    for half in (pairs.train, pairs.validation):
        assert half.links.sure[:, 1].tolist() == (half.source.lengths - 1).tolist()
    assert "split by seed" in pairs.about


def test_machine_made_links_keep_their_places(store):
    for part in ("train", "validation", "test"):
        store(
            "multi30k_aligned_auto",
            part,
            en_tokens=[["The", "", "End"]],
            de_tokens=[["", "Ende"]],
            alignment=[[[2, 1]]],
        )
    pairs = load_pairs("multi30k_aligned_auto")
    assert spelt(pairs, "train") == [("the <unk> end", "<unk> ende")]
    assert pairs.train.links.sure.tolist() == [[0, 2, 1]]
    assert "machine" in pairs.about


def test_wrong_links_and_units_are_refused(store):
    rows = {"src_tokens": [["a"]], "tgt_tokens": [["b"]], "sure": [[[0, 1]]]}
    store("word_alignment/en_es_europarl", "train", **rows, possible=[[[0, 0]]])
    with pytest.raises(FoveateError, match="link 0-1 of pair 0"):
        load_pairs("en_es")
    with pytest.raises(FoveateError, match="'pieces' or 'words', got 'letters'"):
        load_pairs("made-up", unit="letters")
    with pytest.raises(FoveateError, match="pieces must be at least 1"):
        load_pairs("made-up", pieces=0)


def test_empty_sentences_are_left_out(store):
    write_multi30k(store)
    store("multi30k", "train", en=["A man.", " ", "A dog."], de=["Ein Mann.", "Ein Hund.", ""])
    assert spelt(load_pairs("multi30k", unit="words"), "train") == [("a man .", "ein mann .")]
    store("multi30k", "train", en=[" "], de=["x"])
    with pytest.raises(FoveateError, match="no training pairs"):
        load_pairs("multi30k")


def test_every_set_of_pairs_is_registered():
    assert set(PAIRS.names()) == {
        "de_en",
        "en_cs",
        "en_es",
        "en_sv",
        "hansards",
        "iwslt14",
        "made-up",
        "multi30k",
        "multi30k_aligned_auto",
        "news_commentary",
    }
    assert np.array_equal(load_pairs("made-up", train=5).train.links.possible.shape, (0, 3))
