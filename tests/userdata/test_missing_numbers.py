"""Fits of tables with missing numbers and labels: imputed, listed, predicted, exported."""

import csv

import numpy as np
import pytest
import torch

from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.jobs.fit import start_fit
from foveate.userdata.ensemble import load_fitted
from foveate.userdata.export import export_onnx, run_onnx
from foveate.userdata.predict import answer, bags_table
from foveate.userdata.prepare import Preparation
from foveate.userdata.settings import FitSettings


def write(path, bags=40, seed=0, unlabelled=4):
    """Bags whose label shows in column a of one row; a fifth of column b is missing."""
    chance = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["bag", "label", "a", "b"])
        for i in range(bags):
            label = "NA" if i < unlabelled else "uv"[i % 2]
            for j in range(4):
                a = chance.normal() + 6 * (i % 2 and j == 2)
                b = "?" if chance.random() < 0.2 else f"{chance.normal(10):.6f}"
                out.writerow([f"b{i}", label, f"{a:.6f}", b])
    return path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("missing")
    bags = read_bags(write(folder / "t.csv"), labelled=True)
    settings = FitSettings(paradigms=("soft",), seeds=1, epochs=2, folds=1)
    return load_fitted(start_fit(bags, settings, folder / "run").path)


def test_unlabelled_bags_are_not_fitted(fitted):
    assert fitted.run.manifest["sizes"]["bags"] == 36
    assert fitted.classes == ("u", "v")


def test_medians_come_from_the_training_bags(fitted, tmp_path):
    bags = read_bags(write(tmp_path / "t.csv"), labelled=True)
    from foveate.userdata.split import split_bags

    train = bags.take(split_bags(bags, 0).train).bag
    rows = train.x.index[train.mask]
    values = bags.bag.x.bank[rows].numpy()
    present = ~bags.missing[rows].numpy()
    imputation = fitted.preparation.imputation
    expected = [np.median(values[present[:, k], k]) for k in range(2)]
    np.testing.assert_allclose(imputation.medians, expected, rtol=1e-6)
    assert imputation.indicators.tolist() == [1]
    assert fitted.preparation.width == (3,)


def test_missing_numbers_and_labels_are_predicted(fitted, tmp_path):
    new = read_bags(write(tmp_path / "t.csv", 8, 5, 3), classes=fitted.classes)
    table = bags_table(fitted, new, answer(fitted, new, with_evidence=False))
    assert table.column("label").to_pylist() == [None, None, None, "v", "u", "v", "u", "v"]
    p = np.array(table.column("p_u").to_pylist())
    assert np.isfinite(p).all()
    filled = new.bag.x.bank.clone()
    filled[:, 1] = torch.where(new.missing[:, 1], 1e6, filled[:, 1])  # what is filled in is unused
    from dataclasses import replace

    from foveate.bags.bag import Bag
    from foveate.bags.segments import Mosaics

    bag = Bag(Mosaics(filled, new.bag.x.index), new.bag.y, None, new.bag.mask)
    other = answer(fitted, replace(new, bag=bag), with_evidence=False).p
    np.testing.assert_array_equal(answer(fitted, new, with_evidence=False).p, other)


def test_an_exported_model_takes_nan(fitted, tmp_path):
    pytest.importorskip("onnxruntime")
    assert export_onnx(fitted, tmp_path / "m.onnx") < 1e-5
    inputs = run_onnx(tmp_path / "m.onnx", np.array([[0.5, np.nan], [6.0, 10.0]], np.float32))
    assert np.isfinite(inputs["probabilities"]).all()


def test_a_preparation_with_medians_is_read_back(fitted, tmp_path):
    fitted.preparation.save(tmp_path / "p.safetensors")
    again = Preparation.load(tmp_path / "p.safetensors")
    assert again.imputation.medians.equal(fitted.preparation.imputation.medians)
    assert again.imputation.indicators.equal(fitted.preparation.imputation.indicators)


def test_a_run_without_medians_refuses_missing_numbers(fitted, tmp_path):
    from dataclasses import replace

    new = read_bags(write(tmp_path / "t.csv", 8, 5, 3), classes=fitted.classes)
    old = replace(fitted.preparation, imputation=None)
    with pytest.raises(FoveateError, match="keeps no medians to impute them by"):
        old.apply(new)
