"""Stored data sets in small: which rows, which words, which labels."""

import json

import pytest
import torch

from foveate.errors import FoveateError
from foveate.text.corpora import TEXTS, load_texts


def spelt(texts, part):
    tokens, y = (
        (texts.train, texts.y_train) if part == "train" else (texts.validation, texts.y_validation)
    )
    rows = [" ".join(texts.vocabulary.decode(tokens[i])) for i in range(len(tokens))]
    return sorted(zip(rows, y.tolist(), strict=True))


def test_imdb(store):
    store("imdb", "train", text=["Good<br />film 10", "Bad film 10", "Both parts"], label=[1, 0, 1])
    store("imdb", "test", text=["Bad film", "Both parts"], label=[0, 1])
    texts = load_texts("imdb", least=1)
    assert spelt(texts, "train") == [("bad film 10", 0), ("good film 10", 1)]
    assert {text for text, _ in spelt(texts, "validation")} == {"bad film", "<unk> <unk>"}
    assert texts.classes == ("negative", "positive")
    assert "3 training and 2 test reviews of 25,000 each" in texts.about


def test_ag_news_is_world_against_business(store):
    for part in ("train", "test"):
        store("ag_news", part, text=["War 1999", "Goal", "Bank 7", "Chip"], label=[0, 1, 2, 3])
    texts = load_texts("ag_news", least=1)
    assert spelt(texts, "train") == [("bank 7", 1), ("war <unk>", 0)]
    assert texts.classes == ("world", "business")


def test_newsgroups_drops_empty_messages(store):
    for part in ("train", "test"):
        store(
            "newsgroups_baseball_hockey",
            part,
            text=["the_bat", "", " \n_ ", "puck"],
            label=[0, 0, 1, 1],
        )
    texts = load_texts("newsgroups", least=1)
    assert spelt(texts, "validation") == [("puck", 1), ("the bat", 0)]


def test_newsgroups_as_the_hub_has_them(store):
    file = store("newsgroups_baseball_hockey", "train", text=["x"], label=[0])
    file.unlink()
    groups = ["sci.med", "rec.sport.hockey", "rec.sport.baseball"]
    lines = [
        {"text": name[-3:], "label": i + 8, "label_text": name} for i, name in enumerate(groups)
    ]
    for part in ("train", "test"):
        (file.parent / f"{part}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    texts = load_texts("newsgroups", least=1)
    assert spelt(texts, "train") == [("all", 0), ("key", 1)]


@pytest.mark.parametrize("hub", [False, True])
def test_sst_leaves_the_neutral_out_and_keeps_punctuation(store, hub):
    rows = [["Good", "fun", "!"], ["So-so"], ["Bad", "8\xa01/2"], ["Meh"], ["Fine"]]
    for part in ("train", "test"):
        if hub:
            tokens, labels = ["|".join(row) for row in rows], [0.9, 0.6, 0.4, 0.41, 0.61]
        else:
            tokens, labels = rows, [4, 2, 1, 2, 3]
        store("sst", part, tokens=tokens, label=labels)
    texts = load_texts("sst", least=1)
    assert spelt(texts, "train") == [("bad 8\xa01/2", 0), ("fine", 1), ("good fun !", 1)]


def test_amazon_keeps_short_texts_and_pools_the_held_out_parts(store):
    long, short = "w " * 400, "w " * 399
    store("multi_domain_sentiment", "train", text=[long, short], label=[0, 1])
    store("multi_domain_sentiment", "validation", text=["bad"], label=[0])
    store("multi_domain_sentiment", "test", text=["good", long], label=[1, 1])
    texts = load_texts("amazon", least=1)
    assert texts.train.lengths.tolist() == [399]
    assert sorted(texts.y_validation.tolist()) == [0, 1]
    assert len(load_texts("amazon", validation=1).validation) == 1


def test_yelp_in_one_part_is_split_by_seed_and_is_reported(store):
    store("yelp_polarity_sample", "test", text=[f"r{i}" for i in range(10)], label=[0, 1] * 5)
    texts = load_texts("yelp", least=1)
    assert (len(texts.train), len(texts.validation)) == (8, 2)
    assert "split by seed" in texts.about
    trains = [spelt(load_texts("yelp", seed=seed, least=1), "train") for seed in (0, 0, 1)]
    assert trains[0] == trains[1] != trains[2]
    assert all((int(text[1:]) % 2) == label for text, label in trains[0])


def test_the_whole_of_yelp_is_used_where_it_is(store):
    store("yelp_polarity_sample", "test", text=["small"], label=[0])
    store("yelp_polarity", "train", text=["big one", "big two"], label=[0, 1])
    store("yelp_polarity", "test", text=["big three"], label=[1])
    texts = load_texts("yelp", least=1)
    assert (len(texts.train), len(texts.validation), texts.about) == (2, 1, "")


def test_no_message_is_on_both_sides(store):
    many = [f"msg {i}" for i in range(3600)]
    store("sms_spam", "train", sms=many + [f"{text}\n" for text in many], label=[0, 1] * 3600)
    texts = load_texts("sms", least=1)
    assert (len(texts.train), len(texts.validation)) == (3500, 100)
    assert len(set(spelt(texts, "train"))) == 3500
    known = {texts.vocabulary.words[i] for i in texts.train.ids.unique().tolist()}
    assert len(known) == 3501  # no validation number is among them
    assert (texts.validation.ids == 1).sum() == 100


def test_rare_words_are_unknown_by_their_count_in_training(store):
    store("imdb", "train", text=["a a a b b", "c"], label=[0, 1])
    store("imdb", "test", text=["a b b b c c c"], label=[0])
    texts = load_texts("imdb")
    assert texts.vocabulary.words[4:] == ("a",)
    assert texts.validation[0] == [4, 1, 1, 1, 1, 1, 1]


def test_missing_files_are_named(store, monkeypatch):
    file = store("imdb", "train", txt=["a"], label=[0])
    with pytest.raises(FoveateError, match="has no train file with the columns text and label"):
        load_texts("imdb")
    file.write_bytes(b"junk")
    with pytest.raises(FoveateError, match=r"train-00000-of-00001.parquet cannot be read"):
        load_texts("imdb")
    with pytest.raises(
        FoveateError, match="'multi_domain_sentiment' are not here: set FOVEATE_DATA"
    ):
        load_texts("amazon")
    with pytest.raises(FoveateError, match="Did you mean 'amazon'"):
        load_texts("amazn")


def test_a_draw_touches_no_global_generator(store):
    store("imdb", "train", text=["a", "b"], label=[0, 1])
    store("imdb", "test", text=["a b", "b a"], label=[0, 1])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        first = load_texts("imdb", least=1)
        torch.manual_seed(2)
        assert torch.equal(first.y_train, load_texts("imdb", least=1).y_train)


def test_every_set_is_registered():
    assert set(TEXTS.names()) == {
        "ag_news",
        "amazon",
        "imdb",
        "keywords",
        "newsgroups",
        "sms",
        "sst",
        "yelp",
    }
