"""Banks in files that are mapped into memory."""

import gc
from pathlib import Path

import pytest
import torch

from foveate.bags import mapped
from foveate.bags.bag import Bag, pad
from foveate.bags.imputation import Imputation
from foveate.bags.mapped import (
    BankWriter,
    consecutive,
    is_mapped,
    map_bank,
    mapped_copy,
    row_blocks,
    sampled_rows,
)
from foveate.bags.segments import Mosaics
from foveate.bags.standardisation import Standardisation
from foveate.errors import FoveateError
from foveate.training.loop import identity
from foveate.training.plan import Plan

ROWS, WIDTH = 64, 1024


@pytest.fixture
def rows():
    return torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def bank(rows, tmp_path):
    with BankWriter(tmp_path / "bank.npy", ROWS, rows[0]) as writer:
        writer.write(40, rows[40:])
        writer.write(0, rows[:40])
    return map_bank(tmp_path / "bank.npy")


def resident(bank: torch.Tensor) -> int:
    """Bytes of the file that are resident in this process."""
    path, inside = str(mapped.file_of(bank)), False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        inside = line.endswith(path) if "-" in line.split()[0] else inside
        if inside and line.startswith("Rss:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the file is not mapped")


def test_rows_are_those_written(bank, rows):
    assert torch.equal(bank, rows)
    assert is_mapped(bank[3:5])
    assert not is_mapped(rows)


def test_pages_that_were_read_are_released(bank, rows, monkeypatch):
    monkeypatch.setattr(mapped, "RESIDENT", 2**14)
    monkeypatch.setattr(mapped, "BLOCK", 4 * WIDTH)
    bank.sum()
    assert resident(bank) >= rows.nbytes
    read = torch.cat([block.clone() for block in row_blocks(bank)])
    assert torch.equal(read, rows)
    assert resident(bank) <= 2**17  # the system maps some pages around those that are read


@pytest.mark.parametrize("use", ["sample", "medians", "fingerprint"])
def test_pages_are_released_while_a_bank_is_read(bank, rows, monkeypatch, use):
    monkeypatch.setattr(mapped, "RESIDENT", 2**16)
    monkeypatch.setattr(mapped, "BLOCK", 4 * WIDTH)
    index = torch.arange(0, ROWS, 8)
    if use == "sample":
        assert torch.equal(sampled_rows(bank, index), rows[index])
    elif use == "medians":
        assert torch.equal(Imputation.of(bank).medians, Imputation.of(rows).medians)
    else:
        bags = [Bag(Mosaics(x, index[:, None]), index) for x in (bank, rows)]
        one, two = (identity(Plan(), [], [], {"bags": bag}) for bag in bags)
        assert one == two
    assert resident(bank) < rows.nbytes / 2


def test_a_released_mapping_is_forgotten(bank):
    number = len(mapped._MAPPED)
    copy = mapped_copy(bank, lambda part: 2 * part, Path(mapped.file_of(bank)).parent)
    assert len(mapped._MAPPED) == number + 1
    del copy
    gc.collect()
    assert len(mapped._MAPPED) == number


def test_a_copy_needs_no_file_that_stays(bank, rows, tmp_path):
    copy = mapped_copy(bank, lambda part: part[:, :3] + 1, tmp_path)
    assert torch.equal(copy, rows[:, :3] + 1)
    assert mapped.file_of(copy) is None
    assert [path.name for path in tmp_path.iterdir()] == ["bank.npy"]


def test_bags_of_consecutive_rows_need_no_copy(bank):
    parts = list(bank.split([10, 4, 50]))
    assert pad(parts, torch.tensor([0, 1, 0])).bank.data_ptr() == bank.data_ptr()
    assert consecutive([parts[0], parts[2]]) is None
    assert consecutive([part.clone() for part in parts]) is None


def test_scales_and_medians_are_those_of_rows_in_memory(bank, rows):
    scale, of_memory = Standardisation.of(bank), Standardisation.of(rows)
    assert torch.equal(scale.mean, of_memory.mean)
    assert torch.equal(scale.scale, of_memory.scale)
    assert torch.equal(Imputation.of(bank).medians, Imputation.of(rows).medians)


def test_medians_of_many_segments_are_those_of_a_sample(monkeypatch):
    rows = torch.arange(1001.0)[:, None]
    monkeypatch.setattr("foveate.bags.imputation.MOST", 1000)
    monkeypatch.setattr("foveate.bags.imputation.SAMPLE", 11)
    assert Imputation.of(rows).medians.tolist() == [500.0]


def test_a_file_that_was_cut_short_is_refused(bank, tmp_path):
    whole = (tmp_path / "bank.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(whole[:-4])
    with pytest.raises(FoveateError, match=r"short\.npy is not a whole \.npy file"):
        map_bank(tmp_path / "short.npy")


def test_an_interrupted_writer_leaves_nothing(tmp_path, rows):
    with (
        pytest.raises(FoveateError, match=r"shape \(1024,\), got \(3,\)"),
        BankWriter(tmp_path / "bank.npy", ROWS, rows[0]) as writer,
    ):
        writer.write(0, rows[:, :3])
    assert not list(tmp_path.iterdir())


def test_too_little_space_is_said_before_anything_is_written(tmp_path):
    with pytest.raises(FoveateError, match=r"need 4,\d+\.\d GB .* free some, or name another"):
        BankWriter(tmp_path / "bank.npy", 2**30, torch.zeros(2**10))
    assert not list(tmp_path.iterdir())
