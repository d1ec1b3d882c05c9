"""Bags as arrays: from Python, NPZ, folders of .npy, HDF5."""

import json

import numpy as np
import pytest
import torch

from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.io.arrays import from_arrays

X = [
    np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    np.array([[7.0, 8.0]]),
    np.array([[9.0, 1.0], [2.0, 3.0]]),
]
Z = [[0, 1, 0], [0], [1, 1]]
COORDS = [np.array([[0, 0], [0, 8], [8, 0]]), np.array([[0, 0]]), np.array([[16, 8], [24, 8]])]


def contents(collection):
    return [
        collection.bag.dense()[i][collection.bag.mask[i]].tolist() for i in range(len(collection))
    ]


def must_be_the_three(collection, ids=("0", "1", "2"), classes=("no", "yes")):
    assert collection.ids == ids
    assert contents(collection) == [x.tolist() for x in X]
    assert collection.bag.x.bank.dtype == torch.float32
    assert [collection.classes[y] for y in collection.bag.y] == [classes[0], classes[1], classes[1]]
    assert [z[: len(m)].tolist() for z, m in zip(collection.bag.z, Z, strict=True)] == [
        [bool(v) for v in m] for m in Z
    ]
    assert collection.places.tolist() == np.concatenate(COORDS).tolist()


def test_lists_of_arrays():
    collection = from_arrays(X, ["no", "yes", "yes"], relevance=Z, groups=[7, 7, 8], places=COORDS)
    must_be_the_three(collection)
    assert collection.columns == ("x0", "x1")
    assert collection.groups == ("7", "8")
    assert collection.bag.group.tolist() == [0, 0, 1]
    partly = from_arrays(X, [0, 1, 1], relevance=[None, [1], None])
    assert partly.known.tolist() == [False, True, False]
    assert not partly.bag.z[0].any()
    assert not from_arrays(X).labelled
    assert from_arrays([np.ones(3)]).bag.segment_shape == (1,)
    locked = np.ones((2, 2), np.float32)
    locked.flags.writeable = False
    assert contents(from_arrays([locked, torch.zeros(1, 2)])) == [[[1, 1], [1, 1]], [[0, 0]]]


def test_lists_that_do_not_fit_are_named():
    for arguments, message in (
        (([], []), "at least one bag"),
        ((X, [0, 1]), "y must have one entry for each of 3 bags, got 2"),
        (
            ([X[0], np.ones((2, 3))], [0, 1]),
            "arrays, bag 1: a segment must have 2 numbers as in arrays, bag 0, got 3",
        ),
        (([X[0], np.ones((0, 2))], [0, 1]), "bag 1: a bag needs a segment"),
        (([np.array([["a"]])], [0]), "bag 0: segments must be numbers"),
        (([np.array([[1.0, np.inf]])], [0]), "bag 0, row 0, column 1: must be finite, got inf"),
        (([np.ones((1, 2, 3, 4, 5))], [0]), r"must have shape \(segments, numbers\)"),
    ):
        with pytest.raises(FoveateError, match=message):
            from_arrays(*arguments)
    with pytest.raises(FoveateError, match="bag 0: relevance must name 3 segments, got 2"):
        from_arrays(X, [0, 1, 1], relevance=[[0, 1], [0], [1, 1]])
    with pytest.raises(FoveateError, match="bag 2, coords: must place 2 segments, got 1"):
        from_arrays(X, [0, 1, 1], places=[*COORDS[:2], COORDS[2][:1]])


def test_images_in_bytes_are_images():
    grey = np.arange(2 * 4 * 5, dtype=np.uint8).reshape(2, 4, 5)
    collection = from_arrays([grey], [0])
    assert collection.kind == "image"
    assert tuple(collection.bag.x.bank.shape) == (2, 3, 4, 5)
    assert collection.bag.x.bank[1, 2].tolist() == grey[1].tolist()
    last = np.zeros((2, 4, 5, 3), np.uint8)
    last[..., 1] = 9
    assert from_arrays([last], [0]).bag.x.bank[:, 1].unique().tolist() == [9]


FLAT = {"x": np.concatenate(X), "z": np.concatenate(Z), "coords": np.concatenate(COORDS)}
NAMES = {"y": np.array(["no", "yes", "yes"])}


def padded(parts, fill):
    out = np.full((3, 3, *np.shape(parts[0])[1:]), fill, np.float64)
    for i, part in enumerate(parts):
        out[i, : len(part)] = part
    return out


PADDED = {
    "X": padded(X, np.nan),  # padding is never looked at
    "mask": np.arange(3) < np.array([[3], [1], [2]]),
    "relevance": padded(Z, 0),
    "coords": padded(COORDS, 0),
}
LAYOUTS = {
    "offsets": {**FLAT, **NAMES, "offsets": np.array([0, 3, 4, 6])},
    "numbers": {**FLAT, **NAMES, "bag": np.array([0, 0, 0, 1, 2, 2])},
    "a label a row": {
        **FLAT,
        "bag": np.array([0, 0, 0, 1, 2, 2]),
        "y": np.array(["no"] * 3 + ["yes"] * 3),
    },
    "padded": {**PADDED, **NAMES},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_npz_layouts(tmp_path, layout):
    np.savez(tmp_path / "a.npz", **LAYOUTS[layout])
    must_be_the_three(read_bags(tmp_path / "a.npz"))
    assert not read_bags(tmp_path / "a.npz", labelled=False).labelled


def test_npz_bags_by_name_go_by_their_ids(tmp_path):
    order = [5, 3, 0, 4, 1, 2]
    bag = np.array(["u", "u", "u", "w", "v", "v"])[order]
    arrays = {name: part[order] for name, part in FLAT.items()}
    np.savez(
        tmp_path / "a.npz", **arrays, bag=bag, ids=np.array(["w", "v", "u"]), y=np.array([0, 1, 2])
    )
    collection = read_bags(tmp_path / "a.npz")
    assert collection.ids == ("w", "v", "u")
    assert collection.bag.y.tolist() == [0, 1, 2]
    assert contents(collection) == [X[1].tolist(), X[2][::-1].tolist(), X[0].tolist()]


def test_npz_numbers_out_of_order_meet_their_labels(tmp_path):
    np.savez(
        tmp_path / "a.npz",
        x=np.array([[1.0], [2.0], [3.0]]),
        bag=np.array([2, 0, 1]),
        y=np.array([10, 11, 12]),
    )
    collection = read_bags(tmp_path / "a.npz")
    assert [
        (x[0][0], collection.classes[y])
        for x, y in zip(contents(collection), collection.bag.y, strict=True)
    ] == [
        (2.0, "10"),
        (3.0, "11"),
        (1.0, "12"),
    ]


def test_npz_ids_that_are_the_numbers_of_bags_give_the_order_of_labels(tmp_path):
    path, x = tmp_path / "a.npz", np.array([[1.0], [2.0]])
    np.savez(path, x=x, bag=np.array([3, 7]), ids=np.array([7, 3]), y=np.array(["of 7", "of 3"]))
    collection = read_bags(path)
    assert {collection.ids[i]: collection.classes[collection.bag.y[i]] for i in range(2)} == {
        "7": "of 7",
        "3": "of 3",
    }
    assert contents(collection) == [[[2.0]], [[1.0]]]
    np.savez(path, x=x, bag=np.array([0, 1]), ids=np.array([1, 0]), y=np.array(["a", "b"]))
    with pytest.raises(FoveateError, match="names of bags 0, 1, … or the order of y"):
        read_bags(path)


@pytest.mark.parametrize("ids", [{}, {"ids": np.array(["a"])}])
@pytest.mark.parametrize("dtype", [int, str])
def test_npz_without_rows_is_refused(tmp_path, ids, dtype):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.ones((0, 2)), bag=np.array([], dtype), y=np.array([]), **ids)
    with pytest.raises(FoveateError, match=str(path)):
        read_bags(path)


@pytest.mark.parametrize("bag", [["10", "10", "2"], ["b", "a", "a"], [7, 3, 3], [9, 8, 9]], ids=str)
def test_npz_labels_whose_order_is_not_certain_are_refused(tmp_path, bag):
    path, x = tmp_path / "a.npz", np.array([[1.0], [2.0], [3.0]])
    second = [*dict.fromkeys(bag)][1]
    rows = [int(name == second) for name in bag]
    np.savez(path, x=x, bag=np.array(bag), y=np.array(rows))
    assert [read_bags(path).bag.y[i] for i in range(2)] in ([0, 1], [1, 0])  # a label a row
    np.savez(path, x=x, bag=np.array(bag), y=np.array([0, 1]))
    if bag == ["10", "10", "2"]:  # sorted as text
        assert read_bags(path).ids == ("10", "2")
        return
    with pytest.raises(FoveateError, match="nothing says in which order the entries are: give 'id"):
        read_bags(path)


def test_a_mask_of_other_numbers_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.ones((2, 3, 1)), y=[0, 1], mask=[[1, 2, 0], [1, 1, 1]])
    with pytest.raises(FoveateError, match="mask must be true or false, 1 or 0, got 2"):
        read_bags(path)


def test_npz_known_groups_splits_and_columns(tmp_path):
    more = {
        "known": np.array([True, False, True]),
        "group": np.array([4, 4, 5]),
        "split": np.array(["train", "test", "test"]),
    }
    np.savez(tmp_path / "a.npz", **LAYOUTS["offsets"], **more, columns=np.array(["p", "q"]))
    collection = read_bags(tmp_path / "a.npz")
    assert collection.known.tolist() == [True, False, True]
    assert collection.groups == ("4", "5")
    assert collection.split == ("train", "test", "test")
    assert collection.columns == ("p", "q")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"offsets": np.array([0, 3, 5])},
            "offsets must be whole numbers that rise from 0 to the 6 rows",
        ),
        ({"offsets": np.array([0, 3, 3, 6])}, "bag '1': a bag needs a segment"),
        ({"y": np.array([0, 1])}, "y must have one entry for each of 3 bags"),
        ({"z": np.array([0, 1])}, "relevance must begin with the axes"),
        ({"z": np.array([0, 0.5, 0, 0, 0, 0])}, "bag '0', row 1: relevance must be a whole number"),
        ({"coords": np.zeros((5, 2))}, "coords must begin with the axes"),
        ({"x": np.array([["a", "b"]] * 6)}, "segments must be numbers"),
        ({"ids": np.array(["a", "b"])}, "ids must name 3 bags, got 2"),
        ({"columns": np.array(["p"])}, "must have the 1 numbers p, got 2"),
    ],
)
def test_npz_that_do_not_fit_are_named(tmp_path, change, message):
    np.savez(tmp_path / "a.npz", **{**LAYOUTS["offsets"], **change})
    with pytest.raises(FoveateError, match=message) as caught:
        read_bags(tmp_path / "a.npz")
    assert str(caught.value).startswith(str(tmp_path / "a.npz"))


def test_npz_of_other_things_are_named(tmp_path):
    path = tmp_path / "a.npz"
    for arrays, message in (
        ({"q": np.ones(2)}, "has no array 'x' of segments: it holds q"),
        ({"x": np.ones((3, 2))}, "or come with an array 'bag' or 'offsets'"),
        (
            {"x": np.ones((2, 2)), "bag": np.array([0, 0]), "y": np.array([0, 1])},
            r"array 'y', row 1: must be one",
        ),
        (
            {"x": np.ones((2, 2, 2)), "mask": np.array([[True, True], [False, False]])},
            "bag '1': a bag needs a segment",
        ),
    ):
        np.savez(path, **arrays)
        with pytest.raises(FoveateError, match=message):
            read_bags(path)
    np.savez(path, x=np.array([{"a": 1}], object))
    with pytest.raises(FoveateError, match=r"it holds a pickle .* which is never loaded"):
        read_bags(path)
    path.write_bytes(b"")
    with pytest.raises(FoveateError, match="is empty"):
        read_bags(path)
    np.savez(path, x=np.ones((2, 2, 2)))
    with pytest.raises(FoveateError, match="has no array 'y' of labels"):
        read_bags(path, labelled=True)


def torchmil(root, *, nested=False, labels=True):
    names = ["b", "a", "c"]
    for kind, parts in (("features", X), ("inst_labels", Z), ("coords", COORDS)):
        folder = root / kind / "features_net" if nested and kind == "features" else root / kind
        folder.mkdir(parents=True)
        for name, part in zip(names, parts, strict=True):
            np.save(folder / f"{name}.npy", np.asarray(part))
    if labels:
        (root / "labels").mkdir()
        for name, y in zip(names, (0, 1, 1), strict=True):
            np.save(root / "labels" / f"{name}.npy", np.array([y]))
    return root


def in_order(collection, names=("b", "a", "c")):
    return collection.take([collection.ids.index(name) for name in names])


@pytest.mark.parametrize("nested", [False, True])
def test_torchmil_folders(tmp_path, nested):
    collection = read_bags(torchmil(tmp_path / "set", nested=nested))
    assert collection.ids == ("a", "b", "c")
    chosen = in_order(collection)
    assert contents(chosen) == [x.tolist() for x in X]
    assert chosen.bag.y.tolist() == [0, 1, 1]
    assert collection.classes == ("0", "1")
    assert [z[: len(m)].tolist() for z, m in zip(chosen.bag.z, Z, strict=True)] == [
        [bool(v) for v in m] for m in Z
    ]
    starts = [collection.places[i].tolist() for i in (0, 1, 4)]
    assert starts == [COORDS[1][0].tolist(), COORDS[0][0].tolist(), COORDS[2][0].tolist()]


def test_torchmil_reads_what_we_read(tmp_path):
    dataset = pytest.importorskip("torchmil.datasets").ProcessedMILDataset
    root = torchmil(tmp_path / "set")
    theirs = dataset(
        *(f"{root}/{part}/" for part in ("features", "labels", "inst_labels", "coords")),
        bag_keys=["X", "Y", "y_inst", "coords"],
    )
    collection = read_bags(root)
    for i, name in enumerate(theirs.bag_names):
        exists = theirs[i]
        assert collection.ids[i] == name
        assert torch.equal(exists["X"].float(), collection.bag.dense()[i][collection.bag.mask[i]])
        assert collection.classes[collection.bag.y[i]] == str(int(exists["Y"]))
        assert torch.equal(exists["y_inst"].bool(), collection.bag.z[i][collection.bag.mask[i]])


def test_a_table_in_the_parent_does_not_replace_labels(tmp_path):
    root = torchmil(tmp_path / "set")
    expected = read_bags(root)
    (tmp_path / "other.csv").write_text("bag,label,x\na,w,1\na,w,2\n")
    collection = read_bags(root)
    assert collection.classes == expected.classes
    assert collection.bag.y.tolist() == expected.bag.y.tolist()


def test_folders_with_a_table_and_partial_relevance(tmp_path):
    root = torchmil(tmp_path / "set", labels=False)
    (root / "inst_labels" / "a.npy").unlink()
    collection = read_bags(root)
    assert not collection.labelled
    assert collection.known.tolist() == [False, True, True]
    (root / "slides.csv").write_text(
        "slide_id,label,patient,split\na.svs,u,p,train\nb.svs,v,p,test\nc.svs,u,q,test\n"
    )
    collection = read_bags(root)
    assert collection.classes == ("u", "v")
    assert collection.bag.y.tolist() == [0, 1, 0]
    assert collection.groups == ("p", "q")
    assert collection.split == ("train", "test", "test")
    (root / "slides.csv").write_text("slide_id,label\na,u\nb,v\n")
    with pytest.raises(FoveateError, match=r"slides.csv has no row for 'c'"):
        read_bags(root)
    (root / "slides.csv").write_text("slide_id,label\na,u\nb,v\na,v\nc,v\n")
    with pytest.raises(
        FoveateError, match=r"slides.csv, line 4: bag 'a' has a row already, line 2"
    ):
        read_bags(root)
    (root / "slides.csv").write_text("slide_id,label\na,u\nb,\nc,v\n")
    assert read_bags(root).label_known.tolist() == [True, False, True]
    assert read_bags(root, labelled=True).ids == ("a", "c")


def test_features_alone_find_the_labels_beside_them(tmp_path):
    root = torchmil(tmp_path / "set", nested=True)
    (root / "features" / "features_other").mkdir()
    np.save(root / "features" / "features_other" / "a.npy", X[0])
    with pytest.raises(FoveateError, match="holds several kinds of features: give one"):
        read_bags(root)
    assert in_order(read_bags(root / "features" / "features_net")).bag.y.tolist() == [0, 1, 1]


def test_bad_npy_files_are_named(tmp_path):
    root = torchmil(tmp_path / "set")
    file = root / "features" / "a.npy"
    for array, message in (
        (np.ones((1, 3)), r"b.npy: a segment must have 3 numbers as in .*a.npy, got 2"),
        (np.array([[1.0, np.inf]]), r"a.npy, row 0, column 1: must be finite, got inf"),
        (np.array([["x"]]), r"a.npy: segments must be numbers"),
        (np.ones((0, 2)), r"a.npy: a bag needs a segment"),
    ):
        np.save(file, array)
        with pytest.raises(FoveateError, match=message):
            read_bags(root)
    np.save(file, np.array([{"run": "me"}], object), allow_pickle=True)
    with pytest.raises(FoveateError, match=r"a.npy must hold plain numbers: it holds a pickle"):
        read_bags(root)
    file.write_bytes(b"")
    with pytest.raises(FoveateError, match=r"a.npy is empty"):
        read_bags(root)
    file.write_bytes(b"\x93NUMPY\x01\x00 garbage")
    with pytest.raises(FoveateError, match=r"a.npy is not a whole .npy file"):
        read_bags(root)
    np.save(file, X[1])
    np.save(root / "labels" / "a.npy", np.array([1, 0]))
    with pytest.raises(
        FoveateError, match=r"labels/a.npy must hold one label, got an array of shape \(2,\)"
    ):
        read_bags(root)
    (root / "labels" / "a.npy").unlink()
    with pytest.raises(FoveateError, match=r"there is no file .*labels/a.npy"):
        read_bags(root)


def test_reports_count_bags(tmp_path):
    reports = []
    read_bags(torchmil(tmp_path / "set"), report=lambda *report: reports.append(report))
    assert reports == [("bags", 1, 3), ("bags", 2, 3), ("bags", 3, 3)]
    assert json.dumps(reports)
