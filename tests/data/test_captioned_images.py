"""Images with captions and boxes: what goes in comes out, or an error says where it went wrong."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from foveate.data.captions import Captioned, read_captioned
from foveate.data.features.image_sources import find_pictures
from foveate.data.object_words import NamedObject, ObjectWords, caption_words, read_object_words
from foveate.errors import FoveateError
from real_data import data_folder


def jpeg(width=8, height=4, shade=90):
    file = io.BytesIO()
    Image.new("RGB", (width, height), (shade, 0, 0)).save(file, "JPEG")
    return file.getvalue()


def row(image_id, captions=("A cat.",), boxes=((0, 2.0, 1.0, 4.0, 2.0),), raw=None, **other):
    kinds, positions = [b[0] for b in boxes], [list(b[1:]) for b in boxes]
    return {
        "image": {"bytes": jpeg() if raw is None else raw, "path": f"{image_id}.jpg"},
        "image_id": image_id,
        "width": 8,
        "height": 4,
        "captions": list(captions),
        "objects": {"bbox": positions, "category": kinds, "iscrowd": [0] * len(kinds)},
        "license": "Attribution License",
        **other,
    }


def write(folder, **splits):
    folder.mkdir(exist_ok=True)
    names = (
        '{"info": {"features": {"objects": {"category": {"feature": {"names": ["cat", "dog"]}}}}}}'
    )
    for split, rows in splits.items():
        table = pa.Table.from_pylist(rows).replace_schema_metadata({"huggingface": names})
        pq.write_table(table, folder / f"{split}-00000-of-00001.parquet")
    return folder


def test_captions_and_boxes_are_read_as_fractions_of_the_image(tmp_path):
    two = ((0, 2.0, 1.0, 4.0, 2.0), (1, 0.0, 0.0, 8.0, 4.0))
    result = read_captioned(
        write(tmp_path, train=[row(7, ["A cat.", "Two cats!"], two)], test=[row(9), row(8)])
    )
    train, test = result["train"], result["test"]
    assert train.captions == (("A cat.", "Two cats!"),)
    assert train.boxes == (((0, 0.25, 0.25, 0.75, 0.75), (1, 0.0, 0.0, 1.0, 1.0)),)
    assert (train.names, train.licence) == (("cat", "dog"), ("Attribution License",))
    assert test.image_id.tolist() == [9, 8]
    assert test.row.tolist() == [1, 2]  # of all images of the folder, as encoders see them
    assert find_pictures(str(tmp_path)).rows == 3


def test_a_photo_is_in_one_part_of_the_split(tmp_path):
    result = read_captioned(write(tmp_path, train=[row(1), row(2), row(3)], test=[row(2)]))
    left = result["train"].without(result["test"])
    assert (left.image_id.tolist(), left.row.tolist(), len(left)) == ([1, 3], [0, 2], 2)
    assert left.notes == ("1 photos are also held out and are excluded from training",)
    assert result["test"].without(left).notes == ()


def test_what_is_left_out_is_named(tmp_path):
    flat = ((1, 1.0, 1.0, 0.0, 2.0), (0, 0.0, 0.0, 2.0, 2.0))
    result = read_captioned(write(tmp_path, test=[row(4, [" . "]), row(5, boxes=flat)]))["all"]
    assert result.image_id.tolist() == [5]
    assert [box[0] for box in result.boxes[0]] == [0]
    assert result.notes == (
        "image 4 has no caption and is left out",
        "image 5 has a box of no area, left out",
    )


def test_rounding_at_the_edge_is_cut_off(tmp_path):
    box = ((0, -0.5, 0.0, 9.0, 4.0),)
    result = read_captioned(write(tmp_path, test=[row(4, boxes=box)]))["all"]
    assert result.boxes == (((0, 0.0, 0.0, 1.0, 1.0),),)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (row(1, boxes=((2, 0.0, 0.0, 1.0, 1.0),)), r"row 1: a category must be 0 to 1, got 2"),
        (row(1, boxes=((0, 5.0, 0.0, 6.0, 1.0),)), r"row 1: box \[5, 0, 6, 1\] must lie in the"),
        (row(1, boxes=((0, float("nan"), 0.0, 6.0, 1.0),)), r"row 1: box \[nan, 0, 6, 1\]"),
        (row(1, width=0), r"row 1: width and height must be above 0"),
    ],
)
def test_bad_rows_are_named(tmp_path, bad, message):
    with pytest.raises(FoveateError, match=r"test-00000-of-00001.parquet, " + message):
        read_captioned(write(tmp_path, test=[row(0), bad]))


def test_missing_damaged_and_foreign_files_are_named(tmp_path):
    with pytest.raises(FoveateError, match=r"there is no folder .*nowhere of images with captions"):
        read_captioned(tmp_path / "nowhere")
    folder = write(tmp_path / "set", train=[row(0)], test=[row(1)])
    file = folder / "test-00000-of-00001.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FoveateError, match=r"test-.*\.parquet is not a complete Parquet file"):
        read_captioned(folder)
    pq.write_table(pa.table({"image_id": [1]}), file)
    with pytest.raises(FoveateError, match="has no column 'width'; its columns are image_id"):
        read_captioned(folder)


def test_an_unreadable_image_is_named(tmp_path):
    pictures = find_pictures(str(write(tmp_path, test=[row(0), row(1, raw=b"no image")])))
    with pytest.raises(FoveateError, match=r"parquet, row 1: not an image"):
        list(pictures.read(0))


def test_the_longest_phrase_counts_and_the_last_word_is_its_place(tmp_path):
    (tmp_path / "object_words.csv").write_text(
        "Category_id,Word 1,Word 2\n1,dog,animal \n2,hot dog, bi-plane\n3,cat,animal\n"
    )
    words = read_object_words(tmp_path)
    message = caption_words("An animal eats a hot dog, on a bi-plane with a dog.")
    assert words.find(message) == [
        NamedObject(1, (0, 2)),
        NamedObject(5, (1,)),
        NamedObject(9, (1,)),
        NamedObject(12, (0,)),
    ]
    assert ObjectWords([[""]]).find(["a"]) == []


def test_words_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(FoveateError, match=r"object_words.csv cannot be read: .*No such file"):
        read_object_words(tmp_path)
    (tmp_path / "object_words.csv").write_text("Category_id,Word 1\n")
    with pytest.raises(FoveateError, match=r"must have a row of words for every object, got none"):
        read_object_words(tmp_path)


@pytest.mark.data
def test_the_stored_sets():
    whole = read_captioned(data_folder("coco_captions_boxes"))
    assert {k: len(v) for k, v in whole.items()} == {"train": 129, "test": 326}
    assert sum(len(texts) for v in whole.values() for texts in v.captions) == 2276
    assert sum(len(boxes) for v in whole.values() for boxes in v.boxes) == 3849
    one = read_captioned(data_folder("coco_one_person"))
    assert {k: len(v) for k, v in one.items()} == {"train": 779, "test": 200}
    sides: list[Captioned] = [*whole.values(), *one.values()]
    ids = np.concatenate([side.image_id for side in sides])
    assert len(np.unique(ids)) == len(ids) == 1434
    assert whole["test"].names[:3] == ("person", "bicycle", "car")
    words = read_object_words(data_folder("coco_captions_boxes"))
    assert words.find(caption_words("a man next to a stop sign")) == [
        NamedObject(1, (0,)),
        NamedObject(6, (11,)),
    ]
    assert words.find(["animal"])[0].categories == tuple(range(15, 24))
