"""The guarantees of docs/guide/promises.md, each through the command line alone."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cli.typed import call

TRAINING = ["--paradigms", "soft", "--seeds", "1", "--epochs", "1"]
FIT = [*TRAINING, "--folds", "1", "--no-verdict"]
BAGS = 30
ROOT = Path(__file__).parents[2]


def write(path, change=None, seed=0, bags=BAGS):
    """A table of bags of three rows whose cells are changed by a function of row number and row."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(3 * bags):
        a, b = rng.normal(size=2)
        row = {"bag": f"b{i // 3}", "label": "uv"[i // 3 % 2], "a": f"{a:.4f}", "b": f"{b:.4f}"}
        rows.append({**row, **(change(i, row) if change else {})})
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def checked(path):
    """The exit code of ``foveate check --json``, and the description that it prints."""
    code, out, _ = call("check", path, "--json")
    return code, json.loads(out)["description"]


def table(path):
    """Rows of a CSV file."""
    return list(csv.DictReader(path.read_text().splitlines()))


def features(path):
    """Names of the columns that are features, as the check lists them."""
    code, result = checked(path)
    assert code == 0, result
    return list(result["columns"])


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    """A small fit, and its predictions of new bags."""
    folder = tmp_path_factory.mktemp("fit")
    write(folder / "t.csv")
    write(folder / "new.csv", seed=1, bags=6)
    assert call("fit", folder / "t.csv", *FIT, "--out", folder / "run")[0] == 0
    assert call("predict", folder / "run", folder / "new.csv", "--out", folder / "p.csv")[0] == 0
    return folder


def test_the_split_does_not_depend_on_scikit_learn(fit, tmp_path, monkeypatch):
    from sklearn.model_selection import StratifiedGroupKFold

    def other(_self, x, *_args):
        rows = np.arange(len(x))
        yield from ((rows[rows % 5 != k], rows[rows % 5 == k]) for k in range(5))

    monkeypatch.setattr(StratifiedGroupKFold, "split", other)
    assert call("fit", fit / "t.csv", *FIT, "--out", tmp_path / "run")[0] == 0
    first, second = (json.loads((f / "run/split.json").read_text()) for f in (fit, tmp_path))
    assert first["rows"] == second["rows"]


def test_an_error_of_check_stops_fit(tmp_path):
    path = write(tmp_path / "t.csv", lambda i, _: {"copy": i // 3 % 2})
    assert checked(path)[0] == 2
    code, _, err = call("fit", path, *FIT, "--out", tmp_path / "run")
    assert code == 2
    assert "column 'copy': the label under another name" in err
    force = ["--force", "label-copy"]
    assert call("fit", path, *FIT, *force, "--out", tmp_path / "run")[0] == 0
    assert "label-copy" in (tmp_path / "run" / "manifest.json").read_text()


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (["NA", "1.5", "2.5"], ["a", "b", "c"]),
        (["50%", "5%", "7.5%"], ["a", "b", "c"]),
        (["true", "false", "True"], ["a", "b", "c"]),
        (["1,500", "2,000", "1,500,000"], ["a", "b", "c"]),
    ],
)
def test_columns_of_numbers_in_any_form_are_features(tmp_path, cells, names):
    assert features(write(tmp_path / "t.csv", lambda i, _: {"c": cells[i % 3]})) == names


def test_decimal_commas_are_read_or_refused(tmp_path):
    whole = lambda i, row: {"a": row["a"].replace(".", ","), "b": row["b"].replace(".", ",")}  # noqa: E731
    assert features(write(tmp_path / "t.csv", whole)) == ["a", "b"]
    path = write(tmp_path / "t.csv", lambda i, row: {"a": row["a"].replace(".", ",")})
    code, _, err = call("check", path)
    assert code == 2
    assert "line 2, column 'a'" in err


def test_numbers_of_patients_are_no_features(tmp_path):
    path = write(tmp_path / "t.csv", lambda i, _: {"hospital": i // 12})
    assert features(path) == ["a", "b"]
    assert "suspected group" in call("check", path)[1]


def test_a_second_column_of_relevance_is_no_feature(tmp_path):
    """As a feature it gives away what attention is to find."""
    marks = lambda i, _: {"relevance": int(i % 3 == 0), "inst_labels": int(i % 3 == 0)}  # noqa: E731
    path = write(tmp_path / "t.csv", marks)
    assert features(path) == ["a", "b"]
    assert "the relevance is column 'relevance'" in call("check", path)[1].replace("\n", " ")


def test_a_number_that_differs_in_every_bag_is_no_feature(tmp_path):
    path = write(tmp_path / "t.csv", lambda i, _: {"slide": 1000 - i // 3})
    assert features(path) == ["a", "b"]
    assert "another in every bag" in call("check", path)[1].replace("\n", " ")


def test_groups_that_differ_by_case_are_a_warning(tmp_path):
    """Bags of one patient under two spellings may be drawn for training and for testing."""
    path = write(tmp_path / "t.csv", lambda i, _: {"patient": f"{'Pp'[i // 3 % 2]}{i // 6}"})
    assert "are they one?" in call("check", path)[1].replace("\n", " ")


@pytest.mark.parametrize("layout", ["npz", "parquet"])
def test_labels_in_bytes_are_named_by_their_text(layout, tmp_path):
    path = tmp_path / f"t.{layout}"
    y = [b"uv"[i % 2 : i % 2 + 1] for i in range(BAGS)]
    x = np.random.default_rng(0).normal(size=(BAGS, 3, 2))
    if layout == "npz":
        np.savez(path, x=x, y=np.array(y))
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        rows = {"bag": np.repeat(np.arange(BAGS), 3).astype(str), "a": x[..., 0].ravel()}
        label = pa.array([label for label in y for _ in range(3)], pa.binary())
        parquet.write_table(pa.table({**rows, "label": label}), path)
    assert checked(path)[1]["classes"] == {"u": 15, "v": 15}


def test_a_table_without_a_header_is_recognised(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(f"{7 + i // 3},{i // 3 % 2},{i * i % 7}.5" for i in range(30)))
    code, _, err = call("check", path, "--bag", "7", "--label", "0")
    assert code == 2
    assert "--no-header" in err


@pytest.mark.parametrize("missing", ["?", "NA", "none", "null", "N/A", "nan"])
def test_missing_labels_are_no_class(tmp_path, missing):
    path = write(tmp_path / "t.csv", lambda i, row: {"label": missing if i < 6 else row["label"]})
    code, result = checked(path)
    assert code == 0
    assert result["classes"] == {"u": 14, "v": 14}
    assert result["unlabelled"] == 2


def test_missing_numbers_are_imputed_or_refused(tmp_path):
    path = write(tmp_path / "t.csv", lambda i, row: {"a": "?" if i % 4 == 0 else row["a"]})
    assert features(path) == ["a", "b"]
    code, _, err = call("fit", path, *FIT, "--missing", "refuse", "--out", tmp_path / "run")
    assert code == 2
    assert "line 2, column 'a'" in err


def test_commas_that_nothing_decides_are_refused(tmp_path):
    path = tmp_path / "t.tsv"
    lines = ["bag\tlabel\ta\tb", *(f"b{i // 3}\tu\t1,{100 + i}\t{i}" for i in range(30))]
    path.write_text("\n".join(lines))
    code, _, err = call("check", path)
    assert code == 2
    assert "line 2, column 'a': '1,100' may mean 1100 or 1.100" in err


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_the_index_of_a_sorted_table_is_no_feature(tmp_path, name):
    path = write(tmp_path / "t.csv", lambda i, _: {name: 7 * (i // 3 % 2 * 1000 + i)})
    assert features(path) == ["a", "b"]
    assert "an index as pandas stores it" in call("check", path, "--json")[1]


def test_a_column_of_numbers_and_texts_is_a_warning(tmp_path):
    path = write(tmp_path / "t.csv", lambda i, _: {"c": i if i % 2 else "high"})
    assert features(path) == ["a", "b"]
    assert "45 of 90 cells are numbers" in call("check", path, "--json")[1]


def test_labels_that_differ_by_spelling_are_a_warning(tmp_path):
    path = write(tmp_path / "t.csv", lambda i, row: {"label": "U" if i < 12 else row["label"]})
    assert "--merge-labels" in call("check", path)[1]


def test_no_command_overwrites_its_input(fit, tmp_path):
    path = shutil.copy(fit / "new.csv", tmp_path / "new.csv")
    before = path.read_bytes()
    code, _, err = call("predict", fit / "run", path, "--out", path)
    assert code == 2
    assert "it is the input" in err
    assert path.read_bytes() == before


def test_align_and_report_overwrite_nothing_of_the_user(fit, tmp_path):
    source, target, page = (tmp_path / name for name in ("s.txt", "t.txt", "thesis.html"))
    source.write_text("a b\na c\n")
    target.write_text("x y\nx z\n")
    page.write_text("<h1>thesis</h1>")
    assert call("align", source, target, "--out", source)[0] == 2
    assert source.read_text() == "a b\na c\n"
    assert call("report", fit / "run", "--out", page)[0] == 2
    assert page.read_text() == "<h1>thesis</h1>"


@pytest.mark.parametrize("name", ["soft/weights.safetensors", "preparation.safetensors"])
def test_damaged_files_change_no_prediction(fit, tmp_path, name):
    run = shutil.copytree(fit / "run", tmp_path / "run")
    content = bytearray((run / name).read_bytes())
    content[-6] ^= 0x10  # in the numbers
    (run / name).write_bytes(bytes(content))
    out = tmp_path / "p.csv"
    code, _, err = call("predict", run, fit / "new.csv", "--out", out)
    assert code == 2
    assert f"{name.rpartition('/')[2]} is damaged" in err


def test_other_units_are_a_warning_and_marked(fit, tmp_path):
    scaled = lambda i, row: {"a": f"{1000 * float(row['a']):.4f}"}  # noqa: E731
    path = write(tmp_path / "new.csv", scaled, seed=1, bags=6)
    code, _, err = call("predict", fit / "run", path, "--out", tmp_path / "p.csv")
    assert code == 0
    assert "column 'a'" in err
    rows = table(tmp_path / "p.csv")
    assert {row["unusual"] for row in rows} == {"a"}


def test_the_order_of_columns_changes_nothing(fit, tmp_path):
    order = ["b", "a", "label", "bag"]
    lines = [order, *([row[name] for name in order] for row in table(fit / "new.csv"))]
    (tmp_path / "new.csv").write_text("\n".join(",".join(cells) for cells in lines))
    assert call("predict", fit / "run", tmp_path / "new.csv", "--out", tmp_path / "p.csv")[0] == 0
    assert (tmp_path / "p.csv").read_text() == (fit / "p.csv").read_text()


@pytest.mark.parametrize("name", ["x", "ids", "offsets", "columns"])
def test_arrays_without_axes_are_one_sentence(tmp_path, name):
    arrays = {"x": np.zeros((12, 2)), "y": np.arange(4) % 2, "bag": np.repeat(np.arange(4), 3)}
    if name == "offsets":
        del arrays["bag"]
    arrays[name] = np.array(1)
    np.savez(tmp_path / "t.npz", **arrays)
    code, _, err = call("check", tmp_path / "t.npz")
    assert code == 2
    assert f"array '{name}'" in err


def test_an_archive_larger_than_memory_is_refused_unread(tmp_path):
    header = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10, 10**4)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("x.npy", header.getvalue())
    code, _, err = call("check", tmp_path / "t.npz")
    assert code == 2
    assert "would unpack to 800.0 GB" in err


@pytest.mark.parametrize(
    "command",
    [["check", "x" * 300 + ".csv"], ["report", "x" * 300], ["flow", "--points", "3.7"]],
    ids=["check", "report", "flow"],
)
def test_mistakes_are_one_sentence(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = call(*command)
    assert code == 2
    assert err.startswith("foveate: ")
    assert "Traceback" not in err


def test_a_closed_pipe_is_no_error(fit):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", "from foveate.cli import main; main()", "check"]
    with subprocess.Popen(
        [*command, str(fit / "t.csv"), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == ""


def test_two_resumes_of_one_run_exclude_each_other(fit, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    run = shutil.copytree(fit / "run", tmp_path / "run")
    with (run / ".lock").open("w") as lock:  # as another process holds it
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, _, err = call("resume", run)
    assert code == 2
    assert "is being computed by another process" in err


def test_bags_do_not_depend_on_free_memory(tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = write(tmp_path / "t.csv", lambda i, _: {"hospital": i // 12})
    rows = csv.DictReader(path.read_text().splitlines())
    numbers = {"a": float, "b": float, "hospital": int}
    cells = [{k: numbers.get(k, str)(v) for k, v in row.items()} for row in rows]
    parquet.write_table(pa.Table.from_pylist(cells), tmp_path / "t.parquet")
    loaded = call("check", tmp_path / "t.parquet", "--json")
    monkeypatch.setenv("FOVEATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FOVEATE_MEMORY", "1e-9")
    assert call("check", tmp_path / "t.parquet", "--json")[:2] == loaded[:2]
    assert json.loads(loaded[1])["description"]["columns"] == ["a", "b"]


def test_parts_that_were_never_written_stop_fit(tmp_path):
    h5py = pytest.importorskip("h5py")
    (tmp_path / "h5").mkdir()
    for i in range(20):
        with h5py.File(tmp_path / "h5" / f"b{i}.h5", "w") as file:
            stored = file.create_dataset("features", (4, 2), "f4", chunks=(2, 2))
            stored[: 2 if i == 7 else 4] = i
    lines = ["bag,label", *(f"b{i},{'uv'[i % 2]}" for i in range(20))]
    (tmp_path / "h5" / "labels.csv").write_text("\n".join(lines))
    code, _, err = call("fit", tmp_path / "h5", *FIT, "--out", tmp_path / "run")
    assert code == 2
    assert "b7.h5': parts were never written" in err
    assert "--force unwritten-parts" in err


def test_an_empty_rationale_is_skipped(tmp_path):
    document = {"classification": "u", "document": "a b c", "annotation_id": "r"}
    spans = [{"start_token": 1, "end_token": 2}, {"start_token": 2, "end_token": 2}]
    lines = [
        {
            **document,
            "annotation_id": f"r{i}",
            "classification": "uv"[i % 2],
            "evidences": [spans[: 1 + (i == 3)]],
        }
        for i in range(6)
    ]
    (tmp_path / "e.jsonl").write_text("\n".join(map(json.dumps, lines)))
    code, out, _ = call("check", tmp_path / "e.jsonl")
    assert code == 0
    assert "warning" in out


def test_the_doctor_examines_runs(fit, tmp_path):
    assert call("doctor", fit / "run")[0] == 0
    run = shutil.copytree(fit / "run", tmp_path / "run")
    split = run / "split.json"
    split.write_text(split.read_text().replace('"b1"', '"b2"', 1))
    code, out, _ = call("doctor", run)
    assert code == 2
    assert "split.json is damaged" in out
