"""One architecture twice: an attention model of ours, and torchmil's ABMIL, on the same encoder."""

from collections import OrderedDict
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from torch import Tensor, nn

from foveate.models.focus import FCAM

if TYPE_CHECKING:
    from foveate.studies.beyond.mnist_bags import MnistBagsSettings

__all__ = ["PerSegment", "abmil", "attention_model", "encoder"]


def encoder(settings: "MnistBagsSettings", shape: Sequence[int]) -> nn.Module:
    """From images (N, *) to features (N, L): one hidden layer, or the paper's convolutions.

    The latter are Conv 20@5×5, max-pooling, Conv 50@5×5, max-pooling, and a dense layer of L.
    """
    if settings.encoder == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), settings.features), nn.ReLU())
    channels, high, wide = shape
    left = 50 * (((high - 4) // 2 - 4) // 2) * (((wide - 4) // 2 - 4) // 2)
    return nn.Sequential(
        *(nn.Conv2d(channels, 20, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(left, settings.features), nn.ReLU()),
    )


def attention_model(settings: "MnistBagsSettings", shape: Sequence[int]) -> FCAM:
    """Encoder, attention L-D-1 with tanh, averaged features, a linear classifier of two classes."""
    parts = OrderedDict(
        encoder=encoder(settings, shape),
        hidden=nn.Linear(settings.features, settings.attention),
        tanh=nn.Tanh(),
        score=nn.Linear(settings.attention, 1, bias=False),
    )
    return FCAM(nn.Sequential(parts), nn.Linear(settings.features, 2), layer="encoder")


def abmil(settings: "MnistBagsSettings", shape: Sequence[int]) -> nn.Module:
    """torchmil's ABMIL on the same encoder; it has one logit where ours has two, L + 1 numbers."""
    from torchmil.models import ABMIL

    model: nn.Module = ABMIL(
        tuple(shape),
        att_dim=settings.attention,
        feat_ext=PerSegment(encoder(settings, shape), len(shape)),
    )
    return model


class PerSegment(nn.Module):
    """A network of single segments as one of bags, (…, *) → (…, L).

    Args:
        net: From segments (N, *) to features (N, L).
        axes: Number of axes of a segment.
    """

    def __init__(self, net: nn.Module, axes: int) -> None:
        super().__init__()
        self.net, self.axes = net, axes

    def forward(self, x: Tensor) -> Tensor:
        batch_shape = x.shape[: -self.axes]
        rows: Tensor = self.net(x.reshape(-1, *x.shape[-self.axes :]))
        return rows.unflatten(0, batch_shape)
