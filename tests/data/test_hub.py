"""Where files are looked for, without a network."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from foveate.data import DATASETS
from foveate.data.files import hub
from foveate.errors import FoveateError


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FOVEATE_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    hub._download.cache_clear()


def test_the_users_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mnist").mkdir()
    monkeypatch.setenv("FOVEATE_DATA", str(tmp_path))
    assert hub.locate("mnist", "ylecun/mnist") == tmp_path / "mnist"


@pytest.mark.parametrize("root", [None, "empty"])
def test_missing_files_are_an_error_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str | None
) -> None:
    if root:
        monkeypatch.setenv("FOVEATE_DATA", str(tmp_path / root))
    with pytest.raises(FoveateError) as caught:
        DATASETS.get("mnist")().load("train", n=2, m=2, seed=0)
    for part in ("set FOVEATE_DATA to a folder that holds mnist/", "foveate[hub]", "ylecun/mnist"):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_hub_is_asked_once_for_parquet_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = []

    def snapshot_download(repo_id: str, **options: object) -> str:
        query.append((repo_id, options))
        return str(tmp_path)

    fake = SimpleNamespace(snapshot_download=snapshot_download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", fake)
    assert hub.locate("a", "someone/a") == hub.locate("a", "someone/a") == tmp_path
    expected = {"repo_type": "dataset", "allow_patterns": ["*.parquet", "*.jsonl"]}
    assert query == [("someone/a", expected)]


def test_being_offline_is_the_same_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_: object, **__: object) -> str:
        raise ConnectionError("no route")

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=offline))
    with pytest.raises(FoveateError, match=r"be online to fetch someone/a \(ConnectionError\)"):
        hub.locate("a", "someone/a")
