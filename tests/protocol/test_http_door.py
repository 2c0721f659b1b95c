"""The HTTP door from outside: who comes in, what is refused and how, and a server that stays up."""

from __future__ import annotations

import socket

import pytest
from live_door import ALL, META, MODERN, PATIENCE, rpc, story

from counterpoint.protocol.http import guards
from counterpoint.protocol.http.grants import Grant


@pytest.mark.parametrize("mode", ["auto", MODERN, "legacy"])
@pytest.mark.parametrize("path", ["", "/other"])
def test_the_official_client_lists_calls_and_reads(live, mode, path):
    """In both eras, at the default path and at that of a surface."""

    async def tell(client):
        tools = await client.list_tools()
        answer = await client.call_tool("echo", {"text": "hullo"})
        read = await client.read_resource("small://about")
        told = await client.get_prompt("greet")
        return [one.name for one in tools.tools], answer.structured_content, read, told

    names, answer, read, told = story(live.url + path, tell, mode=mode)
    assert len(names) == 10
    assert answer["text"] == "hullo"
    assert answer["protocol"] == (MODERN if mode != "legacy" else "2025-11-25")
    assert read.contents[0].text == "a small surface"
    assert told.messages[0].content.text == "Hello."
    assert all(grant == ALL for grant, _ in live.calls)


@pytest.mark.parametrize("mode", [MODERN, "legacy"])
def test_progress_comes_as_a_stream_where_it_was_asked_for(live, mode):
    """Every step before the answer."""
    seen = []

    async def parse(done, total, message):
        seen.append((done, total, message))

    async def tell(client):
        return await client.call_tool("steps", {"count": 3}, progress_callback=parse)

    assert story(live.url, tell, mode=mode).structured_content == {"steps": 3}
    assert seen == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


@pytest.mark.parametrize("modern", [True, False])
def test_an_answer_without_progress_is_plain_json(live, modern):
    """One body, kept by nobody."""
    got = live.call("echo", text="x", modern=modern)
    assert (got.status, got.headers["content-type"]) == (200, "application/json")
    assert got.headers["cache-control"] == "no-store"
    assert got.json["result"]["structuredContent"]["text"] == "x"


@pytest.mark.parametrize("modern", [True, False])
def test_refusals_of_tools_come_as_results(live, modern):
    """A wrong argument, a refusal, a crash that tells nothing of its inside."""
    for tool in ("refuse", "start", "crash"):
        got = live.call(tool, modern=modern)
        assert (got.status, got.json["result"]["isError"]) == (200, True)
        assert b"swordfish" not in got.body
    assert live.logged(3)[-1].outcome == "refused"


def test_nobody_enters_without_a_token(live):
    """The challenge says what is wanted, and not more."""
    got = live.call("echo", by="", text="x")
    assert got.status == 401
    assert got.headers["www-authenticate"] == 'Bearer realm="counterpoint", scope="read write"'
    for wrong in ("wrong", "Bearer", "all x"):
        got = live.call("echo", by=wrong, text="x")
        assert got.status == 401
        assert 'error="invalid_token"' in got.headers["www-authenticate"]
        assert wrong.encode() not in got.body or wrong == "Bearer"
    assert live.ask(rpc("ping"), by="", authorization="Basic YWxsOg==").status == 401
    assert live.calls == []


def test_a_token_in_an_address_is_not_looked_at(live):
    """Addresses are kept by proxies, browsers and logs."""
    for path in ("/mcp?token=all", "/mcp?access_token=all", "/mcp?authorization=Bearer%20all"):
        assert live.ask(rpc("ping"), path=path, by="").status == 401
    assert live.secrets == []


def test_where_no_token_is_needed_none_is_asked_for(live):
    """But one that is brought must be right."""
    live.anyone = Grant(id="", name="agent", session="ses_9")
    assert live.call("echo", by="", text="x").status == 200
    assert live.calls[0][0].session == "ses_9"
    assert live.call("echo", by="wrong", text="x").status == 401


def test_a_reading_token_reads(live):
    """A call that writes is told every scope it needs at once."""
    assert live.call("echo", by="reader", text="x").status == 200
    got = live.call("delete", by="reader", item="x")
    assert got.status == 403
    assert 'error="insufficient_scope"' in got.headers["www-authenticate"]
    assert 'scope="read write"' in got.headers["www-authenticate"]
    got = live.call("delete", by="nothing", item="x")
    assert 'scope="read write"' in got.headers["www-authenticate"]
    got = live.call("echo", by="nothing", text="x")
    assert 'scope="read"' in got.headers["www-authenticate"]
    assert [caller for _, caller in live.calls] == [live.calls[0][1]]


@pytest.mark.parametrize("modern", [True, False])
def test_a_token_for_some_tools_calls_these_alone(live, modern):
    """Others are refused in the dialect's own words; what goes past tools is refused too."""
    assert live.call("echo", by="echo", text="x", modern=modern).status == 200
    got = live.call("start", by="echo", item="x", modern=modern)
    refusal = got.json["result"]
    assert refusal["isError"]
    assert refusal["structuredContent"]["error"]["code"] == "forbidden"
    assert refusal["structuredContent"]["error"]["facts"] == {"tools": ["echo", "pause"]}
    got = live.ask(rpc("resources/read", uri="small://about"), by="echo")
    assert got.json["error"]["data"]["code"] == "forbidden"
    assert live.ask(rpc("prompts/get", name="greet"), by="echo").json["error"]
    assert live.ask(rpc("subscriptions/listen"), by="echo").status == 403
    assert [grant.name for grant, _ in live.calls] == ["echo"]


@pytest.mark.parametrize("mode", [MODERN, "legacy"])
def test_lists_depend_on_the_token_alone(live, mode):
    """Nothing is listed that would be refused, and each list says that it is private."""

    async def tell(client):
        lists = (
            await client.list_tools(),
            await client.list_resources(),
            await client.list_prompts(),
        )
        return lists[0], lists[1].resources, lists[2].prompts

    found, resources, prompts = story(live.url, tell, mode=mode, by="echo")
    assert [one.name for one in found.tools] == ["echo", "pause"]
    assert (resources, prompts) == ([], [])
    found, resources, _ = story(live.url, tell, mode=mode, by="reader")
    assert {"start", "delete"}.isdisjoint(one.name for one in found.tools)
    assert len(found.tools) == 8
    assert len(resources) == 1
    got = live.ask(
        rpc("tools/list", _meta=META), mcp_protocol_version=MODERN, mcp_method="tools/list"
    )
    assert got.json["result"]["cacheScope"] == "private"


def test_a_token_is_good_for_its_surfaces(live):
    """At their paths."""
    assert live.call("echo", by="elsewhere", text="x").status == 403
    assert live.ask(rpc("ping"), path="/mcp/other", by="elsewhere").status == 200


def test_too_many_calls_in_a_minute_are_told_to_wait(live):
    """As long as it takes; other tokens are not held up."""
    assert [live.call("echo", by="slow", text="x").status for _ in range(3)] == [200, 200, 429]
    got = live.call("echo", by="slow", text="x")
    assert 1 <= int(got.headers["retry-after"]) <= 30
    assert live.call("echo", text="x").status == 200


@pytest.mark.parametrize("headers", [
    {"host": "evil.example"}, {"origin": "https://evil.example"}, {"origin": "null"},
    {"host": "127.0.0.1.evil.example"},
])  # fmt: skip
@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/metrics"])
def test_pages_of_other_sites_are_kept_out(live, headers, path):
    """Whatever token they bring, at every path."""
    got = live.ask(rpc("ping"), path=path, **headers)
    assert (got.status, live.secrets) == (403, [])


@pytest.mark.parametrize(
    ("headers", "params"),
    [
        ({"mcp_method": "tools/list"}, {}),
        ({"mcp_name": "delete"}, {}),
        ({"mcp_protocol_version": "2025-11-25"}, {"_meta": META}),
        ({}, {"_meta": META}),
        ({"mcp_protocol_version": MODERN, "mcp_method": "tools/list"}, {"_meta": META}),
        (
            {"mcp_protocol_version": MODERN, "mcp_method": "tools/call", "mcp_name": "delete"},
            {"_meta": META},
        ),
        ({"mcp_protocol_version": MODERN}, {"_meta": META}),
    ],
)
def test_headers_and_body_that_disagree_are_refused(live, headers, params):
    """Before a tool runs: what a proxy let through by its header is what happens."""
    got = live.ask(rpc("tools/call", name="echo", arguments={"text": "x"}, **params), **headers)
    assert (got.status, got.json["error"]["code"], live.calls) == (400, -32020, [])


@pytest.mark.parametrize("version", ["2099-01-01", "x", "2026-07-29"])
def test_an_unknown_version_is_refused_with_those_there_are(live, version):
    """Whatever the body says."""
    meta = {**META, "io.modelcontextprotocol/protocolVersion": version}
    got = live.ask(
        rpc("tools/list", _meta=meta), mcp_protocol_version=version, mcp_method="tools/list"
    )
    assert (got.status, got.json["error"]["code"]) == (400, -32022)
    assert MODERN in got.json["error"]["data"]["supported"]


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b"null", b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": 5}', b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]',
    b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', b'{"id": {}, "method": "ping", "jsonrpc": "2.0"}',
])  # fmt: skip
@pytest.mark.parametrize("modern", [True, False])
def test_a_malformed_body_is_refused(live, body, modern):
    """With an error of the protocol, and no word of what went wrong inside."""
    headers = {"mcp_protocol_version": MODERN, "mcp_method": "ping"} if modern else {}
    got = live.ask(body, **headers)
    assert got.status == 400
    assert b"Traceback" not in got.body
    assert b"counterpoint/" not in got.body


def test_a_body_that_is_too_large_is_refused(live):
    """By its declared length before it is sent, by its real one when it declares none, by its values before it is parsed."""
    got = live.send(
        "POST", "/mcp", authorization="Bearer all", content_length=str(guards.LARGEST_BODY + 1)
    )
    assert (got.status, got.headers["connection"]) == (413, "close")
    chunk = b"x" * 1_000_000
    with socket.create_connection(("127.0.0.1", live.port), PATIENCE) as wire:
        wire.sendall(
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer all\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(guards.LARGEST_BODY // len(chunk)):
            wire.sendall(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        wire.sendall(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        assert wire.makefile("rb").readline().startswith(b"HTTP/1.1 413")
    assert live.call("echo", text="x" * 5_000_000).status == 200
    got = live.call("echo", text=[[]] * 300_000)
    assert got.status == 413
    assert b"more than 500000 commas" in got.body


def test_a_body_that_never_comes_ends_the_wait(live, monkeypatch):
    """A slow caller does not hold a place for ever."""
    monkeypatch.setattr(guards, "PATIENCE", 0.05)
    got = live.send("POST", "/mcp", authorization="Bearer all", content_length="9")
    assert (got.status, got.json["error"]) == (408, "too_slow")


@pytest.mark.parametrize(
    ("method", "path", "status", "error"),
    [
        ("POST", "/mcp/none", 404, "unknown_surface"), ("POST", "/mcp/small/x", 404, "unknown_surface"),
        ("GET", "/", 404, "not_found"), ("GET", "/../etc/passwd", 404, "not_found"),
        ("GET", "/mcp", 405, "method_not_allowed"), ("DELETE", "/mcp", 405, "method_not_allowed"),
        ("POST", "/healthz", 405, "method_not_allowed"), ("POST", "/mcpx", 404, "unknown_surface"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_in_json(live, method, path, status, error):
    """With the surfaces there are, or the methods that are taken."""
    got = live.send(method, path, authorization="Bearer all")
    assert (got.status, got.json["error"]) == (status, error)
    if status == 405:
        assert got.headers["allow"]
    assert live.logged(1)[0].path in {"other", "/mcp", "/healthz"}


@pytest.mark.parametrize("name", ["Authorization", "Mcp-Method"])
def test_a_header_that_comes_twice_is_refused_at_the_door(live, name):
    """A proxy could have looked at the other one."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    twice = f"{name}: Bearer all\r\n{name}: ping\r\n"
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{twice}Content-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", live.port), PATIENCE) as wire:
        wire.sendall(head.encode() + body)
        assert wire.makefile("rb").readline().startswith(b"HTTP/1.1 400")
    assert live.secrets == []
