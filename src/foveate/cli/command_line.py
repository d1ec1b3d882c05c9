"""The command that does again what was done."""

import shlex
import sys

__all__ = ["run_again", "this_command"]


def this_command() -> str:
    """The command line as it was given: a page or a table is written over."""
    return shlex.join(["foveate", *sys.argv[1:]])


def run_again() -> str:
    """The command line as it was given, less ``--out``: a run directory is used once."""
    words = iter(sys.argv[1:])
    kept = []
    for word in words:
        if word == "--out":
            next(words, None)
        elif not word.startswith("--out="):
            kept.append(word)
    return shlex.join(["foveate", *kept])
