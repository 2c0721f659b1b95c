"""`counterpoint up`: a real server, real clients, and who may come in."""

from __future__ import annotations

import asyncio
import http.client
import json
import selectors
import signal
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from httpx2 import AsyncClient
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from counterpoint.app import open_app
from counterpoint.core.model.filters import Note

PATIENCE = 40.0
KIND = {"content_type": "application/json", "accept": "application/json"}
PLAN = "# Ship\n## Hull\n- [ ] Caulk the seams\n- [ ] Tar the keel\n"


class Server:
    """A running `counterpoint up`, and its log."""

    def __init__(self, process):
        self.process = process
        self._waiting = selectors.DefaultSelector()
        self._waiting.register(process.stderr, selectors.EVENT_READ)
        told = self.line("listening")
        (self.url,) = told["addresses"]
        self.token = Path(told["token_file"]).read_text().strip()

    def line(self, event):
        """Answer the next line of the log that tells of an event."""
        while True:
            assert self._waiting.select(PATIENCE), "the server said nothing"
            text = self.process.stderr.readline()
            assert text, "the server ended"
            line = json.loads(text)
            if line["event"] == event:
                return line

    def send(self, method, path, body=None, **headers):
        """Send a request; answer status, headers and body."""
        parts = urlsplit(self.url)
        wire = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
        try:
            named = {name.replace("_", "-"): text for name, text in headers.items()}
            wire.request(method, path, body, named)
            got = wire.getresponse()
            return got.status, got.headers, got.read()
        finally:
            wire.close()

    def call(self, tool, by=None, arguments=None, **headers):
        """Call a tool in the older era, by the account's own token or another; answer the status and the result."""
        by = self.token if by is None else by
        message = {
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments or {}},
        }  # fmt: skip
        kind = {"content_type": "application/json", "accept": "application/json"}
        bearer = {"authorization": f"Bearer {by}"} if by else {}
        status, _, body = self.send(
            "POST", "/mcp", json.dumps(message), **kind, **bearer, **headers
        )
        return status, json.loads(body).get("result", json.loads(body))

    def end(self, number=signal.SIGTERM):
        """Tell it to end; answer the exit code and the rest of the log."""
        self.process.send_signal(number)
        _, rest = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, rest.decode()


@pytest.fixture
def up(ledger, start):
    """Start a server in the copy of the repository."""

    def up_(*words):
        return Server(start("up", "--port", "0", *words))

    return up_


@pytest.fixture
def token(ledger, call):
    """Make tokens and answer their secrets."""
    return lambda *words: call("token", "create", *words).out.strip()


def story(url, tell, *, mode, by):
    """Run a story with the SDK's own client."""

    async def run():
        async with (
            AsyncClient(headers={"Authorization": f"Bearer {by}"}, timeout=PATIENCE) as wire,
            Client(streamable_http_client(url, http_client=wire), mode=mode) as client,
        ):

            async def call(tool, **arguments):
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, result.content
                return result.structured_content

            return await tell(client, call)

    return asyncio.run(asyncio.wait_for(run(), PATIENCE))


@pytest.mark.alike
@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
def test_an_agent_works_over_http(up, ledger, token, mode):
    """It plans, claims, writes down and finishes; all calls belong to one session, of its token or its own."""
    server, secret = up(), token("ci")

    async def tell(client, call):
        listed = await client.list_tools()
        await call("plan", markdown=PLAN)
        claimed = await call("next", claim=True)
        await call("note", kind="decision", title="Tar", text="Pine tar", id=claimed["item"]["id"])
        return len(listed.tools), await call("brief")

    count, briefed = story(server.url, tell, mode=mode, by=secret)
    assert count == 16
    assert briefed["you"]["agent"] == "ci"
    opened = open_app(ledger, {})
    try:
        (made,) = opened.person().tokens.list()
        entries = opened.person().audit.log(limit=3)
        ((name, session),) = {(one.actor.name, one.actor.session) for one in entries}
        # Who shakes hands gets a session that only it can speak in; who does not has that of the token.
        assert (name, session == made.session) == ("ci", mode != "legacy")
    finally:
        opened.close()
    code, rest = server.end()
    assert code == 0
    assert secret not in rest
    assert '"event":"ended"' in rest


def test_a_role_narrows_a_surface_over_http_too(up, ledger, monkeypatch):
    """List and call; the file is read once, when the server starts."""
    (ledger / "tools.json").write_text('["get_issue", "list_issues"]')
    monkeypatch.setenv("COUNTERPOINT_AGENT_TYPE", "worker")
    monkeypatch.setenv("COUNTERPOINT_TOOL_SCOPE_FILE", "tools.json")
    server = up()
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    kind = {**KIND, "authorization": f"Bearer {server.token}"}
    _, _, body = server.send("POST", "/mcp/symphony", json.dumps(ask), **kind)
    names = [tool["name"] for tool in json.loads(body)["result"]["tools"]]
    assert names == ["get_issue", "list_issues"]
    (ledger / "tools.json").write_text('["get_issue", "create_issue"]')
    ask |= {"method": "tools/call", "params": {"name": "create_issue", "arguments": {"title": "x"}}}
    _, _, body = server.send("POST", "/mcp/symphony", json.dumps(ask), **kind)
    result = json.loads(body)["result"]
    assert (result["isError"], result["structuredContent"]["code"]) == (True, "PERMISSION_DENIED")
    # A surface that has no such tool is not served at all, nor is what shows the same as its tools.
    assert server.send("POST", "/mcp/native", json.dumps(ask), **kind)[0] == 404
    assert server.send("GET", "/events", authorization=kind["authorization"])[0] == 404


@pytest.mark.parametrize("content", ["", '["approve_pr"]'])
def test_a_scope_that_opens_nothing_keeps_the_server_from_starting(
    ledger, call, monkeypatch, content
):
    """Malformed, or wider than the role."""
    (ledger / "tools.json").write_text(content)
    monkeypatch.setenv("COUNTERPOINT_AGENT_TYPE", "worker")
    monkeypatch.setenv("COUNTERPOINT_TOOL_SCOPE_FILE", "tools.json")
    said = call("up", "--port", "0")
    assert said.code == 2
    assert "opens no tool" in said.err


def test_a_role_of_another_dialect_leaves_out_the_surface_that_has_none_of_it(up, monkeypatch):
    monkeypatch.setenv("COUNTERPOINT_PROFILE", "poet")
    server = up()
    assert server.call("brief")[0] == 200
    kind = {**KIND, "authorization": f"Bearer {server.token}"}
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    assert server.send("POST", "/mcp/symphony", json.dumps(ask), **kind)[0] == 404


def test_nobody_is_served_without_a_token(up, ledger, token, call):
    """Neither tools, events nor measures, from the first start on; the account's own lies in a file that only it reads.

    It reads and writes, is shown in no log and in no list, and opens nothing from when it is taken away. Nor does it make
    a second principal of everybody who can read it: who works with it is nobody that is attested.
    """
    server, other = up(), token("ci")
    for path in ("/mcp", "/mcp/agentic", "/events", "/events/workflow", "/metrics"):
        method = "POST" if path.startswith("/mcp") else "GET"
        status, headers, _ = server.send(method, path, "{}" if method == "POST" else None, **KIND)
        assert (status, headers["www-authenticate"][:6]) == (401, "Bearer"), path
    file = Path(call("token", "local", "--json").json["file"])
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert not file.is_relative_to(ledger)
    assert call("token", "local").out.strip() == server.token == file.read_text().strip()
    assert not server.call("plan", arguments={"markdown": PLAN})[1]["isError"]
    entries = call("log", "--json").json["entries"]
    made = max(
        (one for one in entries if one["action"] == "plan.created"), key=lambda e: e["sequence"]
    )
    assert (made["actor"]["name"], made["actor"].get("principal")) == ("agent", None)
    assert server.call("brief", other)[0] == 200
    (_, own) = call("token", "list", "--json").json
    assert (own["scopes"], own["file"]) == (["read", "write"], str(file))
    file.chmod(0o640)
    assert server.call("brief")[0] == 401
    file.chmod(0o600)
    assert server.call("brief")[0] == 200
    assert call("token", "create", "local").code == 2
    assert call("token", "revoke", "local").code == 0
    assert server.call("brief")[0] == 401
    assert call("token", "revoke", "local").code == 1
    assert server.token not in server.end()[1]


def test_an_agent_says_who_it_is_and_in_which_of_its_sessions(up, token):
    """A name is a label under its token; a session is its own, or it is refused."""
    server, secret, other = up(), token("ci"), token("other")
    _, result = server.call("brief", secret, counterpoint_agent="zoe")
    you = result["structuredContent"]["you"]
    assert you["agent"] == "zoe"
    _, again = server.call("brief", secret)
    assert again["structuredContent"]["you"] == {**you, "agent": "ci"}
    mine = {"counterpoint_agent": "zoe", "counterpoint_session": you["session"]}
    asked = {"action": "set", "key": "n", "value": 1}
    _, result = server.call("remember", secret, asked)
    assert not result["isError"], result
    _, result = server.call("remember", secret, asked, **mine)
    assert not result["isError"], result
    for by, session, code in (
        (other, you["session"], "forbidden"),
        (secret, "ses_" + "7" * 26, "not_found"),
        (secret, "ses_1", "not_found"),
    ):
        _, result = server.call("brief", by, **(mine | {"counterpoint_session": session}))
        assert (result["isError"], result["structuredContent"]["error"]) == (True, code)


def test_a_token_is_who_acts_whatever_its_headers_say(up, token, call):
    """One token is one principal under every name and in every session; another token is another."""
    server, one, other = up(), token("ada"), token("bob")
    plan = {"markdown": "# Orchard\n## Planting\n- review: yes\n- [ ] Plant the walnut\n"}
    assert not server.call("plan", one, plan)[1]["isError"]
    titles = {found["title"]: found["id"] for found in call("list", "--json").json["items"]}
    started = server.call("start", one, {"id": titles["Plant the walnut"]})[1]
    claim = started["structuredContent"]["claim"]
    done = {"id": claim["item"], "token": claim["token"], "outcome": "done", "summary": "It stands"}
    assert not server.call("finish", one, done)[1]["isError"]
    verdict = {"id": titles["Planting"], "verdict": "approve", "reason": "so"}
    for headers in ({}, {"counterpoint_agent": "eve"}):
        refused = server.call("review", one, verdict, **headers)[1]
        assert refused["structuredContent"]["error"] == "forbidden", refused
    assert not server.call("review", other, verdict)[1]["isError"]
    actors = [entry["actor"] for entry in call("log", "--json").json["entries"]]
    found = {
        one["principal"]["id"]
        for one in actors
        if one["kind"] == "agent" and not one["principal"]["id"].startswith("cn_")
    }
    listed = call("token", "list", "--json").json
    assert found == {one["id"] for one in listed if one["id"] != "local"}


def test_a_reading_token_sees_reading_tools_alone(up, token):
    server, secret = up(), token("eye", "--scope", "read")
    status, refusal = server.call("plan", secret, {"markdown": PLAN})
    assert (status, refusal["error"]) == (403, "insufficient_scope")
    assert server.call("brief", secret)[0] == 200
    status, refusal = server.call("brief", token("far", "--ip", "192.0.2.0/24"))
    assert status == 401


@pytest.mark.alike
def test_a_token_that_is_limited_reads_nothing_about_all(up, token):
    """To dialects or to tools: neither the feed of every entry nor the measures; its dialect's own events it reads."""
    server = up()
    for name, status_of_events, words in (
        ("one", 200, ("--dialect", "workflow")),
        ("two", 200, ("--dialect", "workflow", "--dialect", "native")),
        ("tool", 403, ("--tool", "brief")),
    ):
        bearer = {"authorization": f"Bearer {token(name, '--scope', 'read', *words)}"}
        for path in ("/events", "/events?after=-1", "/metrics"):
            status, _, body = server.send("GET", path, **bearer)
            assert (status, json.loads(body)["error"]) == (403, "insufficient_scope"), (path, words)
        status = server.send("HEAD", "/events/workflow", **bearer)[0]
        assert status == status_of_events, words


def test_it_is_alive_ready_and_counted(up):
    """For people and programs that watch over it."""
    server = up()
    assert server.send("GET", "/healthz")[0] == 200
    status, _, body = server.send("GET", "/readyz")
    assert (status, json.loads(body)["troubles"]) == (200, [])
    measured = server.send("GET", "/metrics", authorization=f"Bearer {server.token}")[2]
    assert b"counterpoint_ledger_entries" in measured
    line = server.line("request")
    assert (line["path"], line["status"], line["outcome"]) == ("/healthz", 200, "ok")


@pytest.mark.parametrize(
    "words",
    [
        ("--host", "0.0.0.0"),  # noqa: S104 -- what must be refused
        ("--host", "::"),
        ("--host", "example.org"),
        ("--allow-host", "plan.example.org"),
    ],
    ids=" ".join,
)
def test_an_open_door_beyond_this_machine_is_refused(ledger, call, words):
    """By another address or under another name; nothing is listened on. The account's own token is for this machine."""
    call("token", "local")
    said = call("up", *words, "--port", "0")
    assert said.code == 2
    assert "token create" in said.err


def test_with_a_token_it_listens_beyond_this_machine(up, token):
    """By the names that it was given and no other, and for pages of its own alone: at every path, with their ports."""
    secret = token("ci")
    server = up("--host", "0.0.0.0", "--allow-host", "plan.example.org")  # noqa: S104 -- what is tested
    port = urlsplit(server.url).port
    assert server.call("brief", secret, host="plan.example.org")[0] == 200
    assert server.call("brief", secret, host="other.example.org")[0] == 403
    assert server.call("brief", secret, host=f"localhost:{port + 1}")[0] == 403
    asked = {"authorization": f"Bearer {secret}", "host": f"localhost:{port}"}
    for origin, status in (
        (f"http://localhost:{port}", 200),
        ("https://plan.example.org", 200),
        (f"http://localhost:{port + 1}", 403),
        ("http://localhost", 403),
        (f"https://localhost:{port}", 403),
    ):
        assert server.call("brief", secret, origin=origin, host=asked["host"])[0] == status, origin
        if status != 200:
            socket = {
                "upgrade": "websocket",
                "connection": "Upgrade",
                "sec_websocket_version": "13",
            }
            key = {"sec_websocket_key": "dGhlIHNhbXBsZSBub25jZQ=="}
            for more in ({}, {**socket, **key}):
                got = server.send("GET", "/events/workflow", origin=origin, **asked, **more)
                assert got[0] == status, (origin, more)


def test_an_expired_or_revoked_token_opens_no_door(ledger, call, token):
    """There must be one that somebody can use."""
    token("ci")
    call("token", "revoke", "ci")
    assert call("up", "--host", "192.0.2.1").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("--oauth-issuer", "https://login.example.org"),
        (
            "--oauth-issuer",
            "http://x.example",
            "--oauth-audience",
            "https://y.example",
            "--jwks",
            "k",
        ),
        ("--port", "70000"),
    ],
)
def test_half_an_oauth_server_is_wrong_usage(ledger, call, words):
    """All three, and safe addresses."""
    assert call("up", *words).code == 2


def test_keys_that_cannot_be_read_are_told_at_the_start(ledger, call):
    said = call(
        "up", "--port", "0", "--oauth-issuer", "https://login.example.org", "--oauth-audience",
        "https://plan.example.org/mcp", "--jwks", "none.json",
    )  # fmt: skip
    assert said.code == 3
    assert "--jwks" in said.err


def test_a_token_of_an_oauth_server_is_taken(up, ledger):
    """Signed by its key for this address; each refusal names where to read about the rest."""
    key = ed25519.Ed25519PrivateKey.generate()
    listed = json.loads(jwt.get_algorithm_by_name("EdDSA").to_jwk(key.public_key()))
    (ledger / "keys.json").write_text(json.dumps({"keys": [{**listed, "kid": "one"}]}))
    names = ("https://login.example.org", "https://plan.example.org/mcp")
    server = up(
        "--oauth-issuer", names[0], "--oauth-audience", names[1], "--jwks", "keys.json"
    )  # fmt: skip
    claims = {
        "iss": names[0], "aud": names[1], "sub": "ada", "exp": int(time.time()) + 60,
        "scope": "counterpoint:read",
    }  # fmt: skip
    signed = jwt.encode(claims, key, "EdDSA", headers={"kid": "one"})
    _, result = server.call("brief", signed)
    assert result["structuredContent"]["you"]["agent"] == "ada"
    assert server.call("plan", signed, {"markdown": PLAN})[0] == 403
    other = jwt.encode({**claims, "aud": names[0]}, key, "EdDSA", headers={"kid": "one"})
    assert server.call("brief", other)[0] == 401
    assert server.call("brief", "")[0] == 401
    told = server.send("GET", "/.well-known/oauth-protected-resource/mcp")[2]
    assert json.loads(told)["authorization_servers"] == [names[0]]


@pytest.mark.alike
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(up, number):
    """With the code of success, and a last line."""
    code, rest = up().end(number)
    assert code == 0
    assert json.loads(rest.splitlines()[-1])["event"] == "ended"


@pytest.mark.long
def test_another_one_takes_its_place_when_told_to(up, call):
    """The first ends by itself; there are never two."""
    first = up()
    second = up("--replace")
    assert first.process.wait(PATIENCE) == 0
    assert second.send("GET", "/healthz")[0] == 200
    assert call("down", "--json").json["ended"]["pid"] == second.process.pid
    assert second.process.wait(PATIENCE) == 0


@pytest.mark.long
def test_another_one_takes_its_address_too_when_told_to(up, start, ledger):
    """The page says `up --replace`, which asks for the port that the first one has."""
    first = up()
    port = str(urlsplit(first.url).port)
    process = start("up", "--port", port)
    complaint = process.communicate(timeout=PATIENCE)[1].decode()
    assert (process.returncode, "`counterpoint up --replace` takes its place" in complaint) == (
        3,
        True,
    )
    second = up("--port", port, "--replace")
    assert first.process.wait(PATIENCE) == 0
    assert urlsplit(second.url).port == int(port)
    assert second.send("GET", "/healthz")[0] == 200
    assert second.end()[0] == 0


def test_a_port_of_another_program_is_said_as_it_is(ledger, call):
    """No server of ours can make room there."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        said = call("up", "--port", str(other.getsockname()[1]), "--replace")
    assert (said.code, "port 0 takes any free one" in said.err) == (3, True)


def test_without_a_ledger_nothing_is_served(place, call):
    assert call("up", "--port", "0").code == 3
    assert list(place.iterdir()) == []


def test_the_feed_is_followed_over_http(up, agent, token, call):
    """From a sequence on, as it happens; a token that is revoked ends it."""
    server = up()
    secret = token("eye", "--scope", "read")
    parts = urlsplit(server.url)
    wire = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
    wire.request("GET", "/events?after=3", headers={"Authorization": f"Bearer {secret}"})
    got = wire.getresponse()
    assert got.status == 200
    agent.journal.append(Note(kind="comment", body="Ahoy"))
    heard = []
    while not heard or heard[-1]["action"] != "comment.recorded":
        line = got.readline()
        assert line
        if line.startswith(b"data: "):
            heard.append(json.loads(line[6:]))
    assert [entry["sequence"] for entry in heard] == list(range(4, 4 + len(heard)))
    call("token", "revoke", "eye")
    assert got.read().endswith(b"\n\n")
    wire.close()
    assert server.end()[0] == 0


@pytest.mark.long
def test_a_month_outlives_the_server(up, token, call):
    """What a token had left when the server ended is what it has left at the next one."""
    secret = token("ci", "--calls-a-month", "3", "--tool-limit", "brief=2")
    first = up()
    assert [first.call("brief", secret)[1]["isError"] for _ in range(2)] == [False, False]
    status, refused = first.call("brief", secret)
    assert (status, refused["structuredContent"]["error"]) == (200, "rate_limited")
    assert refused["structuredContent"]["retry_after"] <= 30
    assert first.end()[0] == 0
    second = up()
    assert not second.call("list", secret)[1]["isError"]
    told = second.call("list", secret)[1]["structuredContent"]
    assert (told["error"], told["used"], told["limit"]) == ("quota_exceeded", 3, 3)
    assert told["resets_at"].endswith("-01T00:00:00.000Z")
    assert call("token", "list", "--json").json[0]["calls_this_month"] == 3
