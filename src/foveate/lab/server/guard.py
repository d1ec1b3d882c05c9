"""Which requests the lab answers: the right host, its own pages, and viewers who know the token.

A page of another site can make a browser send requests to loopback. It cannot choose the Host
header (so a name that resolves to this machine is refused) nor hide where it comes from (so its
requests to the API are refused, those that only read included, since reading may compute). The
token comes once in the address, is exchanged for a random cookie, and leaves the address.
"""

import hmac
import ipaddress
import re
import secrets
import socket
import time
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foveate.lab.server.responses import error_response

__all__ = [
    "LARGEST_BODY",
    "LARGEST_FILE",
    "PAGE_POLICY",
    "REPORT_POLICY",
    "Guard",
    "RateLimit",
    "host_name",
    "is_loopback",
]

COOKIE = "foveate_lab"
LARGEST_BODY = 256 * 1024  # bytes of a request: settings and texts
LARGEST_FILE = 64 * 1024 * 1024  # bytes of an uploaded file
UPLOADS = "/api/uploads"  # the one path that takes files
LOOPBACK = ("127.0.0.1", "localhost", "::1")
HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_.-]+))(?::\d{1,5})?")
GUESSES, GUESS_SECONDS = 5, 2.0  # wrong tokens at once, and the time that gives one more

# Vega runs with its interpreter, so no text is ever turned into code.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# A report is one file with inline style and script; a sandbox gives it no origin.
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
ASK_FOR_TOKEN = (
    "this lab asks for its token: open the address that 'foveate lab' printed in its terminal"
)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and no other can reach it.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_name(header: str) -> str:
    """The name in a Host header without its port; empty if the header is malformed.

    Example:
        >>> host_name("LOCALHOST:80"), host_name("[::1]:80"), host_name("[::1]evil.com")
        ('localhost', '::1', '')
    """
    match = HOST.fullmatch(header.lower())
    return "" if match is None else match[1] or match[2]


class RateLimit:
    """A token bucket: ``burst`` attempts at once, and one more every ``seconds``.

    Args:
        burst: Attempts that are allowed at once.
        seconds: Time after which one more is allowed.
    """

    def __init__(self, burst: int, seconds: float) -> None:
        self._burst, self._seconds = burst, seconds
        self._left, self._at = float(burst), time.monotonic()

    def allows(self) -> bool:
        """Whether an attempt is allowed now."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) / self._seconds)
        self._at = now
        return self._left >= 1

    def use(self) -> None:
        """Count an attempt."""
        self._left -= 1


class Guard:
    """Checks Host, origin, token and size of every request; adds headers to every response.

    Args:
        app: The application behind it.
        host: The address that the server listens on.
        token: What viewers must know; None asks for nothing.
    """

    def __init__(self, app: ASGIApp, *, host: str = "127.0.0.1", token: str | None = None) -> None:
        self.app, self.host, self.token = app, host, token
        self._cookie = secrets.token_urlsafe(32)  # too long to guess, unlike a chosen token
        self._guesses = RateLimit(GUESSES, GUESS_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self._refuse(scope)
        await (refused or self.app)(scope, receive, _with_headers(send))

    def _refuse(self, scope: Scope) -> Response | None:
        """The response to a request that goes no further."""
        headers = Headers(scope=scope)
        if not self._is_own_host(host_name(headers.get("host", ""))):
            return error_response("the Host of the request is not this lab's", 403)
        if _is_foreign(scope, headers):
            return error_response("the request comes from another site", 403)
        if scope["method"] not in ("GET", "HEAD"):
            size = headers.get("content-length", "0")
            if "transfer-encoding" in headers or not size.isdecimal():
                return error_response("the request must say its length", 411)
            most = LARGEST_FILE if scope["path"] == UPLOADS else LARGEST_BODY
            if int(size) > most:
                return error_response(
                    f"at most {most:,} bytes can be sent here, got {int(size):,}", 413
                )
        return None if self.token is None else self._check_token(scope, headers)

    def _is_own_host(self, name: str) -> bool:
        if name and (name in LOOPBACK or name == self.host.lower()):
            return True
        if self.host not in ("0.0.0.0", "::"):
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name == socket.gethostname().lower()
        return True  # a numeric address cannot be made to resolve to another machine

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        """None if the request carries the cookie or the token, else the response."""
        cookie = _cookie_name(headers)
        if hmac.compare_digest(_cookie_value(headers, cookie), self._cookie):
            return None
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        query_token = query.pop("token", None) if scope["method"] == "GET" else None
        guess = bearer if scheme.lower() == "bearer" else query_token
        if guess is None:
            return _token_page() if _wants_html(headers) else error_response(ASK_FOR_TOKEN, 401)
        if not self._guesses.allows():
            return error_response("too many wrong tokens: wait a few seconds", 429)
        if not hmac.compare_digest(guess.encode(), (self.token or "").encode()):
            self._guesses.use()
            return error_response(ASK_FOR_TOKEN, 401)
        if scheme.lower() == "bearer":
            return None
        path = "/" + scope["path"].lstrip("/\\") + (f"?{urlencode(query)}" if query else "")
        redirect = RedirectResponse(path, 303)
        redirect.set_cookie(cookie, self._cookie, httponly=True, samesite="strict")
        return redirect


def _is_foreign(scope: Scope, headers: Headers) -> bool:
    """Whether a page of another site sent the request; following a link to a page is allowed."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers["host"]:
        return True
    site = headers.get("sec-fetch-site", "none")
    if site in ("same-origin", "none"):
        return False
    follows_link = headers.get("sec-fetch-mode") == "navigate" and scope["method"] == "GET"
    return not follows_link or scope["path"].startswith("/api/")


def _wants_html(headers: Headers) -> bool:
    return "text/html" in headers.get("accept", "")


def _token_page() -> Response:
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light dark"><title>foveate lab</title></head>'
        "<body><main><h1>This lab asks for its token</h1><p>Open the address that "
        "<code>foveate lab</code> printed in its terminal; it ends in <code>?token=…</code>. "
        "The browser remembers it until the lab is closed.</p></main></body></html>"
    )
    return HTMLResponse(page, 401)


def _cookie_name(headers: Headers) -> str:
    """Cookies are shared by all ports of a host, so that each lab needs a name of its own."""
    port = headers.get("host", "").rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isdecimal() else COOKIE


def _cookie_value(headers: Headers, name: str) -> str:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return cookie.value if cookie and cookie.value.isascii() else ""


def _with_headers(send: Send) -> Send:
    async def forward(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            added = {**HEADERS, "Content-Security-Policy": PAGE_POLICY}
            message["headers"] = [
                *message["headers"],
                *(
                    (name.lower().encode(), value.encode())
                    for name, value in added.items()
                    if name.lower().encode() not in present
                ),
            ]
        await send(message)

    return forward
