"""Exceptions that the command line reports in one sentence."""

from pathlib import Path

__all__ = ["DataWarning", "FoveateError", "RunInterrupted", "in_one_line"]

LONGEST = 200  # characters of another library's error


class FoveateError(ValueError):
    """A mistake the user can correct; the command line prints it and exits with code 2.

    Example:
        >>> import foveate
        >>> foveate.load("digit")
        Traceback (most recent call last):
            ...
        foveate.errors.FoveateError: unknown data set 'digit'. Did you mean 'digits'?
    """


class DataWarning(UserWarning):
    """New data differ from those that a model was trained on; the command line prints it."""


class RunInterrupted(KeyboardInterrupt):
    """A run was interrupted by the user and can be resumed.

    Args:
        run: The run's directory.
    """

    def __init__(self, run: Path) -> None:
        super().__init__()
        self.run = run


def in_one_line(error: BaseException) -> str:
    """The kind of an error and its first line.

    Example:
        >>> in_one_line(KeyError("x"))
        "KeyError: 'x'"
    """
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}{': ' + lines[0][:LONGEST] if lines else ''}"
