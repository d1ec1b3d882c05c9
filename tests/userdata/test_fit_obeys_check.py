"""What check calls an error stops fit, predict, trust and the estimator, unless it is forced."""

import json

import numpy as np
import pytest

from foveate.cli import main
from foveate.errors import FoveateError
from foveate.userdata.estimator import FocusClassifier

COPY = "column 'target': the label under another name: one number per class"
SHORT = ["--paradigms", "soft", "--seeds", "1", "--epochs", "1", "--folds", "1"]


def write(path, copy=True, bags=30, extra=""):
    chance = np.random.default_rng(0)
    lines = ["bag,label,a,target,when"]
    for i in range(bags):
        for _ in range(3):
            target = i % 2 if copy else f"{chance.normal():.4f}"
            lines.append(f"b{i},{'uv'[i % 2]},{chance.normal():.4f},{target},2020-01-01")
    path.write_text("\n".join(lines) + "\n" + extra)
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stops(capsys, *command):
    with pytest.raises(SystemExit) as caught:
        main([str(part) for part in command])
    assert caught.value.code == 2
    return capsys.readouterr()


def test_an_error_of_check_stops_fit_with_the_same_sentence(folder, capsys):
    table = write(folder / "t.csv")
    assert COPY in " ".join(stops(capsys, "check", table).out.split())
    err = stops(capsys, "fit", table, *SHORT, "--out", "run").err
    assert COPY in err
    assert "--force label-copy" in err
    assert not (folder / "run").exists()


def test_force_is_written_into_manifest_and_report(folder, capsys):
    main(["fit", str(write(folder / "t.csv")), *SHORT, "--out", "run", "--force", "label-copy"])
    captured = capsys.readouterr()
    manifest = json.loads((folder / "run" / "manifest.json").read_text())
    assert manifest["forced"] == [f"label-copy: {COPY}"]
    assert COPY in captured.out
    page = (folder / "run" / "report.html").read_text()
    assert "Accepted by --force: label-copy" in page
    main(["predict", "run", "t.csv", "--out", "p.csv"])  # what the fit accepted is accepted
    main(["check", "t.csv", "--force", "label-copy"])


def test_an_unknown_name_is_refused(folder, capsys):
    err = stops(capsys, "fit", write(folder / "t.csv"), *SHORT, "--force", "all").err
    assert "there is no check 'all'" in err


def test_fit_lists_columns_prints_warnings_and_keeps_them(folder, capsys):
    extra = "".join(f"c{i},{'uv'[i % 2]},1.5,2.5,2020-01-01\n" for i in range(2))
    main(["fit", str(write(folder / "t.csv", False, extra=extra)), *SHORT, "--out", "run"])
    captured = capsys.readouterr()
    assert "left out   when: times or dates, such as '2020-01-01'" in captured.err
    assert "feature    a, target: numbers" in captured.err
    manifest = json.loads((folder / "run" / "manifest.json").read_text())
    assert ["when", "left out", "times or dates, such as '2020-01-01'"] in manifest["roles"]
    warning = "bags 'c0', 'c1': the same content under different labels"
    assert warning in manifest["warnings"]
    assert f"warning: {warning}" in captured.out
    page = (folder / "run" / "report.html").read_text()
    assert "the same content under different labels" in page
    assert "times or dates" in page


def test_predict_and_trust_stop_too(folder, capsys):
    main(["fit", str(write(folder / "t.csv", False)), *SHORT, "--out", "run"])
    capsys.readouterr()
    write(folder / "new.csv")
    assert COPY in stops(capsys, "predict", "run", "new.csv", "--out", "p.csv").err
    assert COPY in stops(capsys, "explain", "run", "new.csv", "--out", "p.csv").err
    assert COPY in stops(capsys, "trust", "run", "--data", "new.csv").err
    main(["predict", "run", "new.csv", "--out", "p.csv", "--force", "label-copy"])
    assert (folder / "p.csv").exists()


def test_one_class_of_new_bags_is_no_reason_to_stop_predicting(folder, capsys):
    main(["fit", str(write(folder / "t.csv", False)), *SHORT, "--out", "run"])
    lines = (folder / "t.csv").read_text().splitlines()
    (folder / "new.csv").write_text("\n".join(line for line in lines if ",v," not in line))
    main(["predict", "run", "new.csv", "--out", "p.csv"])
    assert (folder / "p.csv").read_text().count("\n") == 16


def test_the_estimator_stops_too():
    chance = np.random.default_rng(0)
    bags = [np.hstack([chance.normal(size=(3, 2)), np.full((3, 1), i % 2)]) for i in range(20)]
    y = np.arange(20) % 2
    with pytest.raises(FoveateError, match="column 'x2': the label under another name"):
        FocusClassifier(epochs=1).fit(bags, y)
    FocusClassifier(epochs=1, force=("label-copy",)).fit(bags, y)


def test_the_estimator_refuses_numbers_that_are_not_classes():
    chance = np.random.default_rng(0)
    bags = [chance.normal(size=(3, 2)) for _ in range(60)]
    with pytest.raises(FoveateError, match="labels must be classes, whole numbers or names, got"):
        FocusClassifier(epochs=1).fit(bags, chance.random(60))
    FocusClassifier(epochs=1).fit(bags, (chance.random(60) > 0.5).astype(float))
