"""Word vectors by path."""

import pytest
import torch

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.text.corpora.glove import glove
from foveate.text.tokens import Vocabulary

VOCABULARY = Vocabulary(["the", "film", "zebra", "."])


def read(path, dim=3, seed=0):
    return glove(path, VOCABULARY, dim, generator=generator("test", seed))


def test_words_with_a_vector_get_it_and_the_others_are_random(tmp_path):
    file = tmp_path / "glove.txt"
    file.write_text(
        "the 0.5 -1 2\nother 9 9 9\nfilm 1e-1 0 .25\n. . . 7 7 7\n. 3 2 1\n<unk> 8 8 8\n"
    )
    vectors = read(file)
    assert vectors.shape == (8, 3)
    assert vectors[4].tolist() == [0.5, -1, 2]
    assert vectors[5].tolist() == pytest.approx([0.1, 0, 0.25])
    assert vectors[7].tolist() == [3, 2, 1]
    random = torch.randn(8, 3, generator=generator("test", 0))
    for row in (0, 1, 2, 3, 6):
        assert torch.equal(vectors[row], random[row])
    assert not torch.equal(vectors[6], read(file, seed=1)[6])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("400000 3\nthe 1 2 3\n", "line 1: must be a word and 3 numbers, got 1"),
        ("odd 1 2 3 4\n", "line 1: must be a word and 3 numbers, got 4"),
        ("odd 1 2 3\nfilm 1 2\n", "line 2: must be a word and 3 numbers, got 2"),
        ("odd 1 2 3\nthe 1 x 3\n", r"line 2: must be a word and 3 numbers \(could not convert"),
        ("odd 1 2 3\nthe 1 nan 3\n", "line 2: must be finite"),
        ("odd 1 2 3\n", "no vector for any of the 8 words"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, why):
    file = tmp_path / "glove.txt"
    file.write_text(text)
    with pytest.raises(FoveateError, match=why):
        read(file)


def test_files_that_are_not_there_or_not_text(tmp_path):
    with pytest.raises(FoveateError, match="there is no file"):
        read(tmp_path / "none")
    (tmp_path / "latin").write_bytes("the 1 2 3\nfilmé 1 2 3\n".encode("latin-1"))
    with pytest.raises(FoveateError, match="latin, line 2: must be UTF-8, got the byte 0xe9"):
        read(tmp_path / "latin")
