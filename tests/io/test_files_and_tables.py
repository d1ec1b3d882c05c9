"""Files of bags and the table beside them: none is matched twice, none is dropped silently."""

import h5py
import numpy as np
import pytest
from PIL import Image

from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.io.check import problems

BAGS = 8


def labels(*more, bags=range(BAGS)):
    return "\n".join(["bag,label", *(f"b{i},{'uv'[i % 2]}" for i in bags), *more])


def write_arrays(folder, **parts):
    """A folder of features, and others, in torchmil's layout."""
    for part in ("features", *parts):
        (folder / part).mkdir(parents=True)
    for i in range(BAGS):
        np.save(folder / "features" / f"b{i}.npy", np.full((2, 3), i))
    for part, names in parts.items():
        for name in names:
            np.save(folder / part / f"{name}.npy", np.array([0, 1]) if part != "labels" else 1)


def write_hdf5(folder):
    folder.mkdir(exist_ok=True)
    for i in range(BAGS):
        with h5py.File(folder / f"b{i}.h5", "w") as file:
            file["features"] = np.full((2, 3), i)


def write_images(folder, names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(len(name)).integers(0, 255, (8, 8, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / name)


def lost(bags):
    """The warning of what has no file."""
    return next((str(problem) for problem in problems(bags) if problem.name == "no-file"), None)


@pytest.mark.parametrize("write", [write_arrays, write_hdf5])
def test_a_row_without_a_file_is_a_warning(write, tmp_path):
    """Bags whose features were lost would be missing from every result without a word."""
    write(tmp_path)
    (tmp_path / "labels.csv").write_text(labels())
    assert lost(read_bags(tmp_path)) is None
    (tmp_path / "labels.csv").write_text(labels("b97,u", "b98.svs,v"))
    message = lost(read_bags(tmp_path))
    assert message == (
        "bags 'b97', 'b98.svs': in labels.csv, but there is no file of this name"
    )  # fmt: skip


def test_a_table_above_the_folder_may_name_other_bags(tmp_path):
    write_hdf5(tmp_path / "part")
    (tmp_path / "labels.csv").write_text(labels("b97,u"))
    assert lost(read_bags(tmp_path / "part")) is None


@pytest.mark.parametrize("part", ["labels", "inst_labels"])
def test_labels_and_relevance_without_features_are_a_warning(part, tmp_path):
    names = [f"b{i}" for i in range(BAGS)]
    write_arrays(tmp_path, **{part: [*names, "c1"]})
    what = "labels" if part == "labels" else "relevance"
    assert lost(read_bags(tmp_path)) == (
        f"bag 'c1': with {what} in {tmp_path / part}, but without features"
    )


def test_a_row_that_names_two_images_is_refused(tmp_path):
    """Images of different folders would have had the label of one row."""
    write_images(tmp_path, ["a/1.png", "b/1.png", "a/2.png"])
    (tmp_path / "labels.csv").write_text("image,label\n1,u\n2,v\n")
    with pytest.raises(FoveateError, match=r"line 2: '1' names two bags, 'a/1.png' and 'b/1.png'"):
        read_bags(tmp_path, tiles=4)
    (tmp_path / "labels.csv").write_text("image,label\na/1.png,u\nb/1.png,v\n2,v\n")
    bags = read_bags(tmp_path, tiles=4)
    assert dict(zip(bags.ids, bags.bag.y.tolist(), strict=True)) == {
        "a/1.png": 0, "a/2.png": 1, "b/1.png": 1
    }  # fmt: skip


def test_a_box_of_several_images_is_refused(tmp_path):
    write_images(tmp_path, ["u/1.png", "v/1.png"])
    boxes = tmp_path / "boxes.csv"
    boxes.write_text("image,x,y,width,height\n1.png,0,0,4,4\n")
    with pytest.raises(FoveateError, match=r"line 2: several images are called '1.png'"):
        read_bags(tmp_path, tiles=4)
    boxes.write_text("image,x,y,width,height\nv/1.png,0,0,4,4\n")
    bags = read_bags(tmp_path, tiles=4)
    assert bags.known.tolist() == [False, True]


def test_hidden_files_are_no_bags(tmp_path):
    """Those that macOS writes beside others hold no data."""
    for folder, write in (("npy", write_arrays), ("h5", write_hdf5)):
        write(tmp_path / folder)
        name = "features/._b0.npy" if folder == "npy" else "._b0.h5"
        (tmp_path / folder / name).write_bytes(b"\0\5\x16\7")
        (tmp_path / folder / "labels.csv").write_text(labels())
        (tmp_path / folder / "._labels.csv").write_bytes(b"\0\5\x16\7")
        assert len(read_bags(tmp_path / folder)) == BAGS
    write_images(tmp_path / "images", ["u/1.png", "v/2.png"])
    (tmp_path / "images" / "u" / "._1.png").write_bytes(b"\0\5\x16\7")
    assert len(read_bags(tmp_path / "images", tiles=4)) == 2


def test_a_damaged_image_is_named_without_python_objects(tmp_path):
    write_images(tmp_path, ["u/1.png", "v/2.png"])
    (tmp_path / "u" / "1.png").write_bytes(b"\0\5\x16\7")
    with pytest.raises(FoveateError, match=r"1\.png: not an image \(cannot identify image file\)"):
        read_bags(tmp_path, tiles=4)
