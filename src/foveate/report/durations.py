"""How long something took, in words."""

from collections.abc import Mapping
from typing import Any

__all__ = ["time_of", "took"]


def took(seconds: float) -> str:
    """A time in the unit that suits it.

    Example:
        >>> took(42), took(900), took(9000), took(3 * 86_400)
        ('42 s', '15 min', '2.5 h', '72 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 10 else f"{hours:.0f} h"


def time_of(manifest: Mapping[str, Any]) -> str:
    """CPU time, which no interruption changes, where it was counted; else the time by the clock."""
    cpu, clock = manifest.get("cpu_seconds"), manifest["seconds"]
    if cpu is not None:
        return f"{took(cpu)} of CPU"
    return "a time that was not counted" if clock is None else took(clock)
