"""EfficientNet-Lite0 against plain loops over its definition, and its file of weights."""

import math
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import nn

from foveate.errors import FoveateError
from foveate.models.efficientnet import (
    WEIGHTS,
    EfficientNetLite0,
    SameConv2d,
    efficientnet_lite0,
    folded,
    weights_file,
)
from foveate.randomness import generator

STAGES = [  # repeats, kernel, first stride, expansion, channels out: as the weights' README has it
    (1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112), (4, 5, 2, 6, 192), (1, 3, 1, 6, 320),
]  # fmt: skip


def random_network(layer: str = "pooled") -> EfficientNetLite0:
    """Weights and statistics from a named generator, in double precision."""
    rng = generator("encoder for tests")
    with torch.random.fork_rng(devices=[]):
        net = EfficientNetLite0(layer).double().eval().requires_grad_(False)
    for name, value in net.state_dict().items():
        if value.is_floating_point():
            drawn = torch.randn(value.shape, dtype=value.dtype, generator=rng)
            fan = math.sqrt(max(1, value[0].numel())) if value.dim() > 1 else 1.0
            positive = name.endswith("running_var") or (".weight" in name and value.dim() == 1)
            value.copy_(drawn.abs() + 0.5 if positive else 1.5 * drawn / fan)
    return net


def pictures(*shape: int) -> torch.Tensor:
    return torch.rand(shape, dtype=torch.float64, generator=generator("pictures for tests"))


# The oracle: NumPy, one loop over the places of the kernel, channel by channel where they are.


def padded(x: np.ndarray, size: int, stride: int) -> np.ndarray:
    sides = []
    for n in x.shape[1:]:
        total = max((math.ceil(n / stride) - 1) * stride + size - n, 0)
        sides.append((total // 2, total - total // 2))
    return np.pad(x, [(0, 0), *sides])


def conv(x: np.ndarray, w: np.ndarray, stride: int, depthwise: bool = False) -> np.ndarray:
    size = w.shape[-1]
    high, wide = (math.ceil(n / stride) for n in x.shape[1:])
    x = padded(x, size, stride)
    out = np.zeros((w.shape[0], high, wide))
    for i in range(size):
        for j in range(size):
            seen = x[:, i : i + stride * high : stride, j : j + stride * wide : stride]
            if depthwise:
                out += w[:, 0, i, j, None, None] * seen
            else:
                out += np.tensordot(w[:, :, i, j], seen, 1)
    return out


def normed(x: np.ndarray, w: dict[str, np.ndarray], name: str) -> np.ndarray:
    gamma, beta, mean, var = (
        w[f"{name}.{part}"][:, None, None]
        for part in ("weight", "bias", "running_mean", "running_var")
    )
    return gamma * (x - mean) / np.sqrt(var + 1e-3) + beta


def relu6(x: np.ndarray) -> np.ndarray:
    return np.minimum(np.maximum(x, 0), 6)


def slow(x: np.ndarray, w: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All layers of one image (3, H, W) in [0, 1]."""
    layers = {}
    mean, std = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
    x = (x - mean[:, None, None]) / std[:, None, None].astype(float)
    x = relu6(normed(conv(x, w["_conv_stem.weight"], 2), w, "_bn0"))
    position = 0
    for repeats, _, first, expansion, _ in STAGES:
        for k in range(repeats):
            prefix, stride = f"_blocks.{position}.", first if k == 0 else 1
            h = x
            if expansion > 1:
                h = relu6(normed(conv(h, w[f"{prefix}_expand_conv.weight"], 1), w, f"{prefix}_bn0"))
            h = conv(h, w[f"{prefix}_depthwise_conv.weight"], stride, depthwise=True)
            h = relu6(normed(h, w, f"{prefix}_bn1"))
            h = normed(conv(h, w[f"{prefix}_project_conv.weight"], 1), w, f"{prefix}_bn2")
            x = x + h if k > 0 else h  # within a stage stride is 1 and channels are equal
            layers[f"block{position}"] = x
            position += 1
    layers["head"] = relu6(normed(conv(x, w["_conv_head.weight"], 1), w, "_bn1"))
    layers["pooled"] = layers["head"].mean((1, 2))
    layers["classes"] = w["_fc.weight"] @ layers["pooled"] + w["_fc.bias"]
    return layers


@pytest.mark.parametrize("shape", [(64, 64), (37, 51)])
def test_every_layer_is_the_slow_one(shape: tuple[int, int]) -> None:
    x = pictures(2, 3, *shape)
    net = random_network()
    weights = {name: value.numpy() for name, value in net.state_dict().items()}
    want = [slow(image, weights) for image in x.numpy()]
    for layer in ("block10", "block15", "head", "pooled", "classes"):
        expected = np.stack([layers[layer] for layers in want])
        for network in (net, folded(net)):
            network.layer = layer
            got = network(x).numpy()
            assert got.shape == expected.shape
            scale = np.abs(expected).max()
            assert scale > 1e-3  # not a network of zeros
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-10 * scale)


def test_grids_have_the_sizes_of_captioning() -> None:
    sizes = {"block10": (112, 14, 14), "block15": (320, 7, 7), "head": (1280, 7, 7)}
    net, x = random_network().float(), pictures(1, 3, 224, 224).float()
    for layer, shape in sizes.items():
        net.layer = layer
        assert net(x).shape[1:] == shape


def test_the_odd_pixel_goes_below_and_right() -> None:
    conv = build(lambda: SameConv2d(1, 1, 3, 2, bias=False))
    conv.weight.data = torch.tensor([[[[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]]])
    x = torch.zeros(1, 1, 4, 4)
    x[0, 0, 0, 0] = 1  # seen by the first place of the kernel only if nothing is padded before it
    assert conv(x)[0, 0].tolist() == [[1, 0], [0, 0]]
    x = torch.zeros(1, 1, 4, 4)
    x[0, 0, 3, 3] = 1
    assert conv(x)[0, 0].tolist() == [[0, 0], [0, 5]]
    x = torch.zeros(1, 1, 5, 5)  # one pixel on each side
    x[0, 0, 0, 0] = 1
    assert conv(x)[0, 0, 0].tolist() == [5, 0, 0]


@settings(max_examples=40)
@given(
    high=st.integers(1, 9), wide=st.integers(1, 9),
    size=st.sampled_from([1, 3, 5]), stride=st.sampled_from([1, 2]),
)  # fmt: skip
def test_same_padding_by_its_definition(high: int, wide: int, size: int, stride: int) -> None:
    conv = build(lambda: SameConv2d(2, 3, size, stride, bias=False)).double()
    x = pictures(1, 2, high, wide)
    w, got, image = conv.weight.detach().numpy(), conv(x).detach()[0].numpy(), x[0].numpy()
    assert got.shape == (3, math.ceil(high / stride), math.ceil(wide / stride))
    before = [max((math.ceil(n / stride) - 1) * stride + size - n, 0) // 2 for n in (high, wide)]
    for o in range(3):
        for r in range(got.shape[1]):
            for c in range(got.shape[2]):
                total = 0.0
                for i in range(size):
                    for j in range(size):
                        a, b = r * stride + i - before[0], c * stride + j - before[1]
                        if 0 <= a < high and 0 <= b < wide:
                            total += w[o, :, i, j] @ image[:, a, b]
                assert abs(got[o, r, c] - total) < 1e-12


def build(make: "type[nn.Module] | object") -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make()


def test_images_do_not_see_one_another_and_runs_repeat() -> None:
    net, x = folded(random_network()), pictures(3, 3, 32, 32)
    whole = net(x)
    assert torch.equal(whole, net(x))
    one_by_one = torch.cat([net(image[None]) for image in x])
    torch.testing.assert_close(one_by_one, whole, rtol=1e-9, atol=1e-9)


# the file of weights


@pytest.fixture(scope="module")
def tensors() -> dict[str, torch.Tensor]:
    state = random_network().float().state_dict()
    return {k: v.contiguous() for k, v in state.items() if "num_batches" not in k}


def test_learned_numbers_are_as_many_as_published(tensors: dict[str, torch.Tensor]) -> None:
    statistics = sum(v.numel() for k, v in tensors.items() if "running" in k)
    assert len(tensors) == 247
    assert sum(v.numel() for v in tensors.values()) - statistics == 4_652_008
    assert statistics == 42_016


def test_what_is_in_the_file_is_in_the_network(
    tmp_path: Path, tensors: dict[str, torch.Tensor]
) -> None:
    half = {k: v.half() if "conv" in k or "fc.weight" in k else v for k, v in tensors.items()}
    save_file(half, tmp_path / "w.safetensors")
    net = efficientnet_lite0(tmp_path / "w.safetensors", fold=False)
    for name, value in half.items():
        assert torch.equal(net.state_dict()[name], value.float())
    assert not net.training
    x = pictures(2, 3, 32, 32).float()
    fast = efficientnet_lite0(tmp_path / "w.safetensors")
    assert not [m for m in fast.modules() if isinstance(m, nn.BatchNorm2d)]
    torch.testing.assert_close(fast(x), net(x), rtol=0, atol=1e-3)


def test_a_wrong_file_is_named_with_its_tensors(
    tmp_path: Path, tensors: dict[str, torch.Tensor]
) -> None:
    path = tmp_path / "w.safetensors"
    odd = dict(tensors)
    del odd["_fc.bias"]
    odd["_bn0.weight"] = torch.zeros(31)
    odd["extra"] = torch.zeros(1)
    save_file(odd, path)
    sentence = (
        r"w.safetensors does not hold the tensors of EfficientNet-Lite0: 1 missing \(_fc.bias\); "
        r"1 unknown \(extra\); 1 of another shape \(_bn0.weight\)$"
    )
    with pytest.raises(FoveateError, match=sentence):
        efficientnet_lite0(path)
    save_file({"x": torch.zeros(1)}, path)
    with pytest.raises(FoveateError, match=r"247 missing \(_conv_stem.weight, .* …\); 1 unknown"):
        efficientnet_lite0(path)


def test_files_that_hold_no_weights_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    with pytest.raises(FoveateError, match=r"w.safetensors cannot be read: No such file"):
        efficientnet_lite0(path)
    for junk in (b"", b"junk" * 10):
        path.write_bytes(junk)
        with pytest.raises(FoveateError, match=r"w.safetensors is not a whole safetensors file"):
            efficientnet_lite0(path)


def test_weights_are_searched_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FOVEATE_DATA", raising=False)
    with pytest.raises(FoveateError, match=rf"holds weights/{WEIGHTS}, or .* --weights$"):
        efficientnet_lite0()
    monkeypatch.setenv("FOVEATE_DATA", str(tmp_path))
    assert weights_file() is None
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / WEIGHTS).touch()
    assert weights_file() == tmp_path / "weights" / WEIGHTS


def test_an_unknown_layer_is_refused() -> None:
    with pytest.raises(FoveateError, match=r"layer must be one of block10, .*, got 'block11'"):
        EfficientNetLite0("block11")


# the real weights


@pytest.mark.data
@pytest.mark.skipif("FOVEATE_DATA" not in os.environ, reason="needs FOVEATE_DATA")
def test_the_real_weights_classify_a_photo() -> None:
    """A linear probe: 400 training images of CIFAR-10, read on 200 test images; chance is .1."""
    from sklearn.linear_model import LogisticRegression

    from foveate.data.features.encoding import squared
    from foveate.data.image_mosaics import read_split

    folder = Path(os.environ["FOVEATE_DATA"]) / "cifar10"
    net = efficientnet_lite0()
    x, y = {}, {}
    for split, rows in (("train", 400), ("test", 200)):
        bank = read_split(folder, split, 0)
        with torch.inference_mode():
            parts = [net(squared(part, 128)) for part in bank.x[:rows].split(50)]
        x[split], y[split] = torch.cat(parts).numpy(), bank.y[:rows].numpy()
    mean, std = x["train"].mean(0), x["train"].std(0)
    probe = LogisticRegression(C=0.01, max_iter=500).fit((x["train"] - mean) / std, y["train"])
    assert probe.score((x["test"] - mean) / std, y["test"]) >= 0.7
