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
from foveate.lab.server.guard import LARGEST_BODY
from foveate.lab.server.responses import answer, plain
from foveate.lab.server.serving import listening

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
    assert ask(app, "GET", "/api/look", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", ""])
def test_other_names_are_refused(app, host):
    answer = ask(app, "GET", "/api/look", headers={"host": host})
    assert answer.status_code == 403
    assert "Host" in answer.json()["error"]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", ""])
def test_other_origins_are_refused(app, origin):
    answer = ask(app, "POST", "/api/trainings", json={}, headers={"origin": origin})
    assert answer.status_code == 403
    assert ask(app, "GET", "/api/look", headers={"origin": origin}).status_code == 403


def test_its_own_origin_is_answered(app):
    headers = {"origin": "http://127.0.0.1:8000"}
    assert ask(app, "GET", "/api/look", headers=headers).status_code == 200


def test_a_form_of_another_site_is_refused(app):
    headers = {"sec-fetch-site": "cross-site"}
    assert ask(app, "POST", "/api/trainings", json={}, headers=headers).status_code == 403


def test_large_requests_are_refused(app):
    answer = ask(app, "POST", "/api/trainings", content=b"x" * (LARGEST_BODY + 1))
    assert answer.status_code == 413


def test_a_request_without_a_length_is_refused(app):
    async def once():
        async def body():
            yield b"{}"

        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.post("/api/trainings", content=body())

    assert asyncio.run(once()).status_code == 411


def test_the_token_is_asked_for(closed):
    for path in ("/", "/api/look", "/pages/app.js", "/api/trainings"):
        assert ask(closed, "GET", path).status_code == 401
    wrong = {"authorization": "Bearer a-word-that-is-wrong"}
    assert ask(closed, "GET", "/api/look", headers=wrong).status_code == 401
    right = {"authorization": f"Bearer {TOKEN}"}
    assert ask(closed, "GET", "/api/look", headers=right).status_code == 200


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
def test_the_way_back_stays_here(closed, path):
    answer = ask(closed, "GET", f"http://127.0.0.1:8000{path}?token={TOKEN}")
    assert not answer.headers["location"].startswith(("//", "/\\"))


def test_on_all_addresses_numbers_are_answered_and_names_are_not(closed):
    right = {"authorization": f"Bearer {TOKEN}"}
    assert (
        ask(closed, "GET", "/api/look", headers={**right, "host": "10.1.2.3:80"}).status_code == 200
    )
    evil = {**right, "host": "evil.example"}
    assert ask(closed, "GET", "/api/look", headers=evil).status_code == 403


def test_headers_of_every_answer(app):
    for path in ("/", "/api/look", "/nothing", "/pages/app.js"):
        headers = ask(app, "GET", path).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert ask(app, "GET", "/pages/app.js").headers["content-type"].startswith("text/javascript")
    assert ask(app, "GET", "/pages/style.css").headers["content-type"].startswith("text/css")


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


def test_the_command_wants_a_token_for_others():
    with pytest.raises(FoveateError, match="give a word that viewers must know"):
        lab_command(host="0.0.0.0")
    with pytest.raises(FoveateError, match="12 plain letters"):
        lab_command(host="0.0.0.0", token="short")
    with pytest.raises(FoveateError, match="port must be"):
        lab_command(port=70000)
    with pytest.raises(FoveateError, match="there is no folder"):
        lab_command(runs=Path("nowhere/at/all"))


def test_what_is_no_number_is_null_and_arrays_are_lists():
    """The quick way and the careful way say the same."""
    value = {"a": np.arange(3), 4: (np.float32(0.5), {"b": np.array([1.0, 2.0])}), "c": True}
    assert json.loads(answer(value).body) == json.loads(json.dumps(plain(value)))
    assert json.loads(answer([1.0, float("nan"), np.array([np.inf, 2])]).body) == [
        1.0,
        None,
        [None, 2.0],
    ]
    with pytest.raises(TypeError, match="set cannot be told"):
        answer({1, 2})


def test_small_answers_do_not_wait_to_be_gathered():
    with listening("127.0.0.1", 0) as door:
        assert door.proto == socket.IPPROTO_TCP  # or asyncio leaves TCP_NODELAY off


def test_what_nobody_foresaw_is_one_sentence_too(app):
    @app.get("/api/breaks")
    def breaks():
        raise ZeroDivisionError("a secret")

    async def once():
        door = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=door, base_url="http://127.0.0.1:8000") as client:
            return await client.get("/api/breaks")

    found = asyncio.run(once())
    assert found.status_code == 500
    assert "ZeroDivisionError" in found.json()["error"]
    assert "secret" not in found.text
