"""The one exception for a user's mistake: what must hold, what came, where."""

__all__ = ["FoveateError"]


class FoveateError(ValueError):
    """A mistake the user can mend; the command line prints its sentence and exits with code 2.

    Example:
        >>> import foveate
        >>> foveate.load("digit")
        Traceback (most recent call last):
            ...
        foveate.errors.FoveateError: unknown data set 'digit'. Did you mean 'digits'?
    """
