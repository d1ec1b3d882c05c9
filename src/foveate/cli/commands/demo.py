"""The command that runs the demonstration."""

from pathlib import Path

__all__ = ["demo_command"]


def demo_command(*, out: Path | None = None) -> None:
    """Train five paradigms on mosaics of digits and write a report; the same as 'make demo'.

    Parameters
    ----------
    out
        The run directory; a new one under runs/ unless given.
    """
    from foveate.cli.commands.races import race_command

    race_command("digits", out=out)
