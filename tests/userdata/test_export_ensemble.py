"""ONNX of whole ensembles: mixtures of numbers and of texts agree with the library."""

import numpy as np
import pytest

from foveate.jobs.fit import start_fit
from foveate.userdata.ensemble import load_fitted
from foveate.userdata.export import export_onnx, run_onnx
from foveate.userdata.settings import FitSettings

from .made import numbers, texts

QUICK = {"folds": 2, "seeds": 1, "epochs": 1, "batch": 16, "paradigms": ("soft",)}


@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_the_mixture_is_exported(kind, tmp_path):
    pytest.importorskip("onnxruntime")
    bags = numbers() if kind == "numbers" else texts(words_per_segment=2)
    run = start_fit(bags, FitSettings(**QUICK), tmp_path / "run")
    fitted = load_fitted(run.path)
    assert fitted.name == "mixture"
    assert {"mean-lr", "max-lr", "mean-max-min-lr"} < set(run.manifest["weights"])
    path = tmp_path / "model.onnx"
    assert export_onnx(fitted, path) < 1e-5
    segments = (
        bags.bag.bank[bags.bag.index[0][bags.bag.mask[0]]].numpy()
        if kind == "numbers"
        else fitted.bags(bags).bank[bags.bag.index[0][bags.bag.mask[0]]].numpy()
    )
    result = fitted.explain(fitted.bags(bags.take([0])))
    inputs = run_onnx(path, segments)
    np.testing.assert_allclose(inputs["probabilities"], fitted.probabilities(result)[0], atol=1e-5)
    np.testing.assert_allclose(inputs["evidence"], result.evidence[0], atol=1e-4)
