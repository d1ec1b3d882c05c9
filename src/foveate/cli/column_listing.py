"""Columns with their roles, and problems of bags, as lines for the terminal."""

import sys
from collections.abc import Sequence

from foveate.io.columns import ColumnRole

__all__ = ["column_lines", "print_columns"]

MOST = 12  # columns of one role and reason that are named


def column_lines(roles: Sequence[ColumnRole]) -> list[tuple[str, str]]:
    """One line for columns that share role and reason: the role, then names and reason.

    Example:
        >>> column_lines([ColumnRole(name, "feature", "numbers") for name in "ab"])
        [('feature', 'a, b: numbers')]
    """
    names: dict[tuple[str, str], list[str]] = {}
    for role in roles:
        names.setdefault((role.role, role.reason), []).append(role.name)
    lines = []
    for (role_name, reason), columns in names.items():
        more = f" and {len(columns) - MOST:,} more" if len(columns) > MOST else ""
        lines.append((role_name, f"{', '.join(columns[:MOST])}{more}: {reason}"))
    return lines


def print_columns(roles: Sequence[ColumnRole]) -> None:
    """Print the role of every column to standard error."""
    for role, line in column_lines(roles):
        print(f"{role:<10} {line}", file=sys.stderr)
