"""What the relay answers itself, and how it cuts and recognises lines."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoint
from counterpoint.cli.server.listings import listing_of
from counterpoint.dialects import registry
from counterpoint.dialects.symphony import scope
from counterpoint.kernel.errors import InvalidInput
from counterpoint.relay import answers
from counterpoint.relay.answers import Answers, Lines, answered, envelope_version
from counterpoint.settings import Settings

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}


@pytest.fixture
def native() -> Answers:
    """Give the listing of the native surface as a server answers it."""
    return Answers(listing_of("native"))


@pytest.mark.parametrize("asked", ["2024-11-05", "2025-06-18", "2025-11-25"])
def test_a_handshake_agrees_on_the_version_that_is_asked_for(native, asked):
    """Every version that the server knows is known here."""
    result = native.initialized({**HELLO, "protocolVersion": asked})
    assert result["protocolVersion"] == asked
    assert result["serverInfo"]["version"] == counterpoint.__version__


def test_an_unknown_version_is_answered_with_the_newest_handshake(native):
    """The client may leave then; a version without a handshake is none."""
    for asked in ("1999-01-01", "2026-07-28"):
        result = native.initialized({**HELLO, "protocolVersion": asked})
        assert result["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocolVersion": 7},
        {"capabilities": []},
        {"capabilities": {"roots": 5}},
        {"clientInfo": {"name": "t"}},
        {"clientInfo": None},
    ],
)
def test_a_handshake_that_may_be_wrong_is_left_to_the_server(native, wrong):
    assert native.initialized({**HELLO, **wrong}) is None


def test_lists_are_known_for_each_version_that_is(native):
    assert len(native.answer("2026-07-28", "tools/list")["tools"]) == 16
    assert native.answer("2025-06-18", "ping") == {}
    assert native.answer("2025-06-18", "server/discover") is None
    assert native.answer("2025-06-18", "tools/call") is None
    assert native.answer("", "tools/list") is None


def test_an_envelope_tells_its_version():
    """One that is not whole, or has more beside it, is left to the server."""
    assert envelope_version({}) == ""
    assert envelope_version({"_meta": {"progressToken": 1}}) == ""
    assert envelope_version({"_meta": ENVELOPE}) == "2026-07-28"
    assert envelope_version({"_meta": ENVELOPE, "cursor": "x"}) is None
    assert envelope_version({"_meta": {**ENVELOPE, next(iter(ENVELOPE)): 7}}) is None
    assert envelope_version({"_meta": {next(iter(ENVELOPE)): "2026-07-28"}}) is None
    assert envelope_version({"_meta": []}) is None


@given(st.binary(), st.lists(st.integers(0, 40)))
def test_lines_are_the_same_however_they_come_in(text, cuts):
    """A chunk may end anywhere."""
    lines, heard, at = Lines(), [], 0
    for cut in [*cuts, len(text)]:
        heard += lines.take(text[at : at + cut])
        at += cut
    assert heard == text.split(b"\n")[:-1]


def test_a_line_that_is_too_long_is_none_and_keeps_nothing(monkeypatch):
    """The next line is whole again."""
    monkeypatch.setattr(answers, "LINE_LIMIT", 4)
    lines = Lines()
    assert lines.take(b"123") == []
    assert lines.take(b"45678") == []
    assert lines._parts == []
    assert lines.take(b"9\nab") == [None]
    assert lines._parts == [b"ab"]
    assert lines.take(b"\n") == [b"ab"]


@given(
    st.one_of(st.integers(-(2**63), 2**63), st.text()),
    st.sampled_from(["result", "error"]),
    st.text(),
)
def test_an_answer_is_recognised_by_its_id(name, kind, text):
    body = {"jsonrpc": "2.0", "id": name, kind: {"text": text, "result": 1}}
    assert answered(orjson.dumps(body)) == name
    assert answered(json.dumps(body).encode()) == name


def test_what_is_no_answer_answers_nothing():
    """A notification, a request of the server, and what is no JSON at all."""
    assert answered(b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}') is None
    assert answered(b'{"jsonrpc":"2.0","id":7,"method":"ping"}') is None
    assert answered(b'{"jsonrpc":"2.0","id":') is None
    assert answered(b"[]") is None


@pytest.fixture
def typed() -> Answers:
    """Give the listing of the surface whose tools are divided among types."""
    return Answers(listing_of("symphony"))


def shown(typed: Answers) -> list[str]:
    """Answer the tools that the relay lists, alike in every era."""
    known = {
        tuple(tool["name"] for tool in typed.answer(version, "tools/list")["tools"])
        for version in ("2025-06-18", "2026-07-28")
    }
    assert len(known) == 1
    return list(known.pop())


@pytest.mark.parametrize("type_", ["", *scope.AGENT_TYPES])
def test_a_type_is_listed_its_own_tools(typed, type_):
    assert typed.narrow(type_, "")
    expected = registry.surface("symphony", Settings(surface="symphony", profile=type_))
    assert shown(typed) == [tool.name for tool in expected.tools]


def test_a_scope_file_narrows_the_list(typed, tmp_path):
    """In the order of the list; without a type it may name the tools of any."""
    path = tmp_path / "tools.json"
    path.write_text('["list_issues", "get_issue", "get_issue"]')
    assert typed.narrow("worker", str(path))
    assert shown(typed) == ["get_issue", "list_issues"]


contents = st.one_of(
    st.none(),
    st.binary(max_size=20),
    st.sampled_from([b"{}", b"[1]", b'[{"a":1}]', b'"get_issue"', b"null", b"[[" * 5_000]),
    st.lists(st.sampled_from([*scope.TOOLS, "nap"]), max_size=5).map(
        lambda n: json.dumps(n).encode()
    ),
)


LISTED = json.dumps(listing_of("symphony"))


@given(st.sampled_from(["", "poet", *scope.AGENT_TYPES]), contents)
def test_the_relay_opens_what_the_server_opens_and_nothing_else(type_, content):
    """Whatever the file says: where one refuses, so does the other, and nothing is listed."""
    typed = Answers(json.loads(LISTED))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tools.json"
        if content is not None:
            path.write_bytes(content)
        settings = Settings(surface="symphony", profile=type_, tool_scope=str(path))
        try:
            expected = [tool.name for tool in registry.surface("symphony", settings).tools]
        except InvalidInput:
            expected = None
        opened = typed.narrow(type_, str(path))
    assert opened == (expected is not None)
    if expected is None:
        assert typed.answer("2026-07-28", "tools/list") is None
    else:
        assert shown(typed) == expected


def test_a_surface_without_types_takes_any_role(native):
    """A scope file narrows it all the same; where there is none the server says so."""
    assert native.narrow("poet", "")
    assert not native.narrow("poet", "/not/there")
