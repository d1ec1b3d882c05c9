"""A fit of bags in a mapped file gives the numbers of a fit of the same bags in memory."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from foveate.bags.mapped import is_mapped
from foveate.io import read_bags
from foveate.jobs.fit import FitJob, start_fit
from foveate.userdata.ensemble import load_fitted
from foveate.userdata.pooled_segments import pooled
from foveate.userdata.predict import answer, warn_of_shift
from foveate.userdata.procedure import prepare_bags
from foveate.userdata.settings import FitSettings
from foveate.userdata.stored_collection import load_collection, save_collection

N, WIDTH = 24, 5


@pytest.fixture
def path(tmp_path, monkeypatch):
    chance = np.random.default_rng(0)
    (tmp_path / "set").mkdir()
    for k in range(N):
        x = chance.normal(size=(chance.integers(2, 6), WIDTH)).astype("float32")
        x[0, 0] += 6 * (k % 2)
        np.save(tmp_path / "set" / f"b{k:02}.npy", x)
    rows = "".join(f"b{k:02},{'no' if k % 2 else 'yes'}\n" for k in range(N))
    (tmp_path / "set" / "labels.csv").write_text("bag,label\n" + rows)
    monkeypatch.setenv("FOVEATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "set"


def fitted(path, monkeypatch, limit, out):
    monkeypatch.setenv("FOVEATE_MEMORY", limit)
    bags = read_bags(path, labelled=True)
    assert is_mapped(bags.bag.bank) == (limit == "1e-9")
    settings = FitSettings(paradigms=("soft", "hard"), seeds=2, epochs=3, batch=8, folds=1)
    return bags, start_fit(bags, settings, out)


def test_scores_are_those_of_bags_in_memory(path, monkeypatch, tmp_path):
    bags, run = fitted(path, monkeypatch, "1e-9", tmp_path / "streamed")
    _, other = fitted(path, monkeypatch, "1", tmp_path / "loaded")
    assert run.manifest["data"]["fingerprint"] == other.manifest["data"]["fingerprint"]
    assert run.manifest["chosen"] == other.manifest["chosen"]
    for name in run.manifest["parts"]:
        one, two = run.record(name).final, other.record(name).final
        assert one.keys() == two.keys()
        for key, value in one.items():
            np.testing.assert_allclose(value, two[key], rtol=1e-5, atol=1e-5, err_msg=key)
    model = load_fitted(run.path)
    streamed = answer(model, bags)
    assert is_mapped(streamed.bag.bank)
    assert warn_of_shift(model, bags) is not None
    monkeypatch.setenv("FOVEATE_MEMORY", "1")
    loaded = answer(load_fitted(other.path), read_bags(path))
    np.testing.assert_allclose(streamed.p, loaded.p, atol=1e-5)
    assert [f.name for f in (tmp_path / "cache" / "banks").iterdir() if f.is_dir()] == []


def test_pooled_segments_are_those_of_bags_in_memory(path, monkeypatch):
    monkeypatch.setenv("FOVEATE_MEMORY", "1e-9")
    bags = read_bags(path, labelled=True)
    preparation, bag = prepare_bags(bags, FitSettings(folds=2), torch.arange(N - 4), None)
    assert is_mapped(bag.bank)
    loaded = replace(bag, x=bag.x._replace(bank=bag.bank.clone()))
    of_file, of_memory = (pooled(b, preparation, ("mean", "max", "min")) for b in (bag, loaded))
    np.testing.assert_array_equal(of_file, of_memory)


def test_workers_get_the_name_of_the_file_in_place_of_its_rows(path, monkeypatch, tmp_path):
    monkeypatch.setenv("FOVEATE_MEMORY", "1e-9")
    bags = read_bags(path, labelled=True)
    save_collection(tmp_path / "bags.safetensors", bags)
    assert b"bank_file" in (tmp_path / "bags.safetensors").read_bytes()
    again = load_collection(tmp_path / "bags.safetensors")
    assert is_mapped(again.bag.bank)
    assert torch.equal(again.bag.bank, bags.bag.bank)


def test_a_null_segment_is_refused(path, monkeypatch, tmp_path):
    monkeypatch.setenv("FOVEATE_MEMORY", "1e-9")
    job = FitJob(FitSettings(null_segment=True, folds=1), read_bags(path, labelled=True))
    with pytest.raises(Exception, match="larger than memory are read without a null segment"):
        job.check(None)
