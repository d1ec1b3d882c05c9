"""Whom the lab answers: the right host, the lab's own pages, and, where one is set, the token.

A page of another site can make a browser send requests to loopback. It cannot choose the Host
header (so a name that was made to point here is refused) nor hide its Origin (so what it sends is
refused). A token comes once in the address, becomes a cookie, and leaves the address.
"""

import hmac
import ipaddress
import socket
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foveate.lab.server.responses import refusal

__all__ = ["LARGEST_BODY", "LARGEST_FILE", "PAGE_POLICY", "REPORT_POLICY", "Guard", "is_loopback"]

COOKIE = "foveate_lab"
LARGEST_BODY = 256 * 1024  # bytes of a request: settings and texts
LARGEST_FILE = 64 * 1024 * 1024  # bytes of a file that is dropped
FILES = "/api/own"  # the one path that takes files
LOOPBACK = ("127.0.0.1", "localhost", "::1")

# Vega runs with its interpreter, so no text is ever made into code.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# A report is one file with its own style and script; in a sandbox it has no origin to speak from.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and nobody else can reach it.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """Checks Host, Origin, token and size of every request; adds headers to every response.

    Args:
        app: What answers.
        host: The address that the server listens on.
        token: The word that requests must carry; None asks for none.
    """

    def __init__(self, app: ASGIApp, *, host: str = "127.0.0.1", token: str | None = None) -> None:
        self.app, self.host, self.token = app, host, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self._refused(scope)
        await (refused or self.app)(scope, receive, _with_headers(send))

    def _refused(self, scope: Scope) -> Response | None:
        """The answer to a request that goes no further."""
        headers = Headers(scope=scope)
        if not self._is_ours(_name(headers.get("host", ""))):
            return refusal("the Host of the request is not this lab's", 403)
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != headers["host"]:
            return refusal("the request comes from another site", 403)
        if headers.get("sec-fetch-site") == "cross-site" and scope["method"] != "GET":
            return refusal("the request comes from another site", 403)
        if scope["method"] not in ("GET", "HEAD"):
            size = headers.get("content-length", "0")
            if "transfer-encoding" in headers or not size.isdecimal():
                return refusal("the request must say its length", 411)
            most = LARGEST_FILE if scope["path"] == FILES else LARGEST_BODY
            if int(size) > most:
                return refusal(f"at most {most:,} bytes can be sent here, got {int(size):,}", 413)
        return None if self.token is None else self._without_token(scope, headers)

    def _is_ours(self, name: str) -> bool:
        if name in LOOPBACK or name == self.host.lower():
            return True
        if self.host not in ("0.0.0.0", "::"):
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name == socket.gethostname().lower()
        return True  # a number cannot be made to point elsewhere

    def _without_token(self, scope: Scope, headers: Headers) -> Response | None:
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        if scope["method"] == "GET" and "token" in query and self._fits(query.pop("token")):
            place = "/" + scope["path"].lstrip("/\\") + (f"?{urlencode(query)}" if query else "")
            back = RedirectResponse(place, 303)
            back.set_cookie(COOKIE, self.token or "", httponly=True, samesite="strict")
            return back
        word, _, bearer = headers.get("authorization", "").partition(" ")
        if word.lower() == "bearer" and self._fits(bearer):
            return None
        if self._fits(_cookie(headers)):
            return None
        return refusal(
            "this lab asks for its token: open the address that 'foveate lab' shows", 401
        )

    def _fits(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), (self.token or "").encode())


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _name(host: str) -> str:
    """A Host without its port: a port may be forwarded, a name may not be made up."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _with_headers(send: Send) -> Send:
    async def forward(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message["headers"]}
            more = {**HEADERS, "Content-Security-Policy": PAGE_POLICY}
            message["headers"] = [
                *message["headers"],
                *(
                    (name.lower().encode(), value.encode())
                    for name, value in more.items()
                    if name.lower().encode() not in there
                ),
            ]
        await send(message)

    return forward
