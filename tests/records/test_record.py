import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from foveate.errors import FoveateError
from foveate.records.record import UMASK, Record, save_arrays, write_atomically

ODD = np.array([0.1, -0.0, np.nan, np.inf, 5e-324, 1e300])


def record():
    chance = np.random.default_rng(0)
    return Record(
        t=np.array([0, 2, 5]),
        values={"loss": chance.normal(size=(3, 2)), "by/cell": chance.random((3, 2, 4))},
        final={
            "alpha": chance.random((2, 7, 5), dtype=np.float32),
            "z": chance.random((2, 7, 5)) < 0.2,
            "odd": ODD,
            "none": np.zeros((2, 0), np.int64),
        },
        meta={"seeds": [0, 1], "words": "μ „quoted“", "rate": 0.1, "deep": {"none": None}},
    )


def assert_same_bits(a, b):
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    assert a.tobytes() == b.tobytes()


def test_what_is_saved_is_read_bit_for_bit(tmp_path):
    saved = record()
    saved.save(tmp_path / "a.npz")
    loaded = Record.load(tmp_path / "a.npz")
    assert_same_bits(loaded.t, saved.t)
    for part in ("values", "final"):
        mine, other = getattr(loaded, part), getattr(saved, part)
        assert list(mine) == list(other)
        for name in other:
            assert_same_bits(mine[name], other[name])
    assert loaded.meta == saved.meta
    assert loaded.trained is None
    assert os.listdir(tmp_path) == ["a.npz"]
    assert (tmp_path / "a.npz").stat().st_mode & 0o777 == 0o666 & ~UMASK


def test_files_are_as_private_as_the_user_asks(tmp_path):
    write = "from foveate.records.record import *; from pathlib import Path; import sys; "
    write += "write_atomically(Path(sys.argv[1]), lambda file: file.write(b'mine'))"
    for umask, mode in ((0o077, 0o600), (0o022, 0o644)):
        subprocess.run([sys.executable, "-c", write, tmp_path / "a"], umask=umask, check=True)
        assert (tmp_path / "a").stat().st_mode & 0o777 == mode


def test_the_last_measurement():
    assert (record().last("loss") == record().values["loss"][-1]).all()
    with pytest.raises(FoveateError, match=r"has no 'los'; it has loss, by/cell"):
        record().last("los")


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


META = np.frombuffer(b"{}", np.uint8)
T = np.arange(3)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"junk",
        b"PK\x03\x04 and then nothing",
        npy(T),  # an array, but no archive
        npz(t=T),
        npz(meta=META),
        npz(t=T, meta=np.frombuffer(b"{half", np.uint8)),
        npz(t=T, meta=np.frombuffer(b"[1]", np.uint8)),
        npz(t=T, meta=META, stray=T),
        npz(t=T, meta=META, **{"values/a": np.array([{}, {}])}),  # a pickle
    ],
)
def test_what_is_no_record_is_refused_in_a_sentence(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(
        FoveateError,
        match=r"a\.npz (is damaged|is not a complete record|must hold plain numbers and texts): \S",
    ) as caught:
        Record.load(tmp_path / "a.npz")
    assert "\n" not in str(caught.value)


def test_a_pickle_is_not_opened(tmp_path):
    (tmp_path / "a.npz").write_bytes(npz(t=T, meta=META, **{"final/a": np.array([print])}))
    with pytest.raises(FoveateError, match=r"a.npz must hold plain numbers .* never loaded"):
        Record.load(tmp_path / "a.npz")


def test_no_record_at_all(tmp_path):
    with pytest.raises(FoveateError, match=r"there is no record at .*a.npz"):
        Record.load(tmp_path / "a.npz")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FoveateError, match=r"folder is damaged"):
        Record.load(tmp_path / "folder")


def test_damage_at_any_byte_is_detected(tmp_path):
    path = tmp_path / "a.npz"
    Record(T, {"a": np.arange(40.0).reshape(2, 20)}, meta={"seeds": [0]}).save(path)
    whole, reference = path.read_bytes(), Record.load(path)
    chance = np.random.default_rng(0)
    refused = 0
    for cut in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:cut])
        with pytest.raises(FoveateError, match=r"is damaged"):
            Record.load(path)
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= int(chance.integers(1, 256))
        path.write_bytes(bytes(damaged))
        try:
            loaded = Record.load(path)
        except FoveateError:
            refused += 1
        else:  # a byte that no reader looks at, such as a time stamp of the archive
            assert_same_bits(loaded.t, reference.t)
            assert loaded.meta == reference.meta
            if loaded.values:  # or the name of an array
                assert_same_bits(next(iter(loaded.values.values())), reference.values["a"])
    assert refused > len(whole) / 2


def test_writing_is_atomic(tmp_path):
    path = tmp_path / "a.txt"
    write_atomically(path, lambda file: file.write(b"old"))

    def halfway(file):
        file.write(b"ne")
        file.flush()
        assert path.read_bytes() == b"old"  # what is there stays until the new is whole
        raise RuntimeError("the power went")

    with pytest.raises(RuntimeError, match=r"the power went"):
        write_atomically(path, halfway)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.txt"]
    write_atomically(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"


def test_an_interrupt_halfway_leaves_no_temporary(tmp_path):
    def interrupted(file):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "a", interrupted)
    assert os.listdir(tmp_path) == []


def test_unwritable_outputs(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(FoveateError, match=r"cannot write in .*file"):
        write_atomically(tmp_path / "file" / "a", lambda file: None)
    with pytest.raises(FoveateError, match=r"cannot write in .*nowhere"):
        record().save(tmp_path / "nowhere" / "a.npz")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FoveateError, match=r"cannot write .*folder"):
        write_atomically(tmp_path / "folder", lambda file: file.write(b"x"))

    def full(file):
        raise OSError(28, "No space left on device")

    with pytest.raises(FoveateError, match=r"cannot write .*a.npz: No space left on device"):
        write_atomically(tmp_path / "a.npz", full)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_arrays_are_plain_npz(tmp_path):
    save_arrays(tmp_path / "a.npz", {"rows": np.arange(3), "segments": ODD})
    with np.load(tmp_path / "a.npz", allow_pickle=False) as data:
        assert data["rows"].tolist() == [0, 1, 2]
        assert_same_bits(data["segments"], ODD)
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert archive.namelist() == ["rows.npy", "segments.npy"]


def test_meta_is_json_inside_the_archive(tmp_path):
    record().save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as data:
        assert json.loads(data["meta"].tobytes()) == record().meta
