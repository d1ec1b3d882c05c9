"""Data sets over features: the mosaics of the pixels, each image replaced by its features."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from foveate.data import DATASETS
from foveate.data.features import datasets
from foveate.data.features import encoding as loop
from foveate.data.features.datasets import MOSAICS
from foveate.data.features.encoders import find_encoder
from foveate.data.features.encoding import Sizes, encode, squared
from foveate.data.features.image_sources import find_pictures
from foveate.data.files.bank import Bank
from foveate.data.files.feature_files import Moments, read_encoded, read_features
from foveate.data.image_mosaics import from_path
from foveate.errors import FoveateError
from foveate.models.efficientnet import WEIGHTS, EfficientNetLite0, efficientnet_lite0

Draw = Callable[..., np.ndarray]
Write = Callable[..., Path]
KNOWN = "known_halves:halves"


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with weights that were drawn, not learned."""
    folder = tmp_path_factory.mktemp("data") / "weights"
    folder.mkdir()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        state = EfficientNetLite0().state_dict()
    save_file({k: v for k, v in state.items() if "num_batches" not in k}, folder / WEIGHTS)
    return folder


@pytest.fixture
def mnist(
    workdir: Path, weights: Path, draw: Draw, write_table: Write, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder of data with 40 training and 20 test images in place of MNIST's."""
    for split, rows in (("train", 40), ("test", 20)):
        images = list(draw(rows, 8, 8, seed=rows))
        labels = [k % 10 for k in range(rows)]
        write_table(workdir / f"data/mnist/{split}-0.parquet", images, labels, list("0123456789"))
    (workdir / "data/weights").symlink_to(weights)
    monkeypatch.setenv("FOVEATE_DATA", str(workdir / "data"))
    return workdir / "data/mnist"


def pair_of(name: str, split: str, seed: int):
    sizes = {"n": 30, "m": 4, "seed": seed}
    return (DATASETS.get(kind)().load(split, **sizes) for kind in (name, f"{name}-features"))


def test_every_mosaic_set_exists_over_features() -> None:
    images = {name for name, make in DATASETS.items() if make().banks is not None}
    assert images == set(MOSAICS)
    assert {f"{name}-features" for name in images} <= set(DATASETS.names())


def test_seeds_give_the_same_mosaics_over_pixels_and_features(mnist: Path, weights: Path) -> None:
    net = efficientnet_lite0(weights / WEIGHTS)
    banks, raw = {}, {}
    for split in ("train", "test"):
        for seed in (0, 1):
            pixels, features = pair_of("mnist", split, seed)
            assert torch.equal(pixels.x.index, features.x.index)
            assert torch.equal(pixels.y, features.y)
            assert torch.equal(pixels.z, features.z)
            assert features.segment_shape == (1280,)
            assert features.x.bank is banks.setdefault(split, features.x.bank)  # one for all seeds
        raw[split] = net(squared(pixels.x.bank, 128)).half().float()
    mean, std = raw["train"].mean(0), raw["train"].std(0, correction=0)
    for split, bank in banks.items():
        want = (raw[split] - mean) / std.where(std > 0, 1.0)
        torch.testing.assert_close(bank, want, rtol=0, atol=0.02)  # half precision, standardised


def test_images_are_encoded_on_first_use_only(
    mnist: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(datasets, "PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr(loop, "PART", 20)
    DATASETS.get("mnist")().load("train", n=2, m=2, seed=0)
    assert capsys.readouterr().err == ""  # pixels need no features
    list(pair_of("mnist", "train", 0))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"encoding mnist: {k} of 60 images, 0 min left" for k in (40, 60)]
    (file,) = (workdir / "cache/features").iterdir()
    assert file.name.startswith("mnist-efficientnet_lite0-pooled-128-")
    assert read_encoded(file).x.dtype == torch.float16
    (workdir / "data/weights").unlink()
    monkeypatch.setattr("foveate.data.features.encoders.PUBLISHED", _digest_in(file))
    list(pair_of("mnist", "test", 1))  # what is kept needs no weights
    assert capsys.readouterr().err == ""


def _digest_in(file: Path) -> str:
    return read_encoded(file).manifest["encoder"]["weights"]


def test_missing_weights_are_an_error_with_a_remedy(mnist: Path, workdir: Path) -> None:
    (workdir / "data/weights").unlink()
    with pytest.raises(FoveateError, match=rf"holds weights/{WEIGHTS}, or name the file"):
        list(pair_of("mnist", "train", 0))


def test_changed_images_are_encoded_again(
    mnist: Path, workdir: Path, draw: Draw, write_table: Write
) -> None:
    list(pair_of("mnist", "train", 0))
    images = list(draw(20, 8, 8, seed=5))
    write_table(mnist / "test-0.parquet", images, [k % 10 for k in range(20)])
    list(pair_of("mnist", "test", 0))
    assert len(list((workdir / "cache/features").glob("*.npz"))) == 2


def test_a_split_by_seed_is_that_of_the_pixels(
    few_digits: Bank, workdir: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workdir / "data").mkdir()
    (workdir / "data/weights").symlink_to(weights)
    monkeypatch.setenv("FOVEATE_DATA", str(workdir / "data"))
    for seed in (0, 1):
        for split in ("train", "test"):
            pixels, features = pair_of("digits", split, seed)
            assert torch.equal(pixels.x.index, features.x.index)
            assert len(pixels.x.bank) == len(features.x.bank)
            copies = {}  # equal images have equal features, different ones different
            for image, row in zip(pixels.x.bank, features.x.bank, strict=True):
                key = image.numpy().tobytes()
                assert torch.allclose(row, copies.setdefault(key, row), atol=0.05)
            if split == "train":
                torch.testing.assert_close(
                    features.x.bank.mean(0), torch.zeros(1280), atol=1e-3, rtol=0
                )


# a user's own files


@pytest.fixture
def copied(workdir: Path, draw: Draw) -> Path:
    """120 images of labels 0 … 5 without a split, among them copies of one another."""
    x, y = draw(120, 4, 6), np.arange(120) % 6
    x[60:90] = x[:30]
    np.savez(workdir / "small.npz", X=x, y=y)
    return workdir / "small.npz"


def test_a_users_file_gives_the_same_mosaics_encoded(copied: Path) -> None:
    out = encode(
        find_pictures(str(copied)), find_encoder(KNOWN), Path("out.npz"), Sizes(4, "float32")
    )
    for seed in (0, 1):
        raw = {}
        for split in ("train", "test"):
            pixels, features = (
                from_path(path).load(split, n=20, m=3, seed=seed) for path in (copied, out)
            )
            assert torch.equal(pixels.x.index, features.x.index)
            assert torch.equal(pixels.y, features.y)
            x = squared(pixels.x.bank, 4)
            raw[split] = torch.cat([x[:, :, :2].mean((2, 3)), x[:, :, 2:].mean((2, 3))], 1)
            mean, std = raw["train"].mean(0), raw["train"].std(0, correction=0)
            torch.testing.assert_close(features.x.bank, (raw[split] - mean) / std)


def test_an_official_split_is_kept(workdir: Path, draw: Draw, write_table: Write) -> None:
    for split, rows in (("train", 30), ("test", 12)):
        labels = [k % 5 for k in range(rows)]
        write_table(
            workdir / f"set/{split}-0.parquet", list(draw(rows, 4, 4, seed=rows)), labels, "abcde"
        )
    out = encode(find_pictures("set"), find_encoder(KNOWN), Path("out.npz"), Sizes(4, "float32"))
    stored = read_encoded(out)
    assert torch.allclose(stored.mean, stored.x[:30].mean(0))
    data = from_path(out, foreground=(4, 1))
    assert data.classes == ("e", "b")
    train, test = (data.load(split, n=9, m=3, seed=0).x.bank for split in ("train", "test"))
    torch.testing.assert_close(train, (stored.x[:30] - stored.mean) / stored.std)
    torch.testing.assert_close(test, (stored.x[30:] - stored.mean) / stored.std)


def test_a_feature_that_never_varies_is_zero(workdir: Path) -> None:
    np.savez("flat.npz", X=np.full((40, 4, 4), 7, np.uint8), y=np.arange(40) % 4)
    out = encode(find_pictures("flat.npz"), find_encoder(KNOWN), Path("out.npz"), Sizes(4))
    assert read_encoded(out).std.tolist() == [0.0] * 6
    assert read_features(out, "train", 0).x.unique().tolist() == [0.0]


def test_an_incomplete_file_is_refused(copied: Path, workdir: Path, draw: Draw) -> None:
    out = encode(find_pictures(str(copied)), find_encoder(KNOWN), Path("out.npz"), Sizes(4))
    whole = out.read_bytes()
    (workdir / "cut.npz").write_bytes(whole[:-50])
    with pytest.raises(FoveateError, match=r"cut.npz is neither a folder of Parquet files nor"):
        from_path(workdir / "cut.npz")
    with np.load(out) as arrays:
        np.savez("less.npz", **{k: arrays[k] for k in arrays.files if k != "mean"})
        np.savez("short.npz", **{k: arrays[k][: 50 if k == "y" else None] for k in arrays.files})
        np.savez("bare.npz", **{k: arrays[k] for k in arrays.files if k != "y"})
    for name in ("less.npz", "short.npz"):
        with pytest.raises(FoveateError, match=f"{name} is not a whole file of encoded images"):
            from_path(workdir / name)
    with pytest.raises(FoveateError, match=r"bare.npz has no labels, which mosaics need"):
        from_path(workdir / "bare.npz")
    with pytest.raises(FoveateError, match=r"out.npz has its labels already, got --label kind"):
        from_path(out, label="kind")


@given(cuts=st.lists(st.integers(1, 9), min_size=1, max_size=6), grid=st.booleans())
def test_moments_do_not_depend_on_the_cut(cuts: list[int], grid: bool) -> None:
    rng = np.random.default_rng(sum(cuts))
    x = 1e4 + rng.normal(size=(sum(cuts), 3, 2, 2) if grid else (sum(cuts), 3))
    seen = Moments()
    for part in np.split(x, np.cumsum(cuts)[:-1]):
        seen.add(part)
    axes = (0, 2, 3) if grid else 0
    mean, std = seen.mean_and_std()
    assert mean.shape == std.shape == ((3, 1, 1) if grid else (3,))
    np.testing.assert_allclose(mean.ravel(), x.mean(axes), rtol=1e-6)
    np.testing.assert_allclose(std.ravel(), x.std(axes), rtol=1e-5, atol=1e-7)


def test_a_race_runs_on_encoded_images(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from foveate.cli import main

    encode(find_pictures(str(copied)), find_encoder(KNOWN), Path("out.npz"), Sizes(4))
    words = [
        "--foreground",
        "0,1,2",
        "--seeds",
        "2",
        "--epochs",
        "2",
        "--n",
        "40",
        "--n-test",
        "20",
    ]
    main(["race", "out.npz", *words, "--m", "3", "--paradigms", "soft,hard", "--json"])
    assert '"paradigms": {"soft": {"accuracy"' in capsys.readouterr().out
