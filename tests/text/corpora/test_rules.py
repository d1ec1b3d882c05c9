"""The paper's preprocessing, rule by rule, by value."""

import pytest

from foveate.io.tokenisation import (
    hide_integers,
    is_short,
    originals,
    split_underscores,
    whitespace_words,
    without_line_breaks,
    words,
)
from foveate.text.corpora.ag_news import news_words
from foveate.text.corpora.imdb import review_words
from foveate.text.corpora.news_commentary import is_numerical
from foveate.text.corpora.newsgroups import message_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A Film.", ["a", "film", "."]),
        ("don't", ["don't"]),
        ("rock’n’roll", ["rock’n’roll"]),
        ("the dogs' 'quoted' day", ["the", "dogs", "'", "'", "quoted", "'", "day"]),
        ("well-made", ["well", "-", "made"]),
        ("3.5 $2", ["3", ".", "5", "$", "2"]),
        ("snake_case", ["snake_case"]),
        ("Ünïcode Straße", ["ünïcode", "straße"]),
        ("?!...", ["?", "!", ".", ".", "."]),
        (" \n\t ", []),
    ],
)
def test_words_and_signs(text, expected):
    assert words(text) == expected


def test_whitespace_words_are_separated_by_spaces_and_tabs():
    assert whitespace_words("It does n't\t a-b  . \r\n") == ["it", "does", "n't", "a-b", "."]
    assert whitespace_words("8\xa01/2 stars") == ["8\xa01/2", "stars"]


@pytest.mark.parametrize(
    ("word", "hidden"),
    [("7", False), ("42", True), ("007", True), ("3rd", False), ("1_000", False), ("x1", False)],
)
def test_integers_of_more_than_one_digit_are_unknown(word, hidden):
    assert hide_integers([word]) == (["<unk>"] if hidden else [word])


def test_underscores_part_words_and_go():
    assert split_underscores(["_", "__init__", "a_b_c", "d"]) == ["init", "a", "b", "c", "d"]


def test_short_means_less_than_400():
    assert is_short(["w"] * 399)
    assert not is_short(["w"] * 400)


def test_line_breaks_of_web_pages_part_words():
    assert without_line_breaks("good<br />bad<BR>ugly<br/>.") == "good bad ugly ."


def test_originals_are_the_first_of_their_copies():
    assert originals(["hi", "ho", "hi\n", "Hi", " ho"]) == [0, 1, 3]


@pytest.mark.parametrize(
    ("sentence", "numerical"),
    [("1999", True), ("$ 1,200.50 – 30 %", True), ("Q1", False), ("a", False), ("—", False)],
)
def test_purely_numerical_sentences(sentence, numerical):
    assert is_numerical(sentence) is numerical


def test_rules_of_a_data_set_come_together():
    assert review_words("Great!<br /><br />10/10") == ["great", "!", "10", "/", "10"]
    assert news_words("In 2004, 5 firms") == ["in", "<unk>", ",", "5", "firms"]
    assert message_words("The _1993_ team_12 _won_ 7") == [
        "the",
        "<unk>",
        "team",
        "<unk>",
        "won",
        "7",
    ]
