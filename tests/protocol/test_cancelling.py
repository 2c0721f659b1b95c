"""Calls that nobody waits for any more."""

from __future__ import annotations

from typing import Any

from counterpoint.protocol.workers import SIZE

ENDLESS = 10**12


def test_a_long_tool_learns_that_its_caller_has_cancelled(raw: Any) -> None:
    """Every worker is busy with an endless tool; once they are cancelled, another call is answered."""
    numbers = range(1, SIZE + 1)
    for number in numbers:
        raw.send("tools/call", number, name="steps", arguments={"count": ENDLESS})
    for number in numbers:
        raw.send("notifications/cancelled", requestId=number)
    raw.send("tools/call", SIZE + 1, name="large", arguments={"size": 3})
    answer = raw.hear()
    while answer.get("id") != SIZE + 1:
        answer = raw.hear()
    assert answer["result"]["structuredContent"] == {"text": "xxx"}
