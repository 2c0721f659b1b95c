"""Each format of searches over a server that sends what its provider's documents show: results, refusals, and what is broken."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from counterpoint.core.model.web import Browsing, SaidSearcher, Search, SearchResult
from counterpoint.kernel.errors import (
    CounterpointError,
    ProviderAway,
    ProviderBusy,
    ProviderFailed,
    ProviderRefused,
    ProviderTimedOut,
    Unavailable,
    Unexpected,
)
from counterpoint.providers import wire
from counterpoint.providers.keys import Keys
from counterpoint.providers.web.search import FORMATS, ConfiguredSearching, open_searching
from fakes.raw_answers import RawServer

SECRET = "tvly-test-0123456789"  # noqa: S105 -- nobody has it anywhere


@dataclass(frozen=True)
class Spoken:
    """One format as its documents show it: an answer, the line, head and body of its request, and refusals by what they mean."""

    kind: Any
    answer: dict[str, Any]
    line: str
    key: tuple[str, str]
    body: dict[str, Any] | None
    refusals: tuple[tuple[str, str, type[CounterpointError], str], ...]
    first: SearchResult
    nothing: dict[str, Any] = field(default_factory=lambda: {"results": []})


TAVILY = Spoken(
    kind="tavily",
    answer={
        "query": "what is MCP?",
        "follow_up_questions": None,
        "answer": None,
        "images": [],
        "results": [
            {
                "title": "A  protocol",
                "url": "https://example.com/mcp",
                "content": " It is open. ",
                "score": 0.9,
                "raw_content": None,
            },
            {"title": "no page", "url": "ftp://example.com", "content": "", "score": 0.1},
        ],
        "response_time": 1.1,
    },
    line="POST /v1/search HTTP/1.1",
    key=("authorization", f"Bearer {SECRET}"),
    body={
        "query": "what is MCP?",
        "max_results": 3,
        "search_depth": "basic",
        "include_answer": False,
        "include_raw_content": False,
    },
    refusals=(
        (
            "401 Unauthorized",
            '{"detail": {"error": "Unauthorized: missing or invalid API key."}}',
            ProviderRefused,
            "invalid API key",
        ),
        ("429 Too Many", '{"detail": {"error": "excessive requests"}}', ProviderBusy, "excessive"),
        ("432 Plan", '{"detail": {"error": "plan\'s set usage limit"}}', ProviderRefused, "usage"),
    ),
    first=SearchResult(url="https://example.com/mcp", title="A protocol", text="It is open."),
)
PERPLEXITY = Spoken(
    kind="perplexity",
    answer={
        "results": [
            {
                "title": "A protocol",
                "url": "https://example.com/mcp",
                "snippet": "It is open.",
                "date": "2025-03-20",
                "last_updated": "2025-09-19",
            }
        ],
        "id": "e38104d5",
        "server_time": None,
    },
    line="POST /v1/search HTTP/1.1",
    key=("authorization", f"Bearer {SECRET}"),
    body={"query": "what is MCP?", "max_results": 3, "max_tokens_per_page": 1024},
    refusals=(
        (
            "401 Unauthorized",
            '{"error": {"message": "Invalid API key", "type": "invalid_api_key", "code": 401}}',
            ProviderRefused,
            "Invalid API key",
        ),
        ("429 Too Many", '{"error": {"message": "rate"}}', ProviderBusy, "rate"),
    ),
    first=SearchResult(
        url="https://example.com/mcp", title="A protocol", text="It is open.", date="2025-03-20"
    ),
)
GOOGLE = Spoken(
    kind="google",
    answer={
        "kind": "customsearch#search",
        "searchInformation": {"totalResults": "1"},
        "items": [
            {
                "kind": "customsearch#result",
                "title": "A protocol",
                "link": "https://example.com/mcp",
                "displayLink": "example.com",
                "snippet": "It is open.",
            }
        ],
    },
    line="GET /v1/customsearch/v1?cx=engine-1&q=what+is+MCP%3F&num=3 HTTP/1.1",
    key=("x-goog-api-key", SECRET),
    body=None,
    refusals=(
        (
            "429 Too Many",
            '{"error": {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED"}}',
            ProviderBusy,
            "Quota exceeded",
        ),
        (
            "400 Bad Request",
            '{"error": {"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}}',
            ProviderRefused,
            "not valid",
        ),
    ),
    first=SearchResult(url="https://example.com/mcp", title="A protocol", text="It is open."),
    nothing={"searchInformation": {"totalResults": "0"}},
)
SCHOLAR = Spoken(
    kind="semantic-scholar",
    answer={
        "total": 15117,
        "offset": 0,
        "next": 3,
        "data": [
            {
                "paperId": "649def34",
                "url": "https://www.semanticscholar.org/paper/649def34",
                "title": "Construction of the Literature Graph",
                "abstract": "We describe a system.",
                "year": 2018,
            },
            {"paperId": "f712fab0", "url": None, "title": None, "abstract": None, "year": None},
        ],
    },
    line="GET /v1/paper/search?query=what+is+MCP%3F&limit=3&fields=title%2Cabstract%2Curl%2Cyear HTTP/1.1",
    key=("x-api-key", SECRET),
    body=None,
    refusals=(
        ("429 Too Many", '{"message": "Too Many Requests", "code": "429"}', ProviderBusy, "Too"),
        ("400 Bad Request", '{"error": "Unrecognized fields"}', ProviderRefused, "Unrecognized"),
        ("403 Forbidden", '{"message": "Forbidden"}', ProviderRefused, "Forbidden"),
    ),
    first=SearchResult(
        url="https://www.semanticscholar.org/paper/649def34",
        title="Construction of the Literature Graph",
        text="We describe a system.",
        date="2018",
        kind="academic",
    ),
    nothing={"total": 0, "offset": 0},
)
SEARXNG = Spoken(
    kind="searxng",
    answer={
        "query": "what is MCP?",
        "number_of_results": 0,
        "results": [
            {
                "url": "https://example.com/mcp",
                "title": "A protocol",
                "content": "It is open.",
                "engine": "duckduckgo",
                "category": "science",
                "publishedDate": None,
            }
        ],
        "answers": [],
        "unresponsive_engines": [["google", "timeout"]],
    },
    line="GET /v1/search?q=what+is+MCP%3F&format=json HTTP/1.1",
    key=("authorization", f"Bearer {SECRET}"),
    body=None,
    refusals=(
        ("403 Forbidden", "<!doctype html><title>403 Forbidden</title>", ProviderRefused, "403"),
        ("429 Too Many", "<!doctype html><title>429</title>", ProviderBusy, "429"),
    ),
    first=SearchResult(
        url="https://example.com/mcp", title="A protocol", text="It is open.", kind="academic"
    ),
)
SPOKEN = (TAVILY, PERPLEXITY, GOOGLE, SCHOLAR, SEARXNG)
each = pytest.mark.parametrize("spoken", SPOKEN, ids=lambda one: one.kind)
SEARCH = Search(query=" what is\nMCP? ", most=3, timeout=20.0)


def said_by(told: Any, status: str = "200 OK", more: str = "") -> bytes:
    """Answer an answer with a body."""
    body = told if isinstance(told, str) else json.dumps(told)
    return f"HTTP/1.1 {status}\r\n{more}connection: close\r\n\r\n{body}".encode()


@pytest.fixture
def keys(tmp_path: Any) -> Keys:
    """Answer the keys of a person who has none."""
    return Keys(environ={"XDG_CONFIG_HOME": str(tmp_path)})


@pytest.fixture
def ask(keys: Keys) -> Callable[..., Any]:
    """Answer what searches with a provider at a server in a format, with a key for it."""

    def asks(spoken: Spoken, server: RawServer, search: Search = SEARCH, listen: Any = None) -> Any:
        keys.put("there", SECRET, server.address)
        said = SaidSearcher(
            name="there", kind=spoken.kind, address=server.address, engine="engine-1"
        )
        desk = ConfiguredSearching(said=lambda: Browsing(searchers=(said,)), keys=keys)
        there = desk.searchers()[0]
        assert there.is_available, there.reason
        return desk.search(there, search, listen or (lambda _: None))

    return asks


def test_every_format_of_the_product_is_tried_here() -> None:
    """A format that is added is shown as its documents have it."""
    assert {one.kind for one in SPOKEN} == set(FORMATS)


@each
def test_a_search_goes_out_and_its_results_come(spoken: Spoken, ask: Any) -> None:
    """As the provider's documents have both; the key goes in its head alone, and what is no page is left out."""
    with RawServer(said_by(spoken.answer)) as server:
        results = ask(spoken, server)
    line, heads, body = server.asked[0]
    assert (line, body) == (spoken.line, spoken.body)
    assert heads[spoken.key[0]] == spoken.key[1]
    assert SECRET not in json.dumps(body) + line
    assert results == (spoken.first,)


@each
def test_nothing_found_is_no_fault(spoken: Spoken, ask: Any) -> None:
    """The list is empty, or not there."""
    with RawServer(said_by(spoken.nothing)) as server:
        assert ask(spoken, server) == ()


@each
def test_a_refusal_is_told_with_what_the_provider_says(spoken: Spoken, ask: Any) -> None:
    """It is worth another try, or it is not; the key stands in none."""
    for status, body, kind, words in spoken.refusals:
        more = "retry-after: 7\r\n" if kind is ProviderBusy else ""
        with (
            RawServer(said_by(body, status, more)) as server,
            pytest.raises(CounterpointError) as caught,
        ):
            ask(spoken, server)
        assert type(caught.value) is kind
        assert words in caught.value.message
        assert caught.value.facts.get("retry_after") == (7.0 if more else None)
    with (
        RawServer(said_by(f'{{"error": "bad {SECRET}"}}', "401 No")) as server,
        pytest.raises(ProviderRefused) as caught,
    ):
        ask(spoken, server)
    assert "bad ***" in caught.value.message


@each
@pytest.mark.parametrize(
    "told",
    [
        "{",
        "[" * 200_000,
        '{"results": ["\\ud800"]}',
        "[]",
        '"x"',
        '{"results": 1, "data": 1, "total": 1, "items": 1}',
        "<html>",
    ],
)
def test_what_is_not_that_format_is_refused_as_such(spoken: Spoken, told: str, ask: Any) -> None:
    """And not taken for nothing found."""
    with RawServer(said_by(told)) as server, pytest.raises(ProviderFailed) as caught:
        ask(spoken, server)
    assert type(caught.value) is ProviderFailed
    assert "another format" in caught.value.message


def test_an_answer_that_is_cut_off_or_late_or_without_an_end_is_none(
    ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is made of half of it."""
    half = said_by('{"results": [', more="content-length: 999\r\n")
    with RawServer(half) as server, pytest.raises(ProviderBusy):
        ask(TAVILY, server)
    quick = Search(query="a", timeout=0.2)
    with RawServer(threading.Event()) as server, pytest.raises(ProviderTimedOut):
        ask(TAVILY, server, quick)
    monkeypatch.setattr(wire, "LARGEST", 1_000)
    with RawServer(said_by("x" * 5_000)) as server, pytest.raises(ProviderFailed, match="1000"):
        ask(TAVILY, server)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ends_without_a_word_is_not_waited_for() -> None:
    def ask(_put: Any, _over: threading.Event) -> None:
        raise SystemExit

    with pytest.raises(Unexpected):
        wire.wait_for(ask, 60, ProviderTimedOut, lambda _: None)
    # Its end is heard here, not in the test after this one.
    for one in threading.enumerate():
        if one.name == "outside":
            one.join(30)


def test_a_redirect_takes_no_key_along(ask: Any) -> None:
    """It is followed nowhere."""
    moved = said_by("", "302 Found", "location: http://127.0.0.1:9/\r\n")
    with RawServer(moved) as server, pytest.raises(ProviderRefused, match="no key is sent after"):
        ask(GOOGLE, server)


def test_who_waits_may_go(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """While nothing comes, and between two parts."""
    monkeypatch.setattr(wire, "TICK", 0.01)

    def gone(_: str) -> None:
        raise Unavailable("gone")

    with RawServer(threading.Event()) as server, pytest.raises(Unavailable, match="gone"):
        ask(TAVILY, server, listen=gone)


def test_who_can_be_asked_is_known_before(tmp_path: Any) -> None:
    """Without a key, an engine or an address somebody is not asked; Semantic Scholar answers anybody."""
    environ = {
        "XDG_CONFIG_HOME": str(tmp_path),
        "TAVILY_API_KEY": "k",
        "GOOGLE_SEARCH_API_KEY": "k",
    }
    said = (
        SaidSearcher(name="nowhere"),
        SaidSearcher(name="tavily", is_on=False),
        SaidSearcher(name="google-search", engine="e", price=7),
    )
    desk = open_searching(lambda: Browsing(searchers=said), environ)
    there = {one.name: one for one in desk.searchers()}
    assert [*there] == ["nowhere", "tavily", "google-search", "perplexity", "semantic-scholar"]
    assert "neither an address" in there["nowhere"].reason
    assert "turns it off" in there["tavily"].reason
    assert (there["google-search"].reason, there["google-search"].price) == ("", 7)
    assert (there["perplexity"].reason, there["perplexity"].is_set) == ("it has no key", False)
    assert (there["semantic-scholar"].reason, there["semantic-scholar"].price) == ("", 0)
    usual = {one.name: one for one in open_searching(Browsing, environ).searchers()}
    assert (usual["tavily"].reason, usual["tavily"].price) == ("", 8_000)
    assert "GOOGLE_CSE_ID" in usual["google-search"].reason
    found = open_searching(Browsing, environ | {"GOOGLE_CSE_ID": "e"}).searchers()
    assert next(one for one in found if one.kind == "google").engine == "e"


def test_a_key_goes_to_the_address_that_it_was_given_for_and_nowhere_else(keys: Keys) -> None:
    """Whoever names another address for a provider gets no key sent there."""
    keys.put("tavily", SECRET, "https://api.tavily.com")
    said = Browsing(searchers=(SaidSearcher(name="tavily", address="http://127.0.0.1:9"),))
    desk = ConfiguredSearching(said=lambda: said, keys=keys)
    assert "is not sent to" in desk.searchers()[0].reason
    with pytest.raises(ProviderAway):
        desk.search(desk.searchers()[0], SEARCH, print)


def test_a_pause_is_heard_second_by_second(keys: Keys) -> None:
    """So that whoever waits may go."""
    slept, told = list[float](), list[str]()
    desk = ConfiguredSearching(said=Browsing, keys=keys, sleep=slept.append)
    desk.pause(2.5, told.append)
    assert (slept, told) == ([1.0, 1.0, 0.5], ["", "", ""])
