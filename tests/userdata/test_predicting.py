import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch

from foveate.bags.segments import Mosaics
from foveate.bags.standardisation import Standardisation
from foveate.errors import FoveateError
from foveate.jobs.fit import start_fit
from foveate.metrics.calibration import calibrated
from foveate.training.evaluation import read
from foveate.trust.external import External
from foveate.trust.loading import load_onnx
from foveate.trust.segment_maps import MAP_KINDS
from foveate.userdata.ensemble import load_fitted
from foveate.userdata.export import run_onnx
from foveate.userdata.predict import answer, bags_table, segments_table, write_table
from foveate.userdata.settings import FitSettings

from .made import QUICK, numbers, texts


@pytest.fixture(scope="module")
def answered(run):
    fitted, new = load_fitted(run.path), numbers(9, seed=5, labelled=False)
    return fitted, new, answer(fitted, new)


def test_probabilities_are_those_of_the_models_averaged_and_calibrated(answered):
    fitted, new, result = answered
    bag = fitted.bags(new)
    mean = np.mean([np.exp(read(m, bag, fitted.name).log_p.numpy()) for m in fitted.models], 0)
    np.testing.assert_allclose(result.p, calibrated(mean, fitted.temperature), atol=1e-6)


def test_a_row_a_bag(answered):
    fitted, new, result = answered
    table = bags_table(fitted, new, result).to_pydict()
    names = "bag predicted p_no p_yes low_no high_no low_yes high_yes segments top_segment"
    assert list(table) == [*names.split(), "top_attention"]
    members = fitted.member_probabilities(result.explained)
    assert len(members) == 2
    expected = np.quantile(members, (0.05, 0.95), axis=0)
    np.testing.assert_allclose([table["low_yes"], table["high_yes"]], expected[..., 1], rtol=1e-5)
    assert table["bag"] == list(new.ids)
    for i, alpha in enumerate(result.explained.alpha):
        assert table["predicted"][i] == ("no", "yes")[result.p[i].argmax()]
        assert table["p_yes"][i] == np.float32(result.p[i, 1])
        assert table["segments"][i] == int(new.bag.mask[i].sum())
        assert table["top_segment"][i] == alpha.argmax()
        assert table["top_attention"][i] == alpha.max()


@pytest.mark.parametrize("kind", MAP_KINDS)
def test_a_row_a_segment(answered, kind):
    fitted, new, result = answered
    table = segments_table(fitted, new, result, kind=kind).to_pydict()
    at = 0
    for i, name in enumerate(new.ids):
        m = int(new.bag.mask[i].sum())
        rows = slice(at, at + m)
        at += m
        assert table["bag"][rows] == [name] * m
        assert table["segment"][rows] == list(range(m))
        np.testing.assert_array_equal(table["attention"][rows], result.explained.alpha[i])
        explained = result.explained
        evidence = explained.alone if kind in ("evidence", "posterior") else explained.evidence
        np.testing.assert_array_equal(table["evidence_yes"][rows], evidence[i][:, 1])
        ranked = evidence[i][:, result.p[i].argmax()]
        if kind == "attention":
            ranked = explained.alpha[i]
        elif kind == "posterior":
            p = np.exp(evidence[i])
            ranked = explained.alpha[i] * (p / p.sum(1, keepdims=True))[:, result.p[i].argmax()]
        order = sorted(range(m), key=lambda j: -ranked[j])
        assert [table["rank"][rows][j] for j in order] == list(range(1, m + 1))
    assert at == len(table["bag"])
    assert sum(table["attention"]) == pytest.approx(len(new), abs=1e-4)


def test_labels_and_relevance_are_carried_along(run):
    fitted, known = load_fitted(run.path), numbers(12, relevance=True)
    result = answer(fitted, known)
    assert bags_table(fitted, known, result)["label"].to_pylist()[:3] == ["no", "no", "yes"]
    relevant = segments_table(fitted, known, result)["relevant"].to_pylist()
    lengths = known.bag.mask.sum(1).tolist()
    assert relevant[: lengths[0]] == [None] * lengths[0]  # even bags are not known
    z = known.bag.z[1][known.bag.mask[1]].tolist()
    assert relevant[lengths[0] : lengths[0] + lengths[1]] == z


def test_columns_that_hardly_varied_do_not_drown_the_others():
    rows = torch.tensor([[1.0, 0.0], [3.0, 1e-6], [5.0, 0.0], [7.0, 7.0]])
    standard = Standardisation.of(rows, torch.tensor([0, 1, 2]))
    assert standard.apply(rows)[3, 1] == 20
    assert standard.apply(rows)[3, 0] == pytest.approx((7 - 3) / np.std([1, 3, 5]))
    constant = Standardisation.of(torch.ones(3, 1))
    assert constant.apply(torch.tensor([[1.0], [4.0]])).flatten().tolist() == [0.0, 3.0]


def test_tables_are_written_as_their_names_say(answered, tmp_path):
    table = bags_table(*answered)
    assert pyarrow.parquet.read_table(write_table(tmp_path / "a.parquet", table)).equals(table)
    again = pyarrow.csv.read_csv(write_table(tmp_path / "a.csv", table))
    assert again["p_yes"].cast("float").to_pylist() == table["p_yes"].to_pylist()
    with pytest.raises(FoveateError, match=r"written as .csv or .parquet, got 'a.xlsx'"):
        write_table(tmp_path / "a.xlsx", table)


def test_a_null_segment_is_reported_apart(tmp_path):
    settings = FitSettings(**QUICK | {"paradigms": ("lvml",), "map": "entmax15"}, null_segment=True)
    fitted = load_fitted(start_fit(numbers(), settings, tmp_path / "run").path)
    new = numbers(7, seed=2)
    result = answer(fitted, new)
    bags, segments = bags_table(fitted, new, result), segments_table(fitted, new, result)
    assert segments.num_rows == int(new.bag.mask.sum())
    starts = np.cumsum([0, *new.bag.mask.sum(1).tolist()])[:-1]
    total = np.add.reduceat(segments["attention"].to_numpy(), starts)
    np.testing.assert_allclose(total + bags["null_attention"].to_numpy(), 1, atol=1e-5)
    path, rng = exported(fitted, tmp_path), np.random.default_rng(0)
    for m in (1, 5, 50):
        assert_whole(fitted, run_onnx(path, rng.normal(size=(m, 3)).astype(np.float32)))
    read = External(load_onnx(path), new.bag).read([new.bag])
    np.testing.assert_allclose(read.p[0], result.p, atol=1e-5)
    z = segments["attention"].to_numpy() / np.repeat(total, new.bag.mask.sum(1).numpy())
    np.testing.assert_allclose(read.alpha[0][new.bag.mask.numpy()], z, atol=1e-4)


def test_an_exported_text_model_takes_ids(tmp_path):
    settings = FitSettings(**QUICK | {"paradigms": ("soft",), "seeds": 1})
    fitted = load_fitted(start_fit(texts(), settings, tmp_path / "run").path)
    words = len(fitted.preparation.vocabulary)
    assert words > 2
    path = exported(fitted, tmp_path)
    for m in (1, 5, 50):
        assert_whole(fitted, run_onnx(path, np.arange(m)[:, None] % (words - 1) + 1))


def exported(fitted, folder):
    """The file of an exported model, which says the classes and what the library says."""
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    from foveate.userdata.export import export_onnx

    path = folder / "model.onnx"
    assert export_onnx(fitted, path) < 1e-5
    properties = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    assert properties["classes"] == str(list(fitted.classes)).replace("'", '"')
    return path


def assert_whole(fitted, inputs):
    """Probabilities of a bag, attention of at most 1 on its segments, evidence for each class."""
    (m,) = inputs["attention"].shape
    assert inputs["evidence"].shape == (m, len(fitted.classes))
    assert inputs["probabilities"].sum() == pytest.approx(1, abs=1e-5)
    assert (inputs["attention"] >= 0).all()
    assert inputs["attention"].sum() <= 1 + 1e-5


def test_the_numbers_of_a_bag_do_not_depend_on_its_neighbours(answered):
    fitted, new, result = answered
    bag = fitted.bags(new)
    assert isinstance(bag.x, Mosaics)
    for i in (0, 4):
        alone = fitted.explain(bag.take(slice(i, i + 1)))
        np.testing.assert_allclose(alone.p[0], result.explained.p[i], atol=1e-6)
        np.testing.assert_allclose(alone.alpha[0], result.explained.alpha[i], atol=1e-6)
