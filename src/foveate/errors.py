"""Exceptions that the command line reports in one sentence."""

from pathlib import Path

__all__ = ["DataWarning", "FoveateError", "RunInterrupted"]


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
