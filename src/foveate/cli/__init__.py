"""The command line: ``foveate COMMAND``; each command is a file in ``commands/``."""

from foveate.cli.app import COMMANDS, main

__all__ = ["COMMANDS", "main"]
