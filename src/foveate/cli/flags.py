"""Flags that several commands share."""

from typing import Annotated, Any

from cyclopts import Parameter

from foveate.io.columns import Columns

__all__ = [
    "Cluster",
    "ColumnFlags",
    "Flag",
    "Json",
    "Overwrite",
    "SettingFlags",
    "Workers",
    "given",
]

ColumnFlags = Annotated[Columns | None, Parameter(name="*")]
"""Which column of the user's data is what, each a flag."""
Flag = Annotated[bool, Parameter(negative="")]
Overwrite = Annotated[bool, Parameter(negative="", help="Replace existing files, inputs included.")]
Json = Annotated[bool, Parameter(name="--json", negative="")]
SettingFlags = Annotated[tuple[str, ...], Parameter(name="--set", negative="")]
"""Settings to change, each ``key=value``."""
Workers = Annotated[int, Parameter(help="Processes to use on this machine; 1 is this process.")]
Cluster = Annotated[
    str | None, Parameter(help="Address of a running Dask scheduler, tcp://host:8786.")
]


def given(columns: Columns | None) -> dict[str, Any]:
    """The column flags that were given, as keywords of ``read_bags``.

    Example:
        >>> given(Columns(group="patient"))
        {'group': 'patient'}
    """
    return {} if columns is None else {k: getattr(columns, k) for k in columns.model_fields_set}
