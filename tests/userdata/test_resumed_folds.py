"""A cross-fitted run that is resumed reads its folds back, or stops."""

import json

import pytest

from foveate.errors import FoveateError
from foveate.jobs.fit import resume_fit, start_fit
from foveate.records.checksums import seal_json
from foveate.records.runs import open_run
from foveate.userdata.ensemble import part_name
from foveate.userdata.folds import FOLDS_FILE, draw_cross_fit, load_folds, resumed_folds, save_folds
from foveate.userdata.settings import FitSettings

from .made import numbers

SETTINGS = FitSettings(folds=2, seeds=1, epochs=1, batch=32, paradigms=("soft",))


@pytest.fixture
def stored(tmp_path):
    """Bags, and a folder with their folds."""
    collection = numbers(groups=True)
    save_folds(draw_cross_fit(collection, SETTINGS), tmp_path, collection.ids)
    return collection, tmp_path


def rewrite(folder, change):
    """Change the entries of a file of folds; its checksum is right again."""
    path = folder / FOLDS_FILE
    content = json.loads(path.read_text())
    del content["checksum"]
    change(content)
    path.write_bytes(seal_json(content))


def swap_folds(content):
    """Exchange the folds of the first bags of either fold."""
    row = content["folds"][0]
    a, b = row.index(0), row.index(1)
    row[a], row[b] = row[b], row[a]


def test_stored_folds_are_read_back(stored):
    collection, folder = stored
    drawn = draw_cross_fit(collection, SETTINGS)
    assert resumed_folds(folder, collection, SETTINGS).equals(drawn)


def test_folds_that_differ_from_their_draw_are_refused(stored):
    collection, folder = stored
    rewrite(folder, swap_folds)
    with pytest.raises(FoveateError, match="differs from the folds that seed 0 draws"):
        resumed_folds(folder, collection, SETTINGS)


def test_folds_of_another_draw_are_kept(stored):
    collection, folder = stored
    rewrite(folder, lambda content: (swap_folds(content), content.update(method="older")))
    assert resumed_folds(folder, collection, SETTINGS).equals(load_folds(folder))
    assert not load_folds(folder).equals(draw_cross_fit(collection, SETTINGS))


def test_folds_of_other_bags_are_refused(stored):
    collection, folder = stored
    with pytest.raises(FoveateError, match="names other bags than"):
        resumed_folds(folder, collection.take(list(range(1, 60))), SETTINGS)


def test_missing_folds_are_drawn_again_only_before_training(stored):
    collection, folder = stored
    (folder / FOLDS_FILE).unlink()
    drawn = draw_cross_fit(collection, SETTINGS)
    assert resumed_folds(folder, collection, SETTINGS).equals(drawn)
    (folder / "soft-1-1").mkdir()
    (folder / "soft-1-1" / "record.npz").touch()
    with pytest.raises(FoveateError, match=r"folds\.json is missing although soft-1-1 is trained"):
        resumed_folds(folder, collection, SETTINGS)


def test_a_resumed_fit_stops_at_changed_folds(tmp_path):
    collection = numbers(groups=True)
    run = start_fit(collection, SETTINGS, tmp_path / "run")
    run.update(status="running")
    (run.path / part_name("soft", 0, 1) / "record.npz").unlink()
    rewrite(run.path, swap_folds)
    with pytest.raises(FoveateError, match="held-out bags may have been trained on"):
        resume_fit(open_run(run.path), collection=collection)
    assert not run.has(part_name("soft", 0, 1))
