"""Flags that several commands share."""

from typing import Annotated

from cyclopts import Parameter

__all__ = [
    "Cluster",
    "Device",
    "Flag",
    "Json",
    "Overwrite",
    "SettingFlags",
    "Workers",
]

Flag = Annotated[bool, Parameter(negative="")]
Overwrite = Annotated[bool, Parameter(negative="", help="Replace existing files, inputs included.")]
Json = Annotated[bool, Parameter(name="--json", negative="")]
SettingFlags = Annotated[tuple[str, ...], Parameter(name="--set", negative="")]
"""Settings to change, each ``key=value``."""
Workers = Annotated[int, Parameter(help="Processes to use on this machine; 1 is this process.")]
Cluster = Annotated[
    str | None, Parameter(help="Address of a running Dask scheduler, tcp://host:8786.")
]
Device = Annotated[
    str | None,
    Parameter(
        help="Where to compute: cpu, cuda (cuda:1), mps, or auto for the first GPU there is; that "
        "of the environment variable FOVEATE_DEVICE unless given, else the CPU."
    ),
]
