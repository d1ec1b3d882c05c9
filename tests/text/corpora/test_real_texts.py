"""The real data sets, where FOVEATE_DATA has them: counts against what the files hold."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

from foveate.io.tokenisation import words
from foveate.text.corpora import load_pairs, load_texts
from foveate.text.tokens import UNKNOWN, Vocabulary, batches
from real_data import data_folder

pytestmark = pytest.mark.data


def column(path: Path, part: str, name: str) -> list:
    return pq.read_table(next(path.glob(f"{part}-*.parquet")), columns=[name]).column(0).to_pylist()


@pytest.mark.parametrize(
    ("name", "where", "train", "validation", "median", "vocabulary"),
    [
        ("ag_news", "ag_news", [4670, 4428], [1900, 1900], 46, 9254),
        ("amazon", "multi_domain_sentiment", [2899, 2897], [728, 732], 94, 11017),
        ("newsgroups", "newsgroups_baseball_hockey", [575, 585], [383, 390], 95, 5269),
        ("sms", "sms_spam", [3074, 426], [1444, 216], 15, 2097),
        ("sst", "sst", [3310, 3610], [912, 909], 19, 4820),
        ("yelp", "yelp_polarity_sample", [419, 381], [99, 101], 120, 3269),
    ],
)
def test_texts_have_the_counts_of_the_files(name, where, train, validation, median, vocabulary):
    data_folder(where)
    texts = load_texts(name)
    assert torch.bincount(texts.y_train).tolist() == train
    assert torch.bincount(texts.y_validation).tolist() == validation
    assert texts.counts == {
        "train": sum(train),
        "validation": sum(validation),
        "median length": median,
        "vocabulary": vocabulary,
    }
    used = texts.train.ids[texts.train.ids >= 4]
    assert torch.bincount(used)[4:].min() == 3  # rarer words are unknown
    assert (texts.validation.ids == UNKNOWN).any()


def test_ag_news_keeps_no_long_integer_and_all_of_two_classes():
    path = data_folder("ag_news")
    texts = load_texts("ag_news")
    assert not [word for word in texts.vocabulary.words if word.isdigit() and len(word) > 1]
    label = column(path, "test", "label")
    assert len(texts.validation) == sum(y in (0, 2) for y in label) == 3800


def test_newsgroups_cut_at_underscores():
    path = data_folder("newsgroups_baseball_hockey")
    assert not [w for w in load_texts("newsgroups").vocabulary.words if "_" in w]
    texts = column(path, "train", "text")
    assert len(load_texts("newsgroups").train) == sum(bool(text.strip()) for text in texts)


def test_no_sms_is_on_both_sides():
    path = data_folder("sms_spam")
    texts = load_texts("sms", least=1)
    assert len(texts.train) == 3500
    unique = {text.strip() for text in column(path, "train", "sms")}
    assert len(texts.train) + len(texts.validation) == len(unique)
    assert texts.train.lengths.sum() + texts.validation.lengths.sum() == sum(
        len(words(text)) for text in unique
    )


def test_imdb_draws_4000_of_the_test_part_and_pads_little():
    data_folder("imdb")
    texts = load_texts("imdb")
    assert texts.counts == {
        "train": 24965,  # 35 reviews are in the test part too
        "validation": 4000,
        "median length": 201,
        "vocabulary": 39875,
    }
    assert torch.bincount(texts.y_train).tolist() == [12465, 12500]
    assert texts.about.startswith("a part of IMDB: 25,000 training and 5,000 test reviews")
    assert "br" not in texts.vocabulary.words[:2000]
    rng = torch.Generator().manual_seed(0)
    lengths = texts.train.lengths
    held = sum(len(rows) * int(lengths[rows].max()) for rows in batches(lengths, 32, rng))
    assert 1 - int(lengths.sum()) / held < 0.1


def test_multi30k_has_the_official_parts_in_8000_shared_pieces():
    path = data_folder("multi30k")
    pairs = load_pairs("multi30k")
    assert pairs.counts == {
        "train": 29000,
        "validation": 1014,
        "test": 1000,
        "median source": 13,
        "median target": 14,
        "source vocabulary": 8000,
        "target vocabulary": 8000,
    }
    german = column(path, "test", "de")
    spelt = [pairs.target_vocabulary.text(pairs.test.target[i]) for i in range(1000)]
    # NFKC changes a few signs, and letters that training lacks are unknown
    assert sum(a == b for a, b in zip(spelt, german, strict=True)) > 990
    assert (pairs.train.source.ids != UNKNOWN).all()


def test_multi30k_in_words_numbers_the_words_of_training():
    path = data_folder("multi30k")
    pairs = load_pairs("multi30k", unit="words")
    words_of_file = Vocabulary.of(map(words, column(path, "train", "en")))
    assert pairs.source_vocabulary.words == words_of_file.words
    assert pairs.validation.source[0] == words_of_file.encode(
        words(column(path, "validation", "en")[0])
    )


def test_iwslt_has_a_sample_of_the_training_part():
    data_folder("iwslt14_de_en")
    pairs = load_pairs("iwslt14", unit="words")
    sizes = pairs.counts["train"], pairs.counts["validation"], pairs.counts["test"]
    assert sizes == (8281, 7282, 6750)
    assert pairs.about == "a sample of 8,281 of the 160,239 training pairs"


@pytest.mark.parametrize(
    ("name", "sizes", "sure", "possible"),
    [
        ("hansards", (2383, 37, 447), 4038 + 338, 13400 + 1446),
        ("de_en", (89, 10, 0), 1220, 0),
        ("en_cs", (2250, 250, 0), 40054 + 4238, 0),
        ("en_sv", (1048, 116, 0), 21368 + 2398, 0),
        ("en_es", (90, 10, 0), 757 + 78, 0),
    ],
)
def test_gold_alignments_have_the_published_counts(name, sizes, sure, possible):
    data_folder("word_alignment")
    pairs = load_pairs(name)
    parts = (pairs.train, pairs.validation, pairs.test)
    assert tuple(map(len, parts)) == sizes
    links = [part.links for part in parts if part.links is not None]
    assert sum(len(part.sure) for part in links) == sure
    assert sum(len(part.possible) for part in links) == possible
    assert all((part.source.ids != UNKNOWN).all() for part in parts)  # of all parts


def test_machine_made_links_stand_at_the_words_they_name():
    path = data_folder("multi30k_aligned_auto")
    pairs = load_pairs("multi30k_aligned_auto")
    assert tuple(map(len, (pairs.train, pairs.validation, pairs.test))) == (29000, 1014, 1000)
    sure, _ = pairs.train.links.sets(29000)
    english = column(path, "train", "en_tokens")
    for row in range(0, 29000, 100):
        spelt = pairs.source_vocabulary.decode(pairs.train.source[row])
        assert spelt == [word.lower() or "<unk>" for word in english[row]]
    inputs = column(path, "train", "alignment")
    assert all(sure[row] == set(map(tuple, inputs[row])) for row in range(0, 29000, 50))
