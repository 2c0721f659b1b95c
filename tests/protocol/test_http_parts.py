"""The small parts of the HTTP door: names, headers, buckets of calls, the metrics' text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from counterpoint.protocol.http import guards
from counterpoint.protocol.http.grants import Grant, Limits
from counterpoint.protocol.http.guards import LOOPBACK, Hosts, Refused
from counterpoint.protocol.http.metrics import Metrics

HOSTS = Hosts(
    own=LOOPBACK, ports=(8765, 80), allowed=("plan.example.org", "other.example.org:8443", "::2")
)
OLDER = ("2025-06-18", "2025-11-25")


def headers(*pairs):
    """Answer headers as ASGI carries them."""
    return Headers(raw=[(name.lower().encode(), text.encode()) for name, text in pairs])


@pytest.mark.parametrize(
    ("host", "schemes"),
    [
        ("127.0.0.1:8765", "http"), ("localhost", "http"), ("LocalHost:8765", "http"),
        ("[::1]:8765", "http"), ("[::1]", "http"), ("plan.example.org", "http https"),
        ("plan.example.org:8765", "http"), ("other.example.org:8443", "http https"),
        ("[::2]", "https http"),
    ],
)  # fmt: skip
def test_a_request_by_a_name_of_ours_is_heard(host, schemes):
    """With the port that is listened on; a name of a proxy alone, and over TLS too."""
    HOSTS.check(headers(("Host", host)))
    for scheme in schemes.split():
        HOSTS.check(headers(("Host", host), ("Origin", f"{scheme}://{host}")))
    if "https" not in schemes:
        with pytest.raises(Refused, match="forbidden_origin"):
            HOSTS.check(headers(("Host", host), ("Origin", f"https://{host}")))


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "127.0.0.1:x",
     "evil.example#127.0.0.1", "127.0.0.1/", "[::1", "::1", "other.example.org", "192.0.2.1",
     "x127.0.0.1", "127.0.0.1:80:80", "localhost.", "evil.example:127.0.0.1", "localhost:3000",
     "127.0.0.1:87650", "plan.example.org:9", "other.example.org:8765"],
)  # fmt: skip
def test_a_request_by_another_name_is_refused(host):
    """A page that made its own name lead here is kept out, as host and as origin."""
    with pytest.raises(Refused) as caught:
        HOSTS.check(headers(("Host", host)))
    assert (caught.value.response.status_code, caught.value.outcome) == (403, "forbidden_host")
    with pytest.raises(Refused) as caught:
        HOSTS.check(headers(("Host", "localhost"), ("Origin", f"http://{host}")))
    assert (caught.value.response.status_code, caught.value.outcome) == (403, "forbidden_origin")


@pytest.mark.parametrize(
    "origin", ["null", "file://", "http://localhost/x", "localhost", "ftp://localhost"]
)
def test_an_origin_that_is_no_page_of_ours_is_refused(origin):
    with pytest.raises(Refused, match="forbidden_origin"):
        HOSTS.check(headers(("Host", "localhost"), ("Origin", origin)))


def test_two_hosts_are_one_too_many():
    """And none is one too few."""
    for pairs in ((), (("Host", "localhost"), ("Host", "localhost"))):
        with pytest.raises(Refused, match="forbidden_host"):
            HOSTS.check(headers(*pairs))


@pytest.mark.parametrize(
    ("line", "token"),
    [("Bearer a.b", "a.b"), ("bearer  x ", "x"), ("Basic eDp5", ""), ("Bearer", ""), ("x", "")],
)
def test_a_token_comes_as_a_bearer_or_not_at_all(line, token):
    """The scheme's case does not matter."""
    assert guards.bearer(headers(("Authorization", line))) == token


@pytest.mark.parametrize("name", ["Authorization", "Mcp-Method", "Counterpoint-Session"])
def test_a_header_that_stands_twice_is_refused(name):
    """Two readers could each believe another one."""
    guards.check_once(headers((name, "a")))
    with pytest.raises(Refused, match="malformed"):
        guards.check_once(headers((name, "a"), (name, "a")))


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"1", b'"x"', b"\xff", b"[" * 5000, b"NaN"])
def test_a_body_that_is_no_json_object_is_refused(body):
    """Batches too: no version that is spoken here has them."""
    with pytest.raises(Refused) as caught:
        guards.read_message(body)
    assert caught.value.response.status_code == 400


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((("Mcp-Method", "tools/list"),), {"method": "tools/call"}),
        ((("Mcp-Name", "x"),), {"method": "tools/call", "params": {"name": "y"}}),
        ((("Mcp-Name", "x"),), {"method": "resources/read", "params": {"name": "x", "uri": "y"}}),
        ((("Mcp-Name", "x"),), {"method": "tools/call", "params": []}),
        ((), {"method": "x", "params": {"_meta": {guards._VERSION: "2026-07-28"}}}),
        (
            (("Mcp-Protocol-Version", OLDER[0]),),
            {"method": "x", "params": {"_meta": {guards._VERSION: "2026-07-28"}}},
        ),
    ],
)
def test_headers_and_body_must_agree(more, message):
    """In every era."""
    with pytest.raises(Refused, match="malformed") as caught:
        guards.check_agreement(headers(*more), message, OLDER)
    assert caught.value.response.status_code == 400
    assert b"-32020" in caught.value.response.body


def test_headers_that_agree_are_let_through():
    """And those of the newest era are left to the library."""
    guards.check_agreement(headers(("Mcp-Method", "a"), ("Mcp-Name", "b")), {
        "method": "a", "params": {"name": "b", "_meta": {}}}, OLDER)  # fmt: skip
    guards.check_agreement(headers(("Mcp-Name", "=?base64?eA==?=")), {"method": "a"}, OLDER)
    guards.check_agreement(headers(("Mcp-Protocol-Version", "2026-07-28"), ("Mcp-Method", "z")),
                           {"method": "a"}, OLDER)  # fmt: skip


def bucket(rate):
    """Answer a grant of so many calls a minute."""
    return Grant(id="tok_1", name="ci", session="ses_1", calls_a_minute=rate)


def test_a_bucket_empties_and_fills_again():
    """As many calls at once as a minute has; then one each time its share has passed."""
    now = [0.0]
    limits = Limits(lambda: now[0])
    assert [limits.take(bucket(3)) for _ in range(3)] == [0, 0, 0]
    assert limits.take(bucket(3)) == 20
    now[0] = 19.0
    assert limits.take(bucket(3)) == 1
    now[0] = 20.0
    assert limits.take(bucket(3)) == 0
    assert limits.take(bucket(3)) == 20
    assert limits.take(bucket(0)) == 0


@given(st.integers(1, 100), st.lists(st.floats(0, 5), max_size=200))
def test_no_minute_has_more_calls_than_twice_the_rate(rate, steps):
    """A full bucket and one minute's filling: never more, whatever the pace."""
    now, taken = 0.0, []
    limits = Limits(lambda: now)
    for step in steps:
        now += step
        if not limits.take(bucket(rate)):
            taken.append(now)
    for start in taken:
        assert sum(start <= moment < start + 60 for moment in taken) <= 2 * rate


def test_waiting_as_long_as_told_is_enough():
    """Whoever waits for `Retry-After` gets a call."""
    now = [0.0]
    limits = Limits(lambda: now[0])
    for rate in (1, 7, 59, 61, 1000):
        one = Grant(id=f"tok_{rate}", name="ci", session="ses_1", calls_a_minute=rate)
        while not (wait := limits.take(one)):
            pass
        now[0] += wait
        assert limits.take(one) == 0


def test_metrics_are_written_as_openmetrics():
    """Counters, a histogram that rises, gauges, and the end."""
    metrics = Metrics()
    metrics.count(method="tools/call", tool="brief", outcome="ok", seconds=0.002)
    metrics.count(method="tools/call", tool="brief", outcome="ok", seconds=0.0025)
    metrics.count(method="GET", tool="", outcome='a"b\\c\n', seconds=99)
    measured = {
        "counterpoint_ledger_entries": ("Entries.", 7),
        "counterpoint_circuit_refusals_total": ("Refusals.", 3),
    }
    lines = metrics.render(measured).split("\n")
    for line in (
        "# TYPE counterpoint_requests counter",
        'counterpoint_requests_total{method="tools/call",tool="brief",outcome="ok"} 2',
        r'counterpoint_requests_total{method="GET",tool="",outcome="a\"b\\c\n"} 1',
        'counterpoint_request_duration_seconds_bucket{le="0.001"} 0',
        'counterpoint_request_duration_seconds_bucket{le="0.0025"} 2',
        'counterpoint_request_duration_seconds_bucket{le="10.0"} 2',
        'counterpoint_request_duration_seconds_bucket{le="+Inf"} 3',
        "counterpoint_request_duration_seconds_count 3",
        "# UNIT counterpoint_request_duration_seconds seconds",
        "# TYPE counterpoint_ledger_entries gauge",
        "counterpoint_ledger_entries 7",
        "# TYPE counterpoint_circuit_refusals counter",
        "# HELP counterpoint_circuit_refusals Refusals.",
        "counterpoint_circuit_refusals_total 3",
    ):
        assert line in lines
    assert lines[-2:] == ["# EOF", ""]
