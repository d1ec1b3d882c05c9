"""Sizes and rates of the fixed-focus experiment, each with its source."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from foveate.settings import AtLeastTwo, Count, Positive, Settings, Share

__all__ = ["AUTHORS", "OWN_RATE", "FixedFocusSettings"]

OWN_RATE = 0.05  # [vr23] released code: the rate of LVML here and of all paradigms elsewhere
AUTHORS = {  # [vr23] released code; the paper does not specify it
    "orthogonal": {"soft": 0.05, "hard": 0.01, "lvml": 0.05},
    "digits": {"soft": 0.004, "hard": 0.01, "lvml": 0.05},  # those of CIFAR-10: C = 3, m = 5 too
    "cifar10": {"soft": 0.004, "hard": 0.01, "lvml": 0.05},
}


def _numbers(value: Any) -> Any:
    return value.split(",") if isinstance(value, str) else value


Unit = Annotated[float, Field(ge=0, le=1)]
Grid = Annotated[tuple[Unit, ...], BeforeValidator(_numbers), Field(min_length=1)]
Steps = Annotated[tuple[Positive, ...], BeforeValidator(_numbers), Field(min_length=2)]
Names = Annotated[
    tuple[Literal["orthogonal", "digits", "cifar10"], ...],
    BeforeValidator(_numbers),
    Field(min_length=1),
]


class FixedFocusSettings(Settings):
    """Sizes and rates; the defaults are the published ones."""

    seeds: Count = 3  # the paper shows one run; three cost a day on two cores
    alphas: Grid = (0.2, 0.4, 0.6, 0.8, 1.0)  # [vr23] Fig. 2 and 3
    sets: Names = ("orthogonal", "digits", "cifar10")
    orthogonal_n: Count = 5000  # [vr23] released code, as the next four
    orthogonal_epochs: Count = 100
    orthogonal_batch: Count = 256
    orthogonal_lr: Positive = OWN_RATE
    orthogonal_momentum: Share = 0.9
    orthogonal_points: Count = 50  # measurements over a training
    steps: Steps = (4.0, 2.0, 1.0)  # of gradient descent against Theorem 1; ours
    until: Positive = 250.0  # where LVML at α = 1 has come down from 3 to .1 nats; ours
    n: Count = 10_000  # [vr23] Fig. 2 and 3
    m: AtLeastTwo = 5  # [vr23] Fig. 2 and 3
    epochs: Count = 100  # [vr23] released code, as the next two
    batch: Count = 256
    lr: Positive = OWN_RATE
    digits_net: str = "mlp"  # the paper has no digits
    cifar10_net: str = "vr23"  # [vr23] released code
    cifar10_side: Literal[4, 8, 16, 32] = 32
    n_test: Count = 1000  # held-out bags; the released code has none
    points: Count = 50  # measurements over a training

    @model_validator(mode="after")
    def _criteria_need_these(self) -> Self:
        if list(self.alphas) != sorted(set(self.alphas)) or not {0.2, 0.8, 1.0} <= set(self.alphas):
            alphas = ", ".join(f"{a:g}" for a in self.alphas)
            raise ValueError(f"alphas must rise and hold .2, .8 and 1, got {alphas}")
        if list(self.steps) != sorted(set(self.steps), reverse=True):
            raise ValueError("steps must fall, the finest last")
        return self
