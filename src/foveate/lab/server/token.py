"""The token of a lab: from the environment, from a private file, or drawn at random."""

import os
import secrets
import stat
from pathlib import Path

from foveate.errors import FoveateError

__all__ = ["VARIABLE", "resolve_token"]

VARIABLE = "FOVEATE_LAB_TOKEN"
SHORTEST = 12


def resolve_token(file: Path | None) -> str:
    """The token that viewers must know; never an argument, which other users see in ``ps``.

    Args:
        file: A file of mode 600 that holds it; else FOVEATE_LAB_TOKEN, else a random one.
    """
    if file is not None:
        return _checked(_read(file), str(file))
    if environment_token := os.environ.get(VARIABLE):
        return _checked(environment_token, VARIABLE)
    return secrets.token_urlsafe(24)


def _read(file: Path) -> str:
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        if os.name == "posix" and mode & 0o077:
            raise FoveateError(
                f"{file} can be read by others (mode {mode:o}): run 'chmod 600 {file}'"
            )
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise FoveateError(f"cannot read the token from {file}: {reason}") from None


def _checked(token: str, source: str) -> str:
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable():
        raise FoveateError(
            f"the token in {source} must have {SHORTEST} printable ASCII characters or more"
        )
    return token
