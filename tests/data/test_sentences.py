"""Made-up sentences, and the film reviews of SST."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from scipy.stats import chisquare

from foveate.data import sst
from foveate.data.sst import UNKNOWN, load_sst, make_corpus
from foveate.data.topic_words import topic_words
from foveate.errors import FoveateError

RARE = 1e-6


def test_one_topic_word_of_the_label_and_others_from_the_dictionary() -> None:
    bag = topic_words("train", n=4000, m=6, topics=3, per_topic=2, others=40)
    assert bag.shape == (4000, 7)
    assert (bag.z.sum(1) == 1).all()
    topic = bag.x.index[bag.z]
    assert torch.equal(topic // 2, bag.y)
    others = bag.x.index[~bag.z]
    assert others.min() == 6
    assert others.max() == 45
    for drawn, kinds in ((topic, 6), (others - 6, 40), (bag.z.int().argmax(1), 7)):
        assert chisquare(torch.bincount(drawn, minlength=kinds).numpy()).pvalue > RARE


def test_the_usual_sizes_are_the_published_ones() -> None:
    bag = topic_words("train")
    assert bag.shape == (3999, 21)
    assert len(bag.x.bank) == 5008
    assert bag.y.unique().tolist() == [0, 1, 2, 3]


def test_bags_depend_on_seed_and_split_only() -> None:
    def index(split: str, seed: int) -> torch.Tensor:
        return topic_words(split, n=50, seed=seed).x.index

    assert torch.equal(index("train", 1), index("train", 1))
    assert not torch.equal(index("train", 1), index("train", 2))
    assert not torch.equal(index("train", 1), index("test", 1))


def test_sizes_that_make_no_task_are_refused() -> None:
    for odd in ({"topics": 1}, {"per_topic": 0}, {"others": 0}):
        with pytest.raises(FoveateError, match="topic words need 2 topics"):
            topic_words("train", n=5, **odd)
    with pytest.raises(FoveateError, match="number of bags"):
        topic_words("train", n=0)


TEXTS = {
    "train": (
        [["good", "film"], ["bad", "film"], [], ["film", "so", "so"]],
        np.array([4, 0, 3, 2]),
    ),
    "validation": ([["good", "plot"]], np.array([3])),
    "test": ([["bad"]], np.array([1])),
}


def test_a_corpus_knows_the_words_of_training_only() -> None:
    corpus = make_corpus(TEXTS, 5)
    assert corpus.words == ("", "film", "so", "bad", "good")  # by frequency, then alphabet
    assert corpus.train.x.index.tolist() == [[4, 1, UNKNOWN], [3, 1, UNKNOWN], [1, 2, 2]]
    assert corpus.train.mask.tolist() == [[True, True, False]] * 2 + [[True] * 3]
    assert corpus.validation.x.index.tolist() == [[4, UNKNOWN]]
    assert corpus.validation.mask.all()
    assert corpus.train.y.tolist() == [4, 0, 2]
    assert corpus.tone.tolist() == [1, -1, 0]
    assert corpus.ids("So, a GOOD film!") == [2, UNKNOWN, 4, 1]


def test_two_classes_leave_the_neutral_out() -> None:
    corpus = make_corpus(TEXTS, 2)
    assert corpus.words == ("", "film", "bad", "good")
    assert corpus.train.y.tolist() == [1, 0]
    assert corpus.test.y.tolist() == [0]
    assert corpus.tone.tolist() == [1, -1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FOVEATE_DATA", str(tmp_path))
    position = tmp_path / "sst"
    position.mkdir()
    sst._read.cache_clear()
    yield position
    sst._read.cache_clear()


def write(folder: Path, tokens: list, labels: pa.Array) -> None:
    for split in ("train", "validation", "test"):
        pq.write_table(
            pa.table({"tokens": pa.array(tokens), "label": labels}), folder / f"{split}-0.parquet"
        )


def test_both_layouts_of_the_files_read_alike(folder: Path) -> None:
    rows = [["Good", "``", "fun", "''", "."], ["N't", "bad"], ["so-so"], ["meh"], ["ok", "fun"]]
    write(folder, rows, pa.array([4, 0, 2, 1, 3]))
    first = load_sst(5)
    sst._read.cache_clear()
    shares = pa.array([0.81, 0.2, 0.6, 0.4, 0.61], pa.float32())  # .2, .4, .6 belong below the cut
    write(folder, ["|".join(row) for row in rows], shares)
    second = load_sst(5)
    assert first.words == second.words == ("", "fun", "bad", "good", "meh", "n't", "ok", "so-so")
    assert torch.equal(first.train.x.index, second.train.x.index)
    assert first.train.y.tolist() == second.train.y.tolist() == [4, 0, 2, 1, 3]


def test_files_of_another_kind_are_refused(folder: Path) -> None:
    pq.write_table(pa.table({"text": ["a"]}), folder / "train-0.parquet")
    with pytest.raises(FoveateError, match="no train file with the columns tokens and label"):
        load_sst(2)


needs_sst = pytest.mark.skipif(
    not (Path(os.environ.get("FOVEATE_DATA", "/nowhere")) / "sst").is_dir(), reason="needs files"
)


@pytest.mark.data
@needs_sst
@pytest.mark.parametrize(("classes", "sizes"), [(2, (6920, 872, 1821)), (5, (8544, 1101, 2210))])
def test_sst_has_the_published_sizes(classes: int, sizes: tuple[int, ...]) -> None:
    corpus = load_sst(classes)
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == sizes
    assert corpus.train.y.unique().tolist() == list(range(classes))
    assert not any(word != word.strip(".,'`-") or word.isupper() for word in corpus.words)
    used = corpus.train.x.index[corpus.train.mask]
    assert used.min() == 1  # no training word is unknown
    assert torch.equal(used.unique(), torch.arange(1, len(corpus.words)))


@pytest.mark.data
@needs_sst
def test_sst_holds_the_traced_sentence_and_its_label() -> None:
    corpus = load_sst(2)
    traced = corpus.ids("a powerful sequel and one of the best films of the year")
    rows = [
        row[keep].tolist()
        for row, keep in zip(corpus.train.x.index, corpus.train.mask, strict=True)
    ]
    assert corpus.train.y[rows.index(traced)] == 1


@pytest.mark.data
@needs_sst
def test_binary_labels_agree_with_the_files_own() -> None:
    folder = Path(os.environ["FOVEATE_DATA"]) / "sst"
    table = pq.read_table(next(folder.glob("train-*.parquet")), columns=["binary_label"])
    stored = table.column(0).to_numpy()
    assert load_sst(2).train.y.tolist() == stored[stored >= 0].tolist()
