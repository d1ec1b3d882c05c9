"""Durations as text."""

from collections.abc import Mapping
from typing import Any

__all__ = ["format_duration", "run_duration"]


def format_duration(seconds: float) -> str:
    """A duration in seconds, minutes or hours, whichever is readable.

    Example:
        >>> [format_duration(seconds) for seconds in (42, 900, 9000, 3 * 86_400)]
        ['42 s', '15 min', '2.5 h', '72 h']
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 10 else f"{hours:.0f} h"


def run_duration(manifest: Mapping[str, Any]) -> str:
    """The CPU time of a run if the manifest has it, else the wall-clock time."""
    cpu, clock = manifest.get("cpu_seconds"), manifest["seconds"]
    if cpu is not None:
        return f"{format_duration(cpu)} of CPU"
    return "a time that was not recorded" if clock is None else format_duration(clock)
