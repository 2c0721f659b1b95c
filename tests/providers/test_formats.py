"""Each format over a server that sends what its provider's documents show: answers, ends, faults, and what is broken."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from counterpoint.core.model.models import (
    Answer,
    Message,
    Modelling,
    Provider,
    Question,
    SaidProvider,
    make_question,
)
from counterpoint.kernel.errors import (
    CounterpointError,
    ProviderBusy,
    ProviderFailed,
    ProviderRefused,
    ProviderTimedOut,
    QuestionTooLong,
    Unavailable,
)
from counterpoint.providers import wire
from counterpoint.providers.chat.opening import FORMATS, ConfiguredProviders
from counterpoint.providers.format import count, rows, table, words
from counterpoint.providers.keys import Keys
from fakes.raw_answers import RawServer, answered, head
from fakes.spoken_formats import CHAT, GEMINI, MESSAGES, RESPONSES, SECRET, Spoken

QUESTION = Question(
    messages=(
        Message(role="user", text="One?"),
        Message(role="assistant", text="Two."),
        Message(role="user", text="Three?"),
    ),
    system="Count.",
    model="m-1",
    max_tokens=64,
    temperature=0.5,
    schema={"type": "object"},
)


SPOKEN = (MESSAGES, CHAT, RESPONSES, GEMINI)
each = pytest.mark.parametrize("spoken", SPOKEN, ids=lambda one: one.kind)


@pytest.fixture
def ask(tmp_path: Any) -> Callable[..., Answer]:
    """Answer what asks a provider at a server in a format, with a key for it."""
    keys = Keys(environ={"XDG_CONFIG_HOME": str(tmp_path)})

    def asks(
        spoken: Spoken, server: RawServer, question: Question = QUESTION, listen: Any = None
    ) -> Answer:
        keys.put("there", SECRET, server.address)
        said = SaidProvider(name="there", kind=spoken.kind, address=server.address, model="m-1")
        desk = ConfiguredProviders(said=lambda: Modelling(providers=(said,)), keys=keys)
        there: Provider = desk.providers()[0]
        return desk.ask(there, question, listen or (lambda _: None))

    return asks


def test_every_format_of_the_product_is_tried_here() -> None:
    """A format that is added is shown as its documents have it."""
    assert {one.kind for one in SPOKEN} == set(FORMATS)


@each
def test_a_question_goes_out_and_its_answer_comes_in_pieces(spoken: Spoken, ask: Any) -> None:
    """As the provider's documents have both; the key goes in its head alone."""
    pieces: list[str] = []
    with RawServer(answered(*spoken.events, named=spoken.named)) as server:
        answer = ask(spoken, server, listen=pieces.append)
    line, heads, body = server.asked[0]
    assert (line, body) == (f"POST {spoken.path} HTTP/1.1", spoken.body)
    assert heads[spoken.key[0]] == spoken.key[1]
    assert SECRET not in json.dumps(body) + line
    assert [piece for piece in pieces if piece] == ["for", "ty"]
    assert (answer.text, answer.stop, answer.tokens) == ("forty", "end", spoken.tokens)
    assert answer.model.startswith("m-1-2026")
    assert answer.cost_micros == -1


@each
def test_what_is_not_said_is_not_sent(spoken: Spoken, ask: Any) -> None:
    """No system words, no temperature, no schema."""
    with RawServer(answered(*spoken.events, named=spoken.named)) as server:
        ask(spoken, server, make_question("Three?", model="m-1"))
    body = json.dumps(server.asked[0][2])
    assert not any(
        word in body for word in ("Count", "emperature", "chema", "ystem", "instructions")
    )


@each
def test_why_an_answer_ended_is_told_in_our_words(spoken: Spoken, ask: Any) -> None:
    """Too long, declined, or something else; what had come until then is there."""
    for stop, events in spoken.stops.items():
        with RawServer(answered(*events, named=spoken.named)) as server:
            answer = ask(spoken, server)
        assert (answer.stop, bool(answer.text)) == (stop, True)


@each
def test_a_fault_in_the_middle_of_an_answer_is_told(spoken: Spoken, ask: Any) -> None:
    """It is worth another try, or it is not."""
    for kind, event in spoken.faults:
        with (
            RawServer(
                answered(*spoken.events[:4], event, named=spoken.named and "type" in event)
            ) as server,
            pytest.raises(kind) as caught,
        ):
            ask(spoken, server)
        assert type(caught.value) is kind
        assert "broke off" in caught.value.message


@each
def test_an_answer_that_is_cut_off_is_none(spoken: Spoken, ask: Any) -> None:
    """Between two events, in the middle of one, and before the end that was promised."""
    whole = answered(*spoken.events, named=spoken.named)
    first = answered(spoken.events[0], named=spoken.named)
    promised = whole.replace(b"connection: close", b"content-length: 99999")
    for said in (first, promised[: len(promised) - 40], head(), b"", b"HTTP/1.1 200"):
        with RawServer(said) as server, pytest.raises(ProviderBusy):
            ask(spoken, server)


@each
@pytest.mark.parametrize(
    "said", ["{", "[]", "1", '"x"', '{"choices": 1, "candidates": 1, "type": 1}']
)
def test_what_is_not_that_format_is_refused_as_such(spoken: Spoken, said: str, ask: Any) -> None:
    """And not taken for an empty answer."""
    with (
        RawServer(head() + f"data: {said}\n\n".encode()) as server,
        pytest.raises(ProviderFailed) as caught,
    ):
        ask(spoken, server)
    assert type(caught.value) is ProviderFailed
    assert "another format" in caught.value.message


def test_a_question_that_is_declined_without_a_word_is_a_refusal(ask: Any) -> None:
    """There is no answer to give."""
    blocked = {
        "promptFeedback": {"blockReason": "SAFETY"},
        "usageMetadata": {"promptTokenCount": 4},
    }
    with RawServer(answered(blocked)) as server, pytest.raises(ProviderRefused, match="declined"):
        ask(GEMINI, server)


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (
            "400 Bad Request",
            '{"error": {"message": "no", "code": "context_length_exceeded"}}',
            QuestionTooLong,
            "no",
        ),
        ("400 Bad Request", '[{"error": {"message": "as a list"}}]', ProviderRefused, "as a list"),
        ("404 Not Found", '{"error": "as a text"}', ProviderRefused, "as a text"),
        ("403 Forbidden", "<html>no</html>", ProviderRefused, "<html>no</html>"),
        ("401 Unauthorized", "", ProviderRefused, "Unauthorized"),
        ("413 Too Large", "{}", QuestionTooLong, "Too Large"),
        ("302 Found", "", ProviderRefused, "no key is sent after it"),
        (
            "529 Overloaded",
            '{"type": "error", "error": {"message": "Overloaded"}}',
            ProviderBusy,
            "Overloaded",
        ),
        ("500 Oops", "x" * 200_000, ProviderBusy, "xxx"),
    ],
)
def test_a_status_is_told_with_what_the_provider_says(
    status: str, body: str, kind: type[CounterpointError], words: str, ask: Any
) -> None:
    """At a bounded length, on one line."""
    answer = (
        f"HTTP/1.1 {status}\r\nlocation: http://127.0.0.1:9/\r\nconnection: close\r\n\r\n{body}"
    )
    with RawServer(answer.encode()) as server, pytest.raises(CounterpointError) as caught:
        ask(CHAT, server)
    assert type(caught.value) is kind
    assert words in caught.value.message
    assert len(caught.value.message) < 400


@pytest.mark.parametrize(
    ("said", "least", "most"),
    [
        ("7", 7, 7),
        ("99999", 3600, 3600),
        ("-1", 0, 0),
        ("Mon, 01 Jan 2024 00:00:00 GMT", 0, 0),
        ("soon", None, None),
    ],
)
def test_how_long_to_wait_is_read_in_seconds_or_as_a_date(
    said: str, least: float | None, most: float | None, ask: Any
) -> None:
    """What cannot be read says nothing."""
    answer = f"HTTP/1.1 429 Slow\r\nretry-after: {said}\r\nconnection: close\r\n\r\n"
    with RawServer(answer.encode()) as server, pytest.raises(ProviderBusy) as caught:
        ask(CHAT, server)
    found = caught.value.facts.get("retry_after")
    assert found is None if least is None else least <= found <= most


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            b"<!doctype html>\n\n<h1>Log in</h1>\n",
            "in place of events, .*: <!doctype html> <h1>Log in",
        ),
        (b'{"error": {"message": "no such model"}}', "its address may be wrong: no such model"),
        (f"bad key {SECRET}".encode(), "wrong: bad key \\*\\*\\*"),
        (b"x" * 900_000, "wrong: x{150,300}$"),
    ],
)
def test_a_page_or_an_error_that_comes_as_a_success_is_told(
    body: bytes, why: str, ask: Any
) -> None:
    """At once, by what it says: it did not break off, and would come again."""
    with RawServer(head() + body) as server, pytest.raises(ProviderFailed, match=why) as caught:
        ask(CHAT, server)
    assert type(caught.value) is ProviderFailed
    assert SECRET not in str(caught.value)


def test_the_key_stands_in_no_fault(ask: Any) -> None:
    """Neither of a status nor in the middle of an answer, whatever the provider repeats."""
    echo = {"error": {"message": f"bad key {SECRET}"}}
    for said in (answered(echo), answered(echo, status="401 No").replace(b"data: ", b"")):
        with RawServer(said) as server, pytest.raises(ProviderFailed) as caught:
            ask(CHAT, server)
        assert "bad key ***" in caught.value.message
        assert SECRET not in str(caught.value)


def test_who_is_slow_is_not_waited_for_beyond_the_time_of_the_question(ask: Any) -> None:
    """From the first byte on, and between two of them."""
    for said in ((threading.Event(),), (head(), threading.Event())):
        question = make_question("?", model="m-1", timeout=0.2)
        with RawServer(*said) as server, pytest.raises(ProviderTimedOut, match="within"):
            ask(CHAT, server, question)


def test_whoever_asked_is_heard_while_nothing_comes_and_may_go(
    ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each second, so that one who has gone costs no more."""
    monkeypatch.setattr(wire, "TICK", 0.01)
    heard: list[str] = []

    def listen(piece: str) -> None:
        heard.append(piece)
        if len(heard) == 3:
            raise Unavailable("gone")

    with RawServer(head(), threading.Event()) as server, pytest.raises(Unavailable, match="gone"):
        ask(CHAT, server, listen=listen)
    assert heard == ["", "", ""]


@pytest.mark.parametrize("line", [b"data: {}\n\n", b"data: " + b"x" * 50 + b"\n", b"x"])
def test_an_answer_without_an_end_is_given_up(
    line: bytes, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many events, or in one line."""
    monkeypatch.setattr(wire, "LARGEST", 1_000)
    with RawServer(head() + line * 2_000) as server, pytest.raises(ProviderFailed) as caught:
        ask(CHAT, server)
    assert "more than 1000 bytes" in caught.value.message


@pytest.mark.parametrize("line", [b"\n", b": still there\n", b"data: {}\n\n"])
def test_lines_are_counted_and_not_their_bytes_alone(line: bytes, ask: Any) -> None:
    """Packed they are next to nothing, and to go through eight million of them takes seconds."""
    packed = gzip.compress(line * 600_000)
    said = head().replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n") + packed
    with RawServer(said) as server, pytest.raises(ProviderFailed) as caught:
        ask(CHAT, server)
    assert f"more than {wire.LINES} lines" in caught.value.message


def test_an_event_may_come_in_parts_of_one_byte(ask: Any) -> None:
    """It is put together once, at its end."""
    body = answered(*SPOKEN[0].events, named=SPOKEN[0].named).removeprefix(head())
    packets = b"".join(b"1\r\n" + body[at : at + 1] + b"\r\n" for at in range(len(body)))
    chunked = head().replace(b"\r\n\r\n", b"\r\ntransfer-encoding: chunked\r\n\r\n")
    with RawServer(chunked + packets + b"0\r\n\r\n") as server:
        assert ask(SPOKEN[0], server).text == "forty"


@pytest.mark.parametrize("said", [head("400 Bad"), head(), b"HTTP/1.1 200 OK\r\n"])
def test_nothing_stays_open_once_nobody_waits(
    said: bytes, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sends a byte now and then would keep a thread for as long as he likes."""
    monkeypatch.setattr(wire, "TICK", 0.01)
    goes_on = threading.Event()

    def gone(_: str) -> None:
        raise Unavailable("gone")

    with RawServer(said, goes_on, b"x", threading.Event()) as server:
        with pytest.raises(Unavailable):
            ask(CHAT, server, listen=gone)
        goes_on.set()
        for one in threading.enumerate():
            if one.name == "outside":
                one.join(20)
                assert not one.is_alive()


def test_what_is_read_of_an_event_is_of_the_sort_that_it_should_be() -> None:
    """Null is nothing; anything else is a fault of whoever sent it."""
    assert (table(None), rows(None), words(None), count(None), count(-3)) == ({}, [], "", 0, 0)
    for read, wrong in ((table, []), (rows, {}), (words, 1), (count, "1")):
        with pytest.raises(TypeError):
            read(wrong)
