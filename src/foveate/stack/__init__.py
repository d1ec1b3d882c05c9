"""Stacks: many models of one architecture, and the bags of each, run as one program."""

from foveate.stack.members import Build, Stack
from foveate.stack.piles import Batch, Pile

__all__ = ["Batch", "Build", "Pile", "Stack"]
