"""Whom the lab answers."""

import asyncio
import json
import socket
from pathlib import Path

import httpx
import numpy as np
import pytest

from foveate.cli.commands.lab import lab_command
from foveate.errors import FoveateError
from foveate.lab.server.app import create_app
from foveate.lab.server.guard import GUESSES, LARGEST_BODY, RateLimit
from foveate.lab.server.responses import json_response
from foveate.lab.server.serving import bind_socket
from foveate.lab.server.sessions import MAX_STREAMS
from foveate.lab.server.token import resolve_token
from foveate.records.json_values import to_json

TOKEN = "a-word-that-is-long"


def ask(app, method, path, **more):
    async def once():
        base = more.pop("base", "http://127.0.0.1:8000")
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base) as client:
            return await client.request(method, path, **more)

    return asyncio.run(once())


@pytest.fixture(scope="module")
def app():
    return create_app()


@pytest.fixture(scope="module")
def closed():
    return create_app(host="0.0.0.0", token=TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9", "[::1]:8000", "LOCALHOST"])
def test_its_own_names(app, host):
    assert ask(app, "GET", "/api/theme", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "",
        "[::1]evil.com",
        "[::1]:80evil.com",
        "localhost:80:90",
        "localhost/evil.com",
        "evil.com@localhost",
    ],
)
def test_other_names_are_refused(app, host):
    answer = ask(app, "GET", "/api/theme", headers={"host": host})
    assert answer.status_code == 403
    assert "Host" in answer.json()["error"]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", ""])
def test_other_origins_are_refused(app, origin):
    answer = ask(app, "POST", "/api/jobs", json={}, headers={"origin": origin})
    assert answer.status_code == 403
    assert ask(app, "GET", "/api/theme", headers={"origin": origin}).status_code == 403


def test_same_origin_requests_are_answered(app):
    headers = {"origin": "http://127.0.0.1:8000"}
    assert ask(app, "GET", "/api/theme", headers=headers).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_of_another_site_are_refused(app, site):
    """Reading may compute, so GET is refused too; only a link to a page may be followed."""
    headers = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
    assert ask(app, "POST", "/api/jobs", json={}, headers=headers).status_code == 403
    assert ask(app, "GET", "/api/flow", headers=headers).status_code == 403
    assert ask(app, "GET", "/", headers=headers).status_code == 403
    link = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    assert ask(app, "GET", "/flow", headers=link).status_code == 200
    assert ask(app, "GET", "/api/flow", headers=link).status_code == 403


def test_requests_of_the_lab_itself_are_answered(app):
    for site in ("same-origin", "none"):
        headers = {"sec-fetch-site": site, "sec-fetch-mode": "cors"}
        assert ask(app, "GET", "/api/theme", headers=headers).status_code == 200


def test_large_requests_are_refused(app):
    answer = ask(app, "POST", "/api/jobs", content=b"x" * (LARGEST_BODY + 1))
    assert answer.status_code == 413


def test_a_request_without_a_length_is_refused(app):
    async def once():
        async def body():
            yield b"{}"

        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.post("/api/jobs", content=body())

    assert asyncio.run(once()).status_code == 411


def test_the_token_is_asked_for(closed):
    for path in ("/", "/api/theme", "/pages/app.js", "/api/jobs"):
        assert ask(closed, "GET", path).status_code == 401
    wrong = {"authorization": "Bearer a-word-that-is-wrong"}
    assert ask(closed, "GET", "/api/theme", headers=wrong).status_code == 401
    right = {"authorization": f"Bearer {TOKEN}"}
    assert ask(closed, "GET", "/api/theme", headers=right).status_code == 200


def test_the_token_leaves_the_address(closed):
    answer = ask(closed, "GET", f"/flow?m=5&token={TOKEN}")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/flow?m=5"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    back = ask(closed, "GET", "/flow", headers={"cookie": cookie.partition(";")[0]})
    assert back.status_code == 200


@pytest.mark.parametrize("path", ["//evil.example/", "///evil.example", "/\\evil.example"])
def test_redirects_stay_on_the_same_host(closed, path):
    answer = ask(closed, "GET", f"http://127.0.0.1:8000{path}?token={TOKEN}")
    assert not answer.headers["location"].startswith(("//", "/\\"))


def test_on_all_addresses_numbers_are_answered_and_names_are_not(closed):
    right = {"authorization": f"Bearer {TOKEN}"}
    assert (
        ask(closed, "GET", "/api/theme", headers={**right, "host": "10.1.2.3:80"}).status_code
        == 200
    )
    evil = {**right, "host": "evil.example"}
    assert ask(closed, "GET", "/api/theme", headers=evil).status_code == 403


def test_headers_of_every_answer(app):
    for path in ("/", "/api/theme", "/nothing", "/pages/app.js"):
        headers = ask(app, "GET", path).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert ask(app, "GET", "/pages/app.js").headers["content-type"].startswith("text/javascript")
    assert ask(app, "GET", "/pages/styles/base.css").headers["content-type"].startswith("text/css")


@pytest.mark.parametrize(
    "path",
    [
        "/pages/../server.py",
        "/pages/%2e%2e/server.py",
        "/pages/..%2fserver.py",
        "/pages/%2fetc%2fpasswd",
        "/pages/index.html.bak",
        "/pages/",
    ],
)
def test_no_way_out_of_the_pages(app, path):
    answer = ask(app, "GET", path)
    assert answer.status_code == 404
    assert "import" not in answer.text


def test_the_cookie_is_not_the_token(closed):
    login = ask(closed, "GET", f"/?token={TOKEN}")
    name, _, value = login.headers["set-cookie"].partition(";")[0].partition("=")
    assert name == "foveate_lab_8000"  # cookies are shared by all ports of a host
    assert value != TOKEN
    assert len(value) >= 40
    forged = {"cookie": f"{name}={TOKEN}"}
    assert ask(closed, "GET", "/api/theme", headers=forged).status_code == 401


def test_a_browser_without_the_token_gets_a_page(closed):
    answer = ask(closed, "GET", "/", headers={"accept": "text/html"})
    assert answer.status_code == 401
    assert answer.headers["content-type"].startswith("text/html")
    assert "?token=" in answer.text
    assert TOKEN not in answer.text


def test_wrong_guesses_are_slowed_and_the_cookie_still_works(monkeypatch):
    app = create_app(token=TOKEN)
    cookie = ask(app, "GET", f"/?token={TOKEN}").headers["set-cookie"].partition(";")[0]
    codes = [ask(app, "GET", f"/?token=guess-number-{k}").status_code for k in range(20)]
    assert codes[:GUESSES] == [401] * GUESSES
    assert codes[-1] == 429
    assert ask(app, "GET", f"/?token={TOKEN}").status_code == 429  # not even checked
    assert ask(app, "GET", "/api/theme", headers={"cookie": cookie}).status_code == 200


def test_the_rate_limit_gives_one_more_attempt_after_its_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("foveate.lab.server.guard.time.monotonic", lambda: now[0])
    limit = RateLimit(2, 10.0)
    for _ in range(2):
        assert limit.allows()
        limit.use()
    assert not limit.allows()
    now[0] += 9.9
    assert not limit.allows()
    now[0] += 0.2
    assert limit.allows()


def test_the_token_comes_from_the_environment_a_private_file_or_chance(tmp_path, monkeypatch):
    monkeypatch.delenv("FOVEATE_LAB_TOKEN", raising=False)
    assert len(resolve_token(None)) >= 24
    assert resolve_token(None) != resolve_token(None)
    monkeypatch.setenv("FOVEATE_LAB_TOKEN", TOKEN)
    assert resolve_token(None) == TOKEN
    file = tmp_path / "token"
    file.write_text("a-word-in-a-file\n")
    file.chmod(0o600)
    assert resolve_token(file) == "a-word-in-a-file"
    file.chmod(0o644)
    with pytest.raises(FoveateError, match="can be read by others"):
        resolve_token(file)
    with pytest.raises(FoveateError, match="cannot read the token"):
        resolve_token(tmp_path / "nowhere")
    monkeypatch.setenv("FOVEATE_LAB_TOKEN", "short")
    with pytest.raises(FoveateError, match="12 printable ASCII characters"):
        resolve_token(None)


def test_the_command_checks_its_arguments():
    with pytest.raises(FoveateError, match="without a token needs loopback"):
        lab_command(host="0.0.0.0", token=False)
    with pytest.raises(FoveateError, match="port must be"):
        lab_command(port=70000)
    with pytest.raises(FoveateError, match="there is no folder"):
        lab_command(runs=Path("nowhere/at/all"))


def test_streams_are_capped_with_a_sentence(app, monkeypatch):
    sessions = app.state.sessions
    for _ in range(MAX_STREAMS):
        assert sessions.open_stream()
    assert not sessions.open_stream()
    monkeypatch.setattr(sessions, "get", lambda _name: None)  # any job will do
    answer = ask(app, "GET", "/api/jobs/any/events")
    assert answer.status_code == 429
    assert "close one" in answer.json()["error"]
    sessions.close_stream()
    assert sessions.open_stream()
    for _ in range(MAX_STREAMS):
        sessions.close_stream()


def test_an_unknown_page_is_the_shell_and_an_unknown_api_path_a_sentence(app):
    page = ask(app, "GET", "/nosuch", headers={"accept": "text/html"})
    assert page.status_code == 404
    assert "/pages/app.js" in page.text
    answer = ask(app, "GET", "/api/nosuch", headers={"accept": "text/html"})
    assert answer.status_code == 404
    assert "error" in answer.json()


def test_the_earlier_address_of_own_data_leads_to_the_page(app):
    answer = ask(app, "GET", "/own?id=5")
    assert answer.status_code == 308
    assert answer.headers["location"] == "/data?id=5"


def test_what_is_no_number_is_null_and_arrays_are_lists():
    """The quick way and the careful way say the same."""
    value = {"a": np.arange(3), 4: (np.float32(0.5), {"b": np.array([1.0, 2.0])}), "c": True}
    assert json.loads(json_response(value).body) == json.loads(json.dumps(to_json(value)))
    assert json.loads(json_response([1.0, float("nan"), np.array([np.inf, 2])]).body) == [
        1.0,
        None,
        [None, 2.0],
    ]
    with pytest.raises(TypeError, match="set cannot be sent"):
        json_response({1, 2})


def test_small_answers_do_not_wait_to_be_gathered():
    with bind_socket("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP  # or asyncio leaves TCP_NODELAY off


def test_unexpected_errors_are_one_sentence(app):
    @app.get("/api/breaks")
    def breaks():
        raise ZeroDivisionError("a secret")

    async def once():
        listener = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=listener, base_url="http://127.0.0.1:8000"
        ) as client:
            return await client.get("/api/breaks")

    result = asyncio.run(once())
    assert result.status_code == 500
    assert "ZeroDivisionError" in result.json()["error"]
    assert "secret" not in result.text
