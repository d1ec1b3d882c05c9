"""The command that opens the lab."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from foveate.errors import FoveateError

__all__ = ["lab_command"]

SHORTEST_TOKEN = 12


def lab_command(
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    token: str | None = None,
    open: Annotated[bool, Parameter(name="--open", negative="--no-open")] = True,
    runs: Path | None = None,
) -> None:
    """See attention learn, in the browser.

    Parameters
    ----------
    port
        Where to listen; a free port unless given.
    host
        Address to listen on; another than loopback only with a token.
    token
        A word of 12 letters or more that every viewer must know.
    open
        Open a browser.
    runs
        The folder of runs; runs/ unless given.
    """
    import os

    _check(port, host, token)
    if runs is not None:
        if not runs.is_dir():
            raise FoveateError(f"there is no folder {runs}")
        os.environ["FOVEATE_RUNS"] = str(runs.resolve())
    try:
        from foveate.lab.server.serving import serve
    except ModuleNotFoundError as error:
        raise FoveateError(f"the lab needs {error.name}: pip install 'foveate[lab]'") from None
    serve(host, port, token, open_browser=open)


def _check(port: int, host: str, token: str | None) -> None:
    if not 0 <= port < 2**16:
        raise FoveateError(f"port must be from 0 to 65535, got {port}")
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii()):
        raise FoveateError(f"the token must have {SHORTEST_TOKEN} plain letters or more")
    if token is None and host not in ("127.0.0.1", "localhost", "::1"):
        raise FoveateError(
            f"others could reach {host}: give a word that viewers must know, "
            f"--token WORD ({SHORTEST_TOKEN} letters or more)"
        )
