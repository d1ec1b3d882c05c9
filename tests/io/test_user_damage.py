"""Files cut anywhere, or with a byte changed: read, or one sentence that names the file."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from foveate.errors import FoveateError
from foveate.io import read_bags


def table(path):
    pq.write_table(
        pa.table({"bag": ["a", "a", "b"], "label": [0, 0, 1], "v": [1.0, 2.0, 3.0]}), path
    )


def arrays(path):
    np.savez(path, x=np.ones((3, 2)), offsets=np.array([0, 2, 3]), y=np.array([0, 1]))


def features(path):
    np.save(path, np.ones((3, 2)))


def rows(path):
    path.write_text("bag,label,v\na,0,1.5\na,0,2.5\nb,1,é\n".replace("é", "3"))


def texts(path):
    line = {"annotation_id": "r", "classification": "x", "document": "a b", "evidences": [[]]}
    path.write_text(json.dumps(line) + "\n")


def image(path):
    Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(path)


def slide(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file["features"] = np.ones((3, 2))


KINDS = {
    "t.parquet": table,
    "t.npz": arrays,
    "set/t.npy": features,
    "t.csv": rows,
    "t.jsonl": texts,
    "t.png": image,
    "t.h5": slide,
}


@pytest.mark.parametrize("name", KINDS)
def test_damage_is_one_sentence(tmp_path, name):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    KINDS[name](file)
    path = file.parent if name.startswith("set") else file
    whole = file.read_bytes()
    assert len(read_bags(path, tiles=4)) > 0
    rng = np.random.default_rng(0)
    cuts = [whole[:end] for end in rng.integers(0, len(whole), 12)]
    flips = [
        bytes([*whole[:at], whole[at] ^ 0xFF, *whole[at + 1 :]])
        for at in rng.integers(0, len(whole), 25)
    ]
    messages = []
    for raw in [b"", *cuts, *flips]:
        file.write_bytes(raw)
        try:
            read_bags(path, tiles=4)
        except FoveateError as error:
            messages.append(str(error))
    assert len(messages) > 5
    assert [one for one in messages if file.name not in one or "\n" in one] == []
