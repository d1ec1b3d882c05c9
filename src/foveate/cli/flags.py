"""Flags that several commands share."""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from foveate.errors import FoveateError

__all__ = [
    "DEFAULTS",
    "Classes",
    "Device",
    "Execution",
    "ExecutionFlags",
    "Flag",
    "Json",
    "Overwrite",
    "SettingFlags",
    "listed_classes",
]

Classes = Annotated[str | None, Parameter(name="--classes")]
Flag = Annotated[bool, Parameter(negative="")]
Overwrite = Annotated[bool, Parameter(negative="", help="Replace existing files, inputs included.")]
Json = Annotated[bool, Parameter(name="--json", negative="", help="Print the results as JSON.")]
SettingFlags = Annotated[tuple[str, ...], Parameter(name="--set", negative="")]
"""Settings to change, each ``key=value``."""
Device = Annotated[
    str | None,
    Parameter(
        help="Where to compute: cpu, cuda (cuda:1), mps, or auto for the first GPU there is; that "
        "of the environment variable FOVEATE_DEVICE unless given, else the CPU."
    ),
]


@dataclass(frozen=True)
class Execution:
    """Where the parts of a job are computed, and how its results are printed."""

    workers: Annotated[
        int, Parameter(help="Processes to use on this machine; 1 is this process.")
    ] = 1
    cluster: Annotated[
        str | None, Parameter(help="Address of a running Dask scheduler, tcp://host:8786.")
    ] = None
    device: Device = None
    as_json: Json = False


ExecutionFlags = Annotated[Execution, Parameter(name="*")]
DEFAULTS = Execution()


def listed_classes(classes: str | None) -> list[str] | None:
    """The names in ``--classes``.

    Args:
        classes: Names separated by commas.
    """
    if classes is None:
        return None
    names = [name.strip() for name in classes.split(",")]
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        raise FoveateError(f"--classes takes different names separated by commas, got '{classes}'")
    return names
