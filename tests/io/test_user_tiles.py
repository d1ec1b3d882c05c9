"""Folders of images cut into tiles."""

import numpy as np
import pytest
import torch
from PIL import Image

from foveate.errors import FoveateError
from foveate.io import read_bags


def picture(path, high, wide, seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (high, wide, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return pixels


def oracle(pixels, side):
    """Tiles and places by plain loops."""
    tiles, places = [], []
    for y in range(0, pixels.shape[0] - side + 1, side):
        for x in range(0, pixels.shape[1] - side + 1, side):
            tiles.append(np.moveaxis(pixels[y : y + side, x : x + side], -1, 0))
            places.append([x, y, side, side])
    return np.stack(tiles), places


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "set"
    picture(folder / "cat" / "1.png", 9, 13, 1)
    picture(folder / "dog" / "2.png", 8, 4, 2)
    return folder


def test_whole_tiles_of_classes_in_folders(root):
    collection = read_bags(root, tiles=4)
    assert collection.kind == "image"
    assert collection.ids == ("cat/1.png", "dog/2.png")  # the same wherever the folder is seen from
    assert collection.classes == ("cat", "dog")
    assert collection.bag.y.tolist() == [0, 1]
    assert collection.bag.x.bank.dtype == torch.uint8
    begin = 0
    for i, (high, wide) in enumerate([(9, 13), (8, 4)]):
        pixels = np.random.default_rng(i + 1).integers(0, 256, (high, wide, 3), dtype=np.uint8)
        tiles, places = oracle(pixels, 4)
        end = begin + len(tiles)
        assert collection.bag.mask[i].sum() == len(tiles)
        assert collection.bag.x.bank[begin:end].numpy().tolist() == tiles.tolist()
        assert collection.places[begin:end].tolist() == places
        begin = end
    assert begin == len(collection.bag.x.bank) == 8
    assert collection.known is None


def test_one_image_is_one_bag(root):
    collection = read_bags(root / "dog" / "2.png", tiles=4)
    assert len(collection) == 1
    assert not collection.labelled
    assert collection.bag.shape == (1, 2)


def test_a_table_of_labels_groups_and_splits_wins(root):
    (root / "labels.csv").write_text(
        "image,label,patient,split\n1.png,b,p,train\ndog/2.png,a,q,test\n"
    )
    collection = read_bags(root, tiles=4)
    assert collection.classes == ("a", "b")
    assert collection.bag.y.tolist() == [1, 0]
    assert collection.groups == ("p", "q")
    assert collection.split == ("train", "test")
    (root / "labels.csv").write_text("image,label\n1.png,b\n3.png,a\n")
    with pytest.raises(FoveateError, match=r"labels.csv has no row for 'dog/2.png'"):
        read_bags(root, tiles=4)
    assert not read_bags(root, tiles=4, labelled=False).labelled


def test_splits_are_folders_above_classes(tmp_path):
    for split, name in (("train", "cat"), ("test", "dog")):
        picture(tmp_path / "set" / split / name / "1.png", 4, 4)
    collection = read_bags(tmp_path / "set", tiles=4)
    assert collection.split == ("test", "train")
    assert collection.classes == ("cat", "dog")
    assert collection.bag.y.tolist() == [1, 0]


def test_masks_and_boxes_are_relevance(root):
    mask = np.zeros((9, 13), np.uint8)
    mask[3, 4] = mask[8, 12] = 255  # the second lies outside all whole tiles
    (root / "masks" / "cat").mkdir(parents=True)
    Image.fromarray(mask).save(root / "masks" / "cat" / "1.png")
    collection = read_bags(root, tiles=4)
    assert collection.known.tolist() == [True, False]
    tiles = [[0, 0], [4, 0], [8, 0], [0, 4], [4, 4], [8, 4]]
    assert collection.places[:6, :2].tolist() == tiles
    expected = [bool(mask[y : y + 4, x : x + 4].any()) for x, y in tiles]
    assert expected == [False, True, False, False, False, False]
    assert collection.bag.z[0].tolist() == expected
    (root / "boxes.csv").write_text("image,x,y,width,height\n2.png,0,4,1,1\n")
    both = read_bags(root, tiles=4)
    assert both.known.tolist() == [True, True]
    assert both.bag.z[1, :2].tolist() == [False, True]
    (root / "boxes.csv").write_text("image,x,y,width,height\n2.png,,,,\n")
    assert read_bags(root, tiles=4).bag.z[1, :2].tolist() == [False, False]
    edge = "image,x,y,width,height\n2.png,0,0,4,4\n"  # touches the second tile, overlaps the first
    (root / "boxes.csv").write_text(edge)
    assert read_bags(root, tiles=4).bag.z[1, :2].tolist() == [True, False]


def test_what_cannot_be_tiled_is_named(root):
    with pytest.raises(FoveateError, match="--tiles must say how many pixels"):
        read_bags(root)
    with pytest.raises(
        FoveateError, match=r"dog/2.png: must hold a tile of 5 pixels a side, is 4×8"
    ):
        read_bags(root, tiles=5)
    with pytest.raises(FoveateError, match="tiles: input should be greater than or equal to 1"):
        read_bags(root, tiles=0)
    (root / "boxes.csv").write_text("image,x,y,width,height\n7.png,0,0,1,1\n")
    with pytest.raises(FoveateError, match=r"boxes.csv, line 2: there is no image '7.png'"):
        read_bags(root, tiles=4)
    (root / "boxes.csv").write_text("image,x,y,width,height\n2.png,0,0,1,wide\n")
    with pytest.raises(
        FoveateError, match=r"boxes.csv, line 2, column 'height': must be a number, got 'wide'"
    ):
        read_bags(root, tiles=4)
    (root / "boxes.csv").write_text("image,x,y,width,height\n2.png,0,0,0,1\n")
    with pytest.raises(
        FoveateError, match=r"boxes.csv, line 2: a box must have a finite place and size"
    ):
        read_bags(root, tiles=4)
    (root / "boxes.csv").unlink()
    (root / "masks" / "dog").mkdir(parents=True)
    Image.fromarray(np.zeros((3, 4), np.uint8)).save(root / "masks" / "dog" / "2.png")
    with pytest.raises(
        FoveateError, match=r"masks/dog/2.png: a mask must have its image's size 4×8, is 4×3"
    ):
        read_bags(root, tiles=4)
    (root / "dog" / "2.png").write_bytes(b"no picture")
    with pytest.raises(FoveateError, match=r"dog/2.png: not an image"):
        read_bags(root, tiles=4)


def test_a_table_above_the_folder_counts_only_if_it_gives_labels(tmp_path):
    """What a command wrote beside the folder, a row a tile, is no table of labels."""
    root = tmp_path / "new"
    for name in ("1.png", "2.png"):
        picture(root / name, 8, 8)
    (tmp_path / "tiles.csv").write_text("bag,segment,attention\n1.png,0,.5\n1.png,1,.5\n")
    assert read_bags(root, tiles=4).ids == ("1.png", "2.png")
    (tmp_path / "tiles.csv").write_text("image,label\n1.png,cat\n2.png,dog\n")
    assert read_bags(root, tiles=4).classes == ("cat", "dog")
    (tmp_path / "tiles.csv").write_bytes(b"\xff\x00")
    assert not read_bags(root, tiles=4).labelled
