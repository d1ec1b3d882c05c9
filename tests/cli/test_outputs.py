"""No command replaces its input, or a file that it did not make, unless --overwrite says so."""

import os

import pytest

from foveate.cli import main
from foveate.cli.outputs import check_outputs
from foveate.errors import FoveateError
from small_training import fit_small_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs")
    fit_small_table(folder)
    for name in ("s", "t"):
        (folder / name).write_text("a b c\nd e f\n" * 5)
    return folder


def stopped(capsys, *command):
    with pytest.raises(SystemExit) as caught:
        main([str(part) for part in command])
    assert caught.value.code == 2
    return capsys.readouterr().err


@pytest.fixture(params=["path", "relative", "symbolic link", "hard link"])
def alias(request, folder, tmp_path):
    """Another name of the input table."""
    table = folder / "t.csv"
    if request.param == "path":
        return table
    if request.param == "relative":
        return folder / ".." / folder.name / "t.csv"
    other = tmp_path / "other.csv"
    (os.link if request.param == "hard link" else os.symlink)(table, other)
    return other


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_a_table_does_not_replace_its_input(folder, alias, capsys, command):
    before = (folder / "t.csv").read_bytes()
    message = stopped(capsys, command, folder / "run", folder / "t.csv", "--out", alias)
    assert "it is the input" in message
    assert (folder / "t.csv").read_bytes() == before


def test_a_file_of_another_program_is_kept(folder, capsys, tmp_path):
    target = tmp_path / "notes.csv"
    target.write_text("my,notes\n")
    command = ["predict", folder / "run", folder / "t.csv", "--out", target]
    assert "was not made by this command" in stopped(capsys, *command)
    assert target.read_text() == "my,notes\n"
    main([*map(str, command), "--overwrite"])
    assert target.read_text().startswith('"bag"')
    main([*map(str, command)])  # a table of predictions may be replaced by a new one
    for suffix in (".html", ".parquet", ".txt"):
        other = tmp_path / f"notes{suffix}"
        other.write_text("<p>mine</p>")
        with pytest.raises(FoveateError, match="was not made by this command"):
            check_outputs(other)
        check_outputs(other, overwrite=True)


def test_align_does_not_replace_its_sources(folder, capsys):
    source, target = folder / "s", folder / "t"
    before = source.read_text()
    assert "it is the input" in stopped(capsys, "align", source, target, "--out", source)
    assert source.read_text() == before
    main(["align", str(source), str(target), "--out", str(folder / "links")])


def test_report_replaces_pages_only(folder, capsys, tmp_path):
    data = folder / "run" / "manifest.json"
    before = data.read_bytes()
    assert "was not made by" in stopped(capsys, "report", folder / "run", "--out", data)
    assert data.read_bytes() == before
    page = tmp_path / "page.html"
    for _ in range(2):
        main(["report", str(folder / "run"), "--out", str(page)])
    assert b'content="foveate"' in page.read_bytes()
    page.write_text("<html>mine</html>")
    assert "was not made by" in stopped(capsys, "report", folder / "run", "--out", page)


def test_exported_models_replace_exported_models_only(folder, capsys, tmp_path):
    pytest.importorskip("onnxruntime")
    target = tmp_path / "m.onnx"
    target.write_bytes(b"another model")
    assert "was not made by" in stopped(capsys, "export", folder / "run", "--onnx", target)
    for extra in (["--overwrite"], []):
        main(["export", str(folder / "run"), "--onnx", str(target), *extra])
