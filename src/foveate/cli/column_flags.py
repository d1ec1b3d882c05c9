"""Flags for the columns of a user's data, apart from the others: they import numpy and pydantic."""

from typing import Annotated, Any

from cyclopts import Group, Parameter

from foveate.io.columns import Columns

__all__ = ["COLUMN_GROUP", "ColumnFlags", "column_values"]

COLUMN_GROUP = Group("Columns and layout of the data", sort_key=2)
ColumnFlags = Annotated[Columns | None, Parameter(name="*", group=COLUMN_GROUP)]
"""Which column of the user's data is what, each a flag."""


def column_values(columns: Columns | None) -> dict[str, Any]:
    """The column flags that were given, as keywords of ``read_bags``.

    Example:
        >>> column_values(Columns(group="patient"))
        {'group': 'patient'}
    """
    return {} if columns is None else {k: getattr(columns, k) for k in columns.model_fields_set}
