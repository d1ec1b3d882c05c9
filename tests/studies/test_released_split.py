import json

import numpy as np
import pytest

from foveate.charts.render import to_svg
from foveate.data import DATASETS
from foveate.data.image_mosaics import relevant_seen
from foveate.errors import FoveateError
from foveate.jobs.experiment import of_run, start_experiment
from foveate.records.published import Cell
from foveate.studies.image_splits import mosaic_scores, released_record
from foveate.studies.reproduction import stored_results
from foveate.studies.vr23.released_split.figures import decomposition


def test_released_test_mosaics_are_cut_from_training_images():
    data = DATASETS.get("digits")()
    train = data.load("train", n=200, m=5, seed=3)
    clean, released = (
        data.with_split(split).load("test", n=50, m=5, seed=3) for split in ("clean", "released")
    )
    seen = {row.tobytes() for row in train.x.bank.numpy()}
    assert all(row.tobytes() in seen for row in released.x.bank.numpy())
    assert not any(row.tobytes() in seen for row in clean.x.bank.numpy())


def test_training_mosaics_are_the_same_in_both_splits():
    data = DATASETS.get("digits")()
    one, other = (
        data.with_split(split).load("train", n=20, m=5, seed=1) for split in ("clean", "released")
    )
    np.testing.assert_array_equal(one.x.index, other.x.index)
    np.testing.assert_array_equal(one.x.bank, other.x.bank)


def test_seen_images_are_those_of_training_mosaics_by_enumeration():
    data = DATASETS.get("digits")().with_split("released")
    train, test = (data.load(split, n=60, m=4, seed=0) for split in ("train", "test"))
    used = {train.x.bank[row].numpy().tobytes() for row in train.x.index.flatten()}
    expected = [
        test.x.bank[row[flags][0]].numpy().tobytes() in used
        for row, flags in zip(test.x.index, test.z, strict=True)
    ]
    assert relevant_seen(train, test).tolist() == expected
    assert 0 < sum(expected) < len(expected)


def test_no_test_image_of_the_clean_split_was_seen():
    data = DATASETS.get("digits")()
    train, test = (data.load(split, n=60, m=4, seed=0) for split in ("train", "test"))
    assert not relevant_seen(train, test).any()


def test_a_data_set_without_images_has_no_released_split():
    with pytest.raises(FoveateError, match="'gaussians' is not cut from images"):
        DATASETS.get("gaussians")().with_split("released")
    with pytest.raises(FoveateError, match="must be one of clean, released, got 'both'"):
        DATASETS.get("digits")().with_split("both")


def test_released_numbers_are_the_weighted_mean_of_seen_and_unseen(tmp_path):
    run = start_experiment("released-split", "smoke", {"n": 60, "n_test": 80}, out=tmp_path / "run")
    experiment, settings = of_run(run)
    records = run.records()
    cells = {
        (c.name, c.setting, c.measure): np.array(c.values)
        for c in experiment.cells(settings, records)
    }
    for rule in settings.rules:
        share = cells[rule, "released split", "images seen %"] / 100
        for measure in ("SAIF", "accuracy"):
            seen, unseen = (
                cells[rule, "released split", f"{measure}, {which} images %"]
                for which in ("seen", "unseen")
            )
            np.testing.assert_allclose(
                share * seen + (1 - share) * unseen,
                cells[rule, "released split", f"{measure} %"],
                rtol=1e-4,
            )
        record = records[f"digits-{rule}"]
        clean = mosaic_scores(record)
        np.testing.assert_allclose(clean["accuracy"].mean(-1), record.last("accuracy"))
        np.testing.assert_allclose(clean["SAIF"].mean(-1), record.last("saif"))
        assert mosaic_scores(released_record(record))["accuracy"].shape == (2, 80)


SIZES = {"n": 400, "n_test": 60, "epochs": 1, "batch": 100, "lr": 1e-3}
DIGITS = {**SIZES, "data": "digits", "net": "mlp", "stop_below": 0.05, "seeds": 2}
TABLE1 = {"rows": ["digits-5"], "paradigms": ["soft", "oracle"], "sizes": {"cifar10": SIZES}}
TABLE2 = {"variants": ["softmax", "hard"], "images": DIGITS}


@pytest.mark.parametrize(
    ("table", "changes", "group", "focus", "name"),
    [
        ("table1", TABLE1, "Digits m=5", "SAIF", "oracle"),
        ("table2", TABLE2, "digits, zeroth layer", "FT", "softmax"),
    ],
)
def test_tables_have_both_splits_from_the_same_models(tmp_path, table, changes, group, focus, name):
    both, alone = (
        {
            (c.setting, c.name, c.measure): c.values
            for c in experiment.cells(settings, records)
            if c.group == group and not c.measure.startswith(("CPU", "calls"))
        }
        for experiment, settings, records in (
            _finished(tmp_path / split, table, {**changes, "split": split})
            for split in ("released", "clean")
        )
    )
    assert {setting for setting, _, _ in both} == {"", "released split"}
    assert alone == {key: values for key, values in both.items() if key[0] == ""}
    share = np.array(both["released split", name, "images seen %"]) / 100
    assert ((share > 0) & (share < 1)).all()
    for measure in (focus, "accuracy"):
        total, seen, unseen = (
            np.array(both["released split", name, f"{measure}{images} %"])
            for images in ("", ", seen images", ", unseen images")
        )
        np.testing.assert_allclose(share * seen + (1 - share) * unseen, total, atol=1e-3)


def _finished(folder, table, changes):
    run = start_experiment(table, "smoke", changes, out=folder)
    return *of_run(run), run.records()


def test_the_decomposition_is_drawn_from_stored_cells():
    (stored,) = (result for result in stored_results() if result["table"] == "released-split")
    cells = [Cell(**{**one, "values": tuple(one["values"])}) for one in stored["cells"]]
    svg = to_svg(decomposition(cells))
    for series in ("test images (clean)", "training images, trained on", "published"):
        assert series in svg
    soft = next(c for c in cells if (c.name, c.measure) == ("soft", "accuracy, seen images %"))
    text = json.dumps(decomposition(cells).to_dict())
    assert f'"series": "training images, trained on", "value": {soft.mean}' in text
