import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from foveate.attention.paradigms import Direct
from foveate.bags.segments import dense
from foveate.errors import FoveateError
from foveate.models.focus import FCAM
from foveate.models.nets import NETS, direct, linear, mlp, pair

CIFAR = (3, 32, 32)


def built(make):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        return make()


def parameters(net):
    return sum(p.numel() for p in net.parameters())


def conv(a, b, size=3):
    return a * b * size * size + b


def fc(*widths):
    return sum(a * b + b for a, b in pairwise(widths))


@pytest.mark.parametrize(
    ("classes", "f_count", "g_count"), [(3, 613_866, 62_039), (50, 613_280, 116_218)]
)
def test_vr23_networks_have_the_published_counts(classes, f_count, g_count):
    f, g, layer = built(lambda: pair("vr23", CIFAR, classes))
    assert (parameters(f), parameters(g), layer) == (f_count, g_count, None)
    x = torch.zeros(2, *CIFAR)
    assert f(x).shape == (2, 1)
    assert g(x).shape == (2, classes)


@pytest.mark.parametrize("classes", [3, 50])
def test_the_focus_of_vr23_has_no_biases_and_xavier_weights(classes):
    f = built(lambda: pair("vr23", CIFAR, classes)).f
    assert not [name for name, _ in f.named_parameters() if "bias" in name]
    assert (f(torch.zeros(1, *CIFAR)) == 0).all()
    for weight in (p.detach() for p in f.parameters()):
        if weight.numel() < 500:
            continue
        field = math.prod(weight.shape[2:])
        spread = math.sqrt(2 / (field * (weight.shape[0] + weight.shape[1])))
        assert float(weight.std()) == pytest.approx(spread, rel=0.1)
        assert abs(float(weight.mean())) < 4 * spread / math.sqrt(weight.numel())
        beyond = float((weight.abs() > 2 * spread).float().mean())
        assert 0.02 < beyond < 0.08  # a normal has .0455 there, a uniform none


def test_pvr22_networks_have_the_layers_of_the_paper():
    f, g, layer = built(lambda: pair("pvr22", CIFAR, 3))
    widths = (3, 32, 64, 64, 128, 256, 256)
    convolutions = sum(conv(a, b) for a, b in pairwise(widths))
    norms = 2 * (32 + 64 + 256)  # behind the first, third and fifth
    assert parameters(f) == convolutions + norms + fc(256, 64, 32, 10, 1) == 1_034_997
    widths = (3, 128, 128, 256, 256, 512, 512)
    convolutions = sum(conv(a, b) for a, b in pairwise(widths))
    assert parameters(g) == convolutions + 2 * sum(widths[1:]) + fc(512, 128, 3) == 4_646_019
    assert layer is None
    x = torch.zeros(2, *CIFAR)
    assert f.eval()(x).shape == (2, 1)
    assert g.eval()(x).shape == (2, 3)


@pytest.mark.parametrize(
    ("name", "shape", "phi_shape", "where"),
    [
        ("pvr22", CIFAR, (256, 3, 3), "relu6"),
        ("vr23", CIFAR, (64,), "12"),
        ("gaussians", (2,), (50,), "hidden2"),
        ("mlp", (1, 8, 8), (64,), "hidden1"),
    ],
)
def test_the_last_layer_variant_classifies_phi(name, shape, phi_shape, where):
    f, g, layer = built(lambda: pair(name, shape, 3, "last"))
    assert layer == where
    model = FCAM(f, g, layer=layer).eval()
    x = torch.randn(2, 3, *shape, generator=torch.Generator().manual_seed(0))
    phi, expected = dense(model.attend(x, None).h), []
    for row in x.flatten(0, 1):
        value = row[None]
        for child, module in f.named_children():
            value = module(value)
            if child == where:
                break
        expected.append(value[0])
    expected = torch.stack(expected).unflatten(0, (2, 3))
    assert tuple(phi.shape[2:]) == phi_shape
    torch.testing.assert_close(phi, expected)
    assert g(phi[:, 0]).shape == (2, 3)


def test_the_last_layer_of_vr23_is_behind_the_64_units_regardless_of_the_classes():
    for classes in (3, 50):
        f, g, layer = built(lambda classes=classes: pair("vr23", CIFAR, classes, "last"))
        position = int(layer)
        assert isinstance(f[position], nn.ReLU)
        assert f[position - 1].out_features == 64
        assert parameters(g) == fc(64, 64, classes)


def test_small_networks_by_count():
    counts = {
        name: tuple(map(parameters, built(lambda name=name: pair(name, (2,), 3))[:2]))
        for name in ("linear", "mlp", "mode3", "gaussians")
    }
    assert counts == {
        "linear": (fc(2, 1), fc(2, 3)),
        "mlp": (fc(2, 64, 1), fc(2, 64, 3)),
        "mode3": (fc(2, 1), fc(2, 20, 20, 3)),
        "gaussians": (2 * 50 + 50 * 50 + 50, fc(2, 50, 3)),
    }


def test_linear_and_mlp_matches_manual_computation():
    x = torch.randn(4, 2, 3, generator=torch.Generator().manual_seed(0))
    affine = built(lambda: linear(6, 2))
    torch.testing.assert_close(affine(x), x.flatten(1) @ affine[1].weight.T + affine[1].bias)
    net = built(lambda: mlp(6, 2, (5,)))
    hidden = (x.flatten(1) @ net.linear1.weight.T + net.linear1.bias).clamp_min(0)
    torch.testing.assert_close(net(x), hidden @ net.out.weight.T + net.out.bias)
    assert parameters(mlp_without_bias := built(lambda: mlp(6, 2, (5,), bias=False))) == 40
    assert (mlp_without_bias(torch.zeros(1, 6)) == 0).all()


def test_the_direct_classifier_reads_the_whole_bag_in_order():
    net = built(lambda: direct((2, 3), m=4, classes=5, hidden=(7,))).double()
    assert parameters(net) == fc(24, 7, 5)
    x = torch.randn(3, 4, 2, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    alpha, y = torch.full((3, 4), 0.25, dtype=x.dtype), torch.tensor([0, 4, 2])
    read = Direct().log_prob(alpha, x, net)
    for i in range(3):
        concatenated = torch.cat([x[i, j].flatten() for j in range(4)])
        logits = net(concatenated[None])[0]
        torch.testing.assert_close(read[i], logits - torch.logsumexp(logits, 0))
        torch.testing.assert_close(Direct().loss(alpha, x, net, y)[i], -read[i, y[i]])
    swapped = Direct().log_prob(alpha, x[:, [1, 0, 2, 3]], net)
    assert not torch.allclose(swapped, read)


@pytest.mark.parametrize(
    ("name", "shape", "layer", "sentence"),
    [
        ("vr23", (1, 8, 8), "zeroth", r"'vr23' reads 3×32×32 images, got .* \(1, 8, 8\)"),
        ("pvr22", (3, 28, 28), "zeroth", r"'pvr22' reads 3×32×32 images, got .* \(3, 28, 28\)"),
        ("linear", (2,), "last", "no hidden layer to average"),
        ("mode3", (2,), "last", "no hidden layer to average"),
        ("mlp", (2,), "first", "layer must be 'zeroth' or 'last', got 'first'"),
        ("mpl", (2,), "zeroth", r"unknown net 'mpl'. Did you mean 'mlp'\?"),
    ],
)
def test_networks_reject_other_shapes(name, shape, layer, sentence):
    with pytest.raises(FoveateError, match=sentence):
        built(lambda: pair(name, shape, 3, layer))


@pytest.mark.parametrize("name", NETS.names())
def test_every_pair_scores_and_classifies(name):
    words = name == "hatexplain-1"  # of which segments are the ids
    shape = CIFAR if name in ("vr23", "pvr22") else (6,) if words else (2,)
    f, g, layer = built(lambda: pair(name, shape, 4))
    model = FCAM(f, g, layer=layer).eval()
    x = torch.randn(2, 3, *shape, generator=torch.Generator().manual_seed(0))
    x = torch.arange(6).view(2, 3) if words else x
    focus = model.attend(x, None)
    assert len(set(focus.s.flatten().tolist())) == 6  # each segment has a score of its own
    assert g(dense(focus.h)[:, 0]).shape == (2, 4)


@torch.random.fork_rng(devices=[])
def test_images_with_channels_last_and_pooled_first_are_classified_the_same():
    g = pair("vr23", (3, 32, 32), 3).g.double()
    layers = [
        nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
    ]  # fmt: skip
    plain = nn.Sequential(*layers, *list(g)[6:]).double()
    plain.load_state_dict(g.state_dict())
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(4, 3, 32, 32, generator=rng, dtype=torch.float64)
    ours, theirs = g(x), plain(x)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-13)
    for a, b in zip(
        torch.autograd.grad(ours.square().sum(), list(g.parameters())),
        torch.autograd.grad(theirs.square().sum(), list(plain.parameters())),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)
