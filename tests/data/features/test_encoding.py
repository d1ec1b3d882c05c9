"""Encoding: values against a second way to compute them, resumption, and what goes wrong."""

import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from foveate.data.features import encoding as loop
from foveate.data.features.encoders import PUBLISHED, Encoder, find_encoder
from foveate.data.features.encoding import SIDE, Sizes, encode, squared
from foveate.data.features.image_sources import Pictures, find_pictures
from foveate.data.files.bank import Bank
from foveate.data.files.feature_files import image_digest, read_encoded, read_manifest
from foveate.errors import FoveateError

Draw = Callable[..., np.ndarray]
KNOWN = "known_halves:halves"
EXACT = Sizes(side=8, dtype="float32")


@pytest.fixture
def images(workdir: Path, draw: Draw) -> Path:
    np.savez(workdir / "set.npz", X=draw(40, 8, 8, 3), y=np.arange(40) % 4)
    return workdir / "set.npz"


def halves(x: np.ndarray) -> np.ndarray:
    """What the encoder gives for images (N, 8, 8, 3) at 8 pixels."""
    x = x.astype(np.float64) / 255
    return np.concatenate([x[:, :4].mean((1, 2)), x[:, 4:].mean((1, 2))], 1)


def resized(image: np.ndarray, side: int) -> np.ndarray:
    """An image (H, W, C) brought to (side, side, C) by Pillow's bicubics, channel by channel."""
    parts = [
        Image.fromarray(np.ascontiguousarray(channel, np.float32)).resize(
            (side, side), Image.Resampling.BICUBIC
        )
        for channel in np.moveaxis(image, -1, 0)
    ]
    return np.clip(np.stack([np.asarray(part) for part in parts], -1) / 255, 0, 1)


# sizes


@pytest.mark.parametrize("shape", [(8, 8, 3), (5, 9, 3), (40, 23, 3), (31, 12, 1)])
def test_images_are_brought_to_squares_as_pillow_does(draw: Draw, shape: tuple[int, ...]) -> None:
    x = draw(2, *shape)
    got = squared(torch.from_numpy(x).permute(0, 3, 1, 2), 12)
    assert got.shape == (2, 3, 12, 12)
    want = np.stack([np.broadcast_to(resized(image, 12), (12, 12, 3)) for image in x])
    np.testing.assert_allclose(got.permute(0, 2, 3, 1), want, atol=2e-5)


def test_images_of_several_sizes_are_squared_one_by_one(draw: Draw) -> None:
    a, b = (torch.from_numpy(draw(3, *size)) for size in ((5, 9), (12, 12)))
    both = squared([a, b], 12)
    assert torch.equal(both[1], b / 255)
    assert torch.equal(both[:1], squared([a], 12))


# values


def test_features_labels_and_statistics_come_back(images: Path, draw: Draw) -> None:
    encode(find_pictures(str(images)), find_encoder(KNOWN), Path("out.npz"), EXACT)
    got = read_encoded(Path("out.npz"))
    want = halves(draw(40, 8, 8, 3))
    np.testing.assert_allclose(got.x, want, atol=1e-6)
    np.testing.assert_allclose(got.mean, want.mean(0), atol=1e-6)
    np.testing.assert_allclose(got.std, want.std(0), atol=1e-6)
    assert got.y.tolist() == [k % 4 for k in range(40)]
    assert got.test is None
    pixels = draw(40, 8, 8, 3)[3].transpose(2, 0, 1)
    assert got.image[3].tolist() == image_digest(pixels).tolist()
    assert len({bytes(row) for row in got.image.numpy()}) == 40


def test_the_manifest_says_what_decides_the_features(images: Path) -> None:
    encode(find_pictures(str(images)), find_encoder(KNOWN), Path("out.npz"), EXACT)
    manifest = read_manifest(Path("out.npz"))
    assert manifest["images"] | {"digest": ""} == {"name": "set.npz", "digest": "", "rows": 40}
    assert manifest["encoder"]["name"] == KNOWN
    assert len(manifest["images"]["digest"]) == len(manifest["encoder"]["weights"]) == 64
    assert (manifest["side"], manifest["dtype"]) == (8, "float32")
    assert "bicubic" in manifest["resize"]


def test_half_precision_is_the_rounded_single(images: Path) -> None:
    pictures, encoder = find_pictures(str(images)), find_encoder(KNOWN)
    single = read_encoded(encode(pictures, encoder, Path("a.npz"), EXACT))
    half = read_encoded(encode(pictures, encoder, Path("b.npz"), Sizes(8)))
    assert half.x.dtype == torch.float16
    assert torch.equal(half.x, single.x.half())


@pytest.mark.parametrize(("batch", "part"), [(1, 512), (7, 512), (32, 9), (3, 40)])
def test_batches_and_parts_leave_no_trace(
    images: Path, monkeypatch: pytest.MonkeyPatch, batch: int, part: int
) -> None:
    pictures, encoder = find_pictures(str(images)), find_encoder(KNOWN)
    whole = read_encoded(encode(pictures, encoder, Path("a.npz"), EXACT))
    monkeypatch.setattr(loop, "BATCH", batch)
    monkeypatch.setattr(loop, "PART", part)
    cut = read_encoded(encode(pictures, encoder, Path("b.npz"), EXACT))
    assert torch.equal(whole.image, cut.image)
    for name in ("x", "mean", "std"):
        torch.testing.assert_close(getattr(cut, name), getattr(whole, name), rtol=1e-5, atol=1e-6)


def test_progress_counts_images(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "PART", 16)
    seen: list[tuple[int, int]] = []
    pictures, encoder = find_pictures(str(images)), find_encoder(KNOWN)
    encode(pictures, encoder, Path("a.npz"), EXACT, lambda *at: seen.append(at))
    assert seen == [(16, 40), (32, 40), (40, 40)]


# stopping and going on


def counting(pictures: Pictures, encoder: Encoder, out: str) -> int:
    """Encode, and tell how many images went through the encoder."""
    kind = type(encoder.build())
    kind.seen = 0
    encode(pictures, encoder, Path(out), EXACT)
    return kind.seen


class Stop(BaseException):
    """What no one catches."""


@pytest.fixture
def stopped(images: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Pictures, Encoder]:
    """An encoding of 40 images in parts of 8 that was stopped after 24."""
    monkeypatch.setattr(loop, "PART", 8)
    pictures, encoder = find_pictures(str(images)), find_encoder(KNOWN)

    def report(done: int, total: int) -> None:
        if done == 24:
            raise Stop

    with pytest.raises(Stop):
        encode(pictures, encoder, Path("out.npz"), EXACT, report)
    assert not Path("out.npz").exists()
    return pictures, encoder


def test_a_stopped_run_resumes_to_the_same_bytes(
    stopped: tuple[Pictures, Encoder],
) -> None:
    assert counting(*stopped, "out.npz") == 16
    assert counting(*stopped, "whole.npz") == 40
    assert Path("out.npz").read_bytes() == Path("whole.npz").read_bytes()
    assert not list(Path().glob("*.parts"))


def test_a_damaged_part_is_recomputed(stopped: tuple[Pictures, Encoder]) -> None:
    part = Path("out.npz.parts/part-000001.npz")
    part.write_bytes(part.read_bytes()[:-30])
    assert counting(*stopped, "out.npz") == 32
    counting(*stopped, "whole.npz")
    assert Path("out.npz").read_bytes() == Path("whole.npz").read_bytes()


def test_leftovers_of_kills_end_with_the_file(stopped: tuple[Pictures, Encoder]) -> None:
    parts = Path("out.npz.parts")
    (parts / ".part-000003.npz.ab12cd_9").write_bytes(b"half")
    encode(*stopped, Path("out.npz"), EXACT)
    assert not parts.exists()
    parts.mkdir()  # as after a kill between joining the parts and removing their folder
    (parts / "part-000000.npz").touch()
    encode(*stopped, Path("out.npz"), EXACT)
    assert not parts.exists()


def test_parts_of_another_request_are_not_taken(stopped: tuple[Pictures, Encoder]) -> None:
    pictures, encoder = stopped
    encode(pictures, encoder, Path("out.npz"), Sizes(8, "float16"))
    assert read_encoded(Path("out.npz")).x.dtype == torch.float16


def test_an_encoding_killed_in_the_middle_goes_on(workdir: Path, images: Path) -> None:
    code = (
        "from foveate.data.features import encoding as loop; loop.PART = 4\n"
        "from foveate.cli import main; main()"
    )
    slow = (
        (workdir / "known_halves.py")
        .read_text()
        .replace("        Halves.seen", "        import time; time.sleep(0.2)\n        Halves.seen")
    )
    (workdir / "known_halves.py").write_text(slow)
    words = ["encode", str(images), "--encoder", KNOWN, "--side", "8", "--dtype", "float32"]
    doomed = subprocess.Popen(
        [sys.executable, "-c", code, *words, "--out", "killed.npz"],
        env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    start = time.monotonic()
    while not (workdir / "killed.npz.parts/part-000001.npz").exists():
        assert doomed.poll() is None, doomed.stderr.read().decode()
        assert time.monotonic() - start < 100
        time.sleep(0.01)
    doomed.send_signal(signal.SIGKILL)
    doomed.communicate()
    assert not (workdir / "killed.npz").exists()
    done = len(list((workdir / "killed.npz.parts").glob("part-*.npz")))
    assert 2 <= done < 10
    sys.modules.pop("known_halves", None)
    pictures, encoder = find_pictures(str(images)), find_encoder(KNOWN)
    assert counting(pictures, encoder, "killed.npz") == 40 - 4 * done
    counting(pictures, encoder, "whole.npz")
    both = [read_encoded(Path(name)) for name in ("killed.npz", "whole.npz")]
    assert torch.equal(both[0].x, both[1].x)


def test_a_file_that_is_there_is_left_or_refused(images: Path) -> None:
    pictures, encoder = find_pictures(str(images)), find_encoder(KNOWN)
    counting(pictures, encoder, "out.npz")
    before = Path("out.npz").stat().st_mtime_ns
    assert counting(pictures, encoder, "out.npz") == 0
    assert Path("out.npz").stat().st_mtime_ns == before
    with pytest.raises(FoveateError, match=r"out.npz is there already and holds something else"):
        encode(pictures, encoder, Path("out.npz"), Sizes(9))
    Path("note.npz").write_text("mine")
    with pytest.raises(FoveateError, match=r"note.npz is there already"):
        encode(pictures, encoder, Path("note.npz"), EXACT)
    assert Path("note.npz").read_text() == "mine"


def test_the_second_writer_uses_the_existing_file(stopped: tuple[Pictures, Encoder]) -> None:
    pictures, encoder = stopped

    def meanwhile(done: int, total: int) -> None:
        if done == 32:  # another process ends, and removes the parts
            encode(pictures, encoder, Path("out.npz"), EXACT)

    assert encode(pictures, encoder, Path("out.npz"), EXACT, meanwhile) == Path("out.npz")
    assert len(read_encoded(Path("out.npz")).x) == 40


# encoders


def local(text: str, workdir: Path) -> str:
    """The import path of an encoder with some body."""
    (workdir / "own_encoder.py").write_text("import torch\nfrom torch import nn\n" + text)
    sys.modules.pop("own_encoder", None)
    importlib.invalidate_caches()
    return "own_encoder:make"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("return nn.Linear(3, 2)", r"cannot take images of shape \(32, 3, 8, 8\): mat1 and mat2"),
        ("return nn.Flatten(0)", r"must give a row .*, got shape \(6144,\) for 32 images"),
        ("return nn.Flatten(0, 1)", r"must give a row .*, got shape \(96, 8, 8\) for 32"),
        ("return 3", r"'own_encoder:make' must return a torch module, got int"),
    ],
)
def test_an_encoder_must_do_its_part(workdir: Path, images: Path, body: str, sentence: str) -> None:
    name = local(f"def make(): {body}", workdir)
    with pytest.raises(FoveateError, match=sentence):
        encode(find_pictures(str(images)), find_encoder(name), Path("out.npz"), EXACT)


def test_features_that_are_no_numbers_are_found(workdir: Path, draw: Draw) -> None:
    x = draw(70, 8, 8)
    x[50] = 255
    np.savez("set.npz", X=x, y=np.zeros(70, int))
    body = """
class Steep(nn.Module):
    def forward(self, x):
        return torch.where(x.mean((1, 2, 3)) == 1, {}, 1.0)[:, None]
def make(): return Steep()
"""
    for value in ("float('nan')", "7e4"):
        encoder = find_encoder(local(body.format(value), workdir))
        with pytest.raises(FoveateError, match="features of image 50 are not finite in float16"):
            encode(find_pictures("set.npz"), encoder, Path("out.npz"), Sizes(8))
    encode(find_pictures("set.npz"), encoder, Path("out.npz"), EXACT)
    assert float(read_encoded(Path("out.npz")).x[50]) == 7e4


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("efficientnet", r"must be efficientnet-lite0 or an import path 'package.module:factory'"),
        ("no_such_module:make", r"cannot be imported: No module named 'no_such_module'"),
        ("known_halves:quarters", r"cannot be imported: .* no attribute 'quarters'"),
        ("known_halves:torch", r"must be a function that returns a torch module"),
    ],
)
def test_an_encoder_that_is_not_there_is_named(name: str, sentence: str) -> None:
    with pytest.raises(FoveateError, match=sentence):
        find_encoder(name)


def test_drawn_weights_are_the_same_every_time(workdir: Path) -> None:
    name = local("def make(): return nn.Sequential(nn.Flatten(), nn.Linear(192, 2))", workdir)
    first, again = find_encoder(name), find_encoder(name)
    assert first.weights == again.weights
    assert torch.equal(first.build()[1].weight, again.build()[1].weight)
    other = find_encoder(local("def make(): return nn.Sequential(nn.Linear(2, 2))", workdir))
    assert other.weights != first.weights


def test_a_file_of_weights_is_handed_to_the_factory(workdir: Path) -> None:
    name = local(
        "def make(weights):\n    net = nn.Linear(1, 1)\n"
        "    net.weight.data.fill_(float(weights.read_text()))\n    return net",
        workdir,
    )
    (workdir / "w.txt").write_text("2.5")
    assert float(find_encoder(name, workdir / "w.txt").build().weight) == 2.5


def test_the_bundled_encoder_is_identified_by_its_weights(workdir: Path) -> None:
    assert find_encoder().weights == PUBLISHED  # found again where the file no longer is
    (workdir / "w.safetensors").write_bytes(b"abc")
    named = find_encoder(weights=workdir / "w.safetensors")
    assert named.weights.startswith("ba7816bf8f01cfea")  # SHA-256 of "abc"
    assert (find_encoder().layer, find_encoder(grid="block10").layer) == ("pooled", "block10")
    with pytest.raises(FoveateError, match=r"the weights absent cannot be read: No such file"):
        find_encoder(weights=Path("absent"))
    with pytest.raises(FoveateError, match="--grid is for efficientnet-lite0: let the factory of"):
        find_encoder(KNOWN, grid="head")


def test_without_weights_no_work_starts(workdir: Path, images: Path) -> None:
    with pytest.raises(FoveateError, match="the weights of efficientnet-lite0 are not here"):
        encode(find_pictures(str(images)), find_encoder(), Path("out.npz"))
    assert not list(workdir.glob("out.npz*"))


def test_a_size_must_be_one(images: Path) -> None:
    assert Sizes().side == SIDE
    with pytest.raises(FoveateError, match="side must be at least 1 pixel, got 0"):
        Sizes(0)


# the command


def test_the_command_writes_what_the_library_does(
    images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from foveate.cli import main

    main(["encode", str(images), "--encoder", KNOWN, "--side", "8", "--dtype", "float32"])
    assert "set-features.npz: 40 images, 6 features, 0.0 MB" in capsys.readouterr().out
    encode(find_pictures(str(images)), find_encoder(KNOWN), Path("out.npz"), EXACT)
    assert Path("set-features.npz").read_bytes() == Path("out.npz").read_bytes()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["gaussians"], "'gaussians' is not made of images; these are: cifar10, cifar100"),
        (["cifar11"], "unknown data set 'cifar11'. Did you mean 'cifar10'?"),
        (["./nowhere"], "there is nothing at ./nowhere"),
        (["digits", "--label", "x"], "--label is for a path, got the data set digits"),
        (["digits"], "the weights of efficientnet-lite0 are not here: set FOVEATE_DATA"),
    ],
)
def test_a_mistake_is_one_sentence(
    few_digits: Bank, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from foveate.cli import main

    with pytest.raises(SystemExit) as end:
        main(["encode", *words])
    assert end.value.code == 2
    message = capsys.readouterr().err
    assert sentence in message
    assert len(message.strip().splitlines()) == 1


def test_features_of_a_data_set_go_to_the_cache(
    workdir: Path, few_digits: Bank, capsys: pytest.CaptureFixture[str]
) -> None:
    from foveate.cli import main

    main(["encode", "digits", "--encoder", KNOWN, "--side", "8"])
    (file,) = (workdir / "cache/features").iterdir()
    assert capsys.readouterr().out.startswith(f"{file}: 60 images, 6 features")
    assert read_manifest(file)["images"]["name"] == "digits"
