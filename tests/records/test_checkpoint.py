import os

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from foveate.errors import FoveateError
from foveate.records import record
from foveate.records.record import load_checkpoint, save_checkpoint

TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool]


def tensors(seed=0):
    chance = torch.Generator().manual_seed(seed)
    values = {str(kind): (torch.randn(3, 4, generator=chance) * 9).abs().to(kind) for kind in TYPES}
    odd = torch.tensor([torch.nan, torch.inf, -0.0, 5e-324], dtype=torch.float64)
    turned = torch.arange(12.0).view(3, 4).T
    wide = torch.zeros(1).expand(5)
    return values | {"odd": odd, "turned": turned, "wide": wide, "none": torch.zeros(0, 3)}


def bits(tensor):
    return tensor.contiguous().flatten().view(torch.uint8).tolist() if tensor.numel() else []


META = {"epoch": 7, "seconds": 0.1, "words": "μ", "deep": {"list": [1, None]}}


def test_what_is_saved_is_read_bit_for_bit(tmp_path):
    saved = tensors()
    save_checkpoint(tmp_path / "a", saved, META)
    loaded, meta = load_checkpoint(tmp_path / "a")
    assert loaded.keys() == saved.keys()
    for name, value in saved.items():
        assert (loaded[name].dtype, loaded[name].shape) == (value.dtype, value.shape)
        assert bits(loaded[name]) == bits(value)
    assert meta == META
    assert os.listdir(tmp_path) == ["a"]


def test_tensors_that_share_memory_are_written_each(tmp_path):
    whole = torch.arange(6.0)
    save_checkpoint(tmp_path / "a", {"whole": whole, "half": whole[:3], "again": whole}, {})
    loaded, _ = load_checkpoint(tmp_path / "a")
    assert loaded["half"].tolist() == [0, 1, 2]
    assert loaded["again"].tolist() == loaded["whole"].tolist() == whole.tolist()
    loaded["whole"] += 1  # what was read is writable, and shares no memory
    assert loaded["half"].tolist() == [0, 1, 2]


def test_gradients_are_left_behind(tmp_path):
    save_checkpoint(tmp_path / "a", {"w": torch.ones(2, requires_grad=True)}, {})
    assert not load_checkpoint(tmp_path / "a")[0]["w"].requires_grad


def test_a_failure_halfway_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    save_checkpoint(tmp_path / "a", {"w": torch.ones(2)}, {"epoch": 1})

    def full(place):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(record.os, "fsync", full)
    with pytest.raises(FoveateError, match=r"cannot write .*: No space left on device"):
        save_checkpoint(tmp_path / "a", {"w": torch.zeros(2)}, {"epoch": 2})
    loaded, meta = load_checkpoint(tmp_path / "a")
    assert (loaded["w"].tolist(), meta) == ([1, 1], {"epoch": 1})
    assert os.listdir(tmp_path) == ["a"]


def test_no_checkpoint_at_all(tmp_path):
    with pytest.raises(FoveateError, match=r"there is no file .*nowhere"):
        load_checkpoint(tmp_path / "nowhere")
    with pytest.raises(FoveateError, match=r"is damaged"):
        load_checkpoint(tmp_path)


def test_a_part_of_a_checkpoint_is_refused(tmp_path):
    path = tmp_path / "a"
    save_checkpoint(path, tensors(), META)
    whole = path.read_bytes()
    for cut in range(0, len(whole), 13):
        path.write_bytes(whole[:cut])
        with pytest.raises(FoveateError, match=r"a is damaged") as caught:
            load_checkpoint(path)
        assert "\n" not in str(caught.value)


def test_a_file_of_weights_without_our_meta_is_refused(tmp_path):
    from safetensors.torch import save_file

    save_file({"w": torch.ones(2)}, tmp_path / "a")
    with pytest.raises(FoveateError, match=r"a is damaged"):
        load_checkpoint(tmp_path / "a")
    save_file({"meta.json": torch.tensor(list(b"[1]"), dtype=torch.uint8)}, tmp_path / "a")
    with pytest.raises(FoveateError, match=r"a is damaged"):
        load_checkpoint(tmp_path / "a")


@given(st.binary(max_size=200))
def test_junk_is_refused(tmp_path_factory, junk):
    path = tmp_path_factory.getbasetemp() / "junk"
    path.write_bytes(junk)
    with pytest.raises(FoveateError, match=r"junk is damaged"):
        load_checkpoint(path)


def test_damage_to_the_header_is_a_sentence(tmp_path):
    path = tmp_path / "a"
    save_checkpoint(path, {"w": torch.ones(2), "v": torch.zeros(3, 1)}, {"epoch": 1})
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    refused = 0
    for place in range(header):
        damaged = bytearray(whole)
        damaged[place] ^= 1 + place % 7
        path.write_bytes(bytes(damaged))
        try:
            load_checkpoint(path)
        except FoveateError:
            refused += 1
    assert refused > 0.8 * header
