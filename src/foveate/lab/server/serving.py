"""Listen on a socket, serve the lab, print its address."""

import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from types import FrameType
from urllib.parse import quote

import uvicorn

from foveate.errors import FoveateError
from foveate.lab.server.app import create_app
from foveate.lab.server.sessions import Sessions

__all__ = ["bind_socket", "serve"]

SHUTDOWN_SECONDS = 5  # time that open responses have to end


class _Server(uvicorn.Server):
    """A server that ends its event streams on exit: they would keep it waiting."""

    def __init__(self, config: uvicorn.Config, sessions: Sessions) -> None:
        super().__init__(config)
        self._sessions = sessions

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._sessions.closed = True
        super().handle_exit(sig, frame)


def serve(host: str, port: int, token: str | None, *, open_browser: bool) -> None:
    """Serve the lab until it is interrupted.

    Args:
        host: Address to listen on.
        port: Port; 0 takes a free one.
        token: What viewers must know, or None.
        open_browser: Whether to open a browser.
    """
    with bind_socket(host, port) as listener:
        address = _address(host, listener.getsockname()[1], token)
        app = create_app(host=host, token=token)
        config = uvicorn.Config(
            app,
            log_level="warning",
            ws="none",
            access_log=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            server_header=False,
        )
        print(f"the lab is at {address}\nstop it with Ctrl-C", flush=True)
        if open_browser and sys.stdout.isatty():
            threading.Timer(0.6, webbrowser.open, (address,)).start()
        with suppress(KeyboardInterrupt):  # the usual way to stop the lab
            _Server(config, app.state.sessions).run(sockets=[listener])
    print("the lab is closed")


def bind_socket(host: str, port: int) -> socket.socket:
    """A listening socket, so that the port that is printed is the one that answers."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sets TCP_NODELAY; without, an answer costs 40 ms more.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise FoveateError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return listener


def _address(host: str, port: int, token: str | None) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"?token={quote(token)}" if token else "")
