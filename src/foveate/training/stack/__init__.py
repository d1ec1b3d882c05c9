"""Stacks: many models of one architecture, and the bags of each, run as one program."""

from foveate.training.stack.batches import Batch, MemberBags
from foveate.training.stack.members import Build, Stack

__all__ = ["Batch", "Build", "MemberBags", "Stack"]
