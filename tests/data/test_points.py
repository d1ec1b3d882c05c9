"""The base distributions in the plane and on the axes, and what the bags make of them."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from foveate.data import DATASETS
from foveate.data import error_modes as boxes_of
from foveate.data import gaussians as clusters
from foveate.data import orthogonal as axes
from foveate.data.sdc import BACKGROUND
from foveate.errors import FoveateError
from foveate.randomness import generator

MODES = {1: boxes_of.MODE_1, 2: boxes_of.MODE_2, 3: boxes_of.MODE_3}


def kind_in_boxes(boxes: boxes_of.Boxes) -> Callable[[Tensor], Tensor]:
    """Which box each point lies in: exactly one."""

    def kind(points: Tensor) -> Tensor:
        inside = [
            (points[:, 0] >= box.left)
            & (points[:, 0] <= box.right)
            & (points[:, 1] >= box.low)
            & (points[:, 1] <= box.high)
            for box in (boxes.background, *boxes.foreground)
        ]
        table = torch.stack(inside, 1)
        assert (table.sum(1) == 1).all()
        return table.int().argmax(1) + BACKGROUND

    return kind


def nearest_cluster(points: Tensor) -> Tensor:
    """Clusters lie more than ten deviations apart, so that the nearest mean is the cluster."""
    means = torch.tensor(clusters.FOREGROUND_MEANS + clusters.BACKGROUND_MEANS)
    nearest = torch.cdist(points, means).argmin(1)
    return torch.where(nearest < len(clusters.FOREGROUND_MEANS), nearest, BACKGROUND)


def axis(points: Tensor) -> Tensor:
    assert ((points != 0).sum(1) == 1).all()
    position = points.abs().argmax(1)
    return torch.where(position == points.shape[1] - 1, BACKGROUND, position)


def digit(segments: Tensor) -> Tensor:
    """Looks the image up in scikit-learn's set, in which no two are equal."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    label = {tuple(image): kind for image, kind in zip(x.tolist(), y.tolist(), strict=True)}
    assert len(label) == len(y) == 1797
    pixels = ((segments.flatten(1).double() + 1) * 8).round().tolist()
    kinds = torch.tensor([label[tuple(image)] for image in pixels])
    return torch.where(kinds < 3, kinds, BACKGROUND)


KINDS: dict[str, Callable[[Tensor], Tensor]] = {
    **{f"error-mode-{number}": kind_in_boxes(boxes) for number, boxes in MODES.items()},
    "gaussians": nearest_cluster,
    "orthogonal": axis,
    "digits": digit,
}


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("name", KINDS)
def test_the_relevant_segment_is_of_the_class_and_the_others_are_background(
    name: str, split: str
) -> None:
    bag = DATASETS.get(name)().load(split, n=400, m=6, seed=0)
    kind = KINDS[name](bag.dense().flatten(0, 1)).view(400, 6)
    assert torch.equal(kind[bag.z], bag.y)
    assert (kind[~bag.z] == BACKGROUND).all()


def test_the_boxes_are_the_published_ones() -> None:
    assert [tuple(box) for box in (*boxes_of.MODE_1.foreground, boxes_of.MODE_1.background)] == [
        (5, 6, 2, 4),
        (5, 6, -5, -3),
        (8, 9, -2, 0),
        (1, 2, -1, 5),
    ]
    assert tuple(boxes_of.MODE_2.foreground[2]) == (-3, -2, -2, 0)
    assert tuple(boxes_of.MODE_2.background) == (1, 2, -8, 5)
    assert [box.low for box in boxes_of.MODE_3.foreground] == [7, 5, 3, 1, -1, -3]


@pytest.mark.parametrize("number", MODES)
def test_box_points_are_uniform(number: int) -> None:
    boxes = MODES[number]
    for kind, box in enumerate((boxes.background, *boxes.foreground), start=BACKGROUND):
        kinds = torch.full((4000,), kind)
        x = boxes_of.points(boxes, kinds, generator("box", number, kind)).double()
        u = (x - torch.tensor([box.left, box.low])) / torch.tensor(
            [box.right - box.left, box.high - box.low]
        )
        # mean 1/2 and covariance I/12 of the unit square, to five standard errors
        assert (u.mean(0) - 0.5).abs().max() < 5 * (1 / 12 / 4000) ** 0.5
        assert (u.T.cov() - torch.eye(2) / 12).abs().max() < 5 * 0.09 / 4000**0.5
        assert u.min() >= -1e-5
        assert u.max() <= 1 + 1e-5


def test_cluster_means_and_covariance() -> None:
    n = 6000
    for k, mean in enumerate(clusters.FOREGROUND_MEANS):
        x = clusters.points(torch.full((n,), k), generator("cluster", k)).double()
        assert (x.mean(0) - torch.tensor(mean)).abs().max() < 5 * 0.1 / n**0.5
        assert (x.T.cov() - 0.01 * torch.eye(2)).abs().max() < 5 * 0.01 * (2 / n) ** 0.5
    x = clusters.points(torch.full((n,), BACKGROUND), generator("cluster")).double()
    nearest = torch.cdist(x, torch.tensor(clusters.BACKGROUND_MEANS).double()).argmin(1)
    share = torch.bincount(nearest, minlength=7) / n
    assert (share - 1 / 7).abs().max() < 5 * (6 / 49 / n) ** 0.5


def test_axes_are_orthonormal_and_the_noise_is_apart() -> None:
    n, classes = 6000, 20
    s = axes.points(classes, torch.arange(classes), generator(0))
    assert torch.equal(s @ s.T, torch.eye(classes))  # Assumption 1, with unit norm
    noise = axes.points(classes, torch.full((n,), BACKGROUND), generator(1)).double()
    assert torch.equal(noise @ s.double().T, torch.zeros(n, classes, dtype=torch.float64))
    assert noise[:, -1].mean().abs() < 5 * 0.1 / n**0.5  # Assumption 2
    assert noise[:, -1].var() == pytest.approx(axes.BACKGROUND_VARIANCE, rel=5 * (2 / n) ** 0.5)


def test_the_number_of_axes_is_a_choice() -> None:
    data = axes.linear_orthogonal(classes=5, m=3)
    assert (len(data.classes), data.recipe.m) == (5, 3)
    assert data.load("train", n=2, m=3, seed=0).segment_shape == (6,)
    with pytest.raises(FoveateError, match="2 classes or more, got 1"):
        axes.linear_orthogonal(classes=1)
