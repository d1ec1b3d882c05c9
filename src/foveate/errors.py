"""The one exception for a user's mistake: what must hold, what came, where."""

__all__ = ["FoveateError"]


class FoveateError(ValueError):
    """A mistake the user can mend; the command line prints its sentence and exits with code 2."""
