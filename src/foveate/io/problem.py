"""Problem: something wrong with a user's bags, by name."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """Something wrong with bags that can be read.

    Args:
        severity: An error if results would be wrong or impossible, else a warning.
        where: The class, bag, group or column.
        what: What is wrong with it.
        name: Name of the check, which ``--force`` accepts.
        learning: Whether it concerns training only, not the use of a trained model.
    """

    severity: Literal["error", "warning"]
    where: str
    what: str
    name: str = ""
    learning: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"
