"""The command that opens the lab."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from foveate.errors import FoveateError
from foveate.settings import current_device

__all__ = ["lab_command"]


def lab_command(
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    token: Annotated[bool, Parameter(name="--use-token", negative="--no-token")] = True,
    token_file: Path | None = None,
    open: Annotated[bool, Parameter(name="--open", negative="--no-open")] = True,
    runs: Path | None = None,
    export: Path | None = None,
) -> None:
    """Open the lab in the browser: train models, watch their attention, examine them.

    Parameters
    ----------
    port
        Port to listen on; a free one unless given.
    host
        Address to listen on.
    token
        Ask viewers for a token, which is printed with the address. Set it with the environment
        variable FOVEATE_LAB_TOKEN; a random one by default.
    token_file
        A file of mode 600 that holds the token.
    open
        Open a browser.
    runs
        The folder of runs; runs/ unless given.
    export
        Write the interactive explanation as static pages into this folder, and end.
    """
    import os

    if not 0 <= port < 2**16:
        raise FoveateError(f"port must be from 0 to 65535, got {port}")
    if runs is not None:
        if not runs.is_dir():
            raise FoveateError(f"there is no folder {runs}")
        os.environ["FOVEATE_RUNS"] = str(runs.resolve())
    if not token and host not in ("127.0.0.1", "localhost", "::1"):
        raise FoveateError(f"others could reach {host}: a lab without a token needs loopback")
    try:
        from foveate.lab.export import export_pages
        from foveate.lab.server.serving import serve
        from foveate.lab.server.token import resolve_token
    except ModuleNotFoundError as error:
        raise FoveateError(f"the lab needs {error.name}: pip install 'foveate[lab]'") from None
    if current_device().type != "cpu":
        raise FoveateError("the lab trains on the CPU: set FOVEATE_DEVICE to cpu")
    if export is not None:
        size = export_pages(export)
        print(
            f"{export / 'index.html'} and its files, {size / 1e6:.1f} MB: any web server serves it"
        )
        return
    serve(host, port, resolve_token(token_file) if token else None, open_browser=open)
