"""A batch of texts whose server is killed in the middle: what was paid for is not asked again."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import let_run
from counterpoint.app import open_app
from counterpoint.evidence.running.configuration import read_checking
from counterpoint.protocol.rendezvous import find_rendezvous
from fakes.scripted_models import ModelServer

pytestmark = [pytest.mark.e2e, pytest.mark.faults, pytest.mark.timeout(120)]

TITLES = ("Anchors", "Bollards", "Cleats", "Davits")
PATIENCE = 30.0


class Writer:
    """Says a text about what it is asked for; one of its answers is held back until it is let go."""

    def __init__(self, held: int) -> None:
        """Hold back the answer of such a number."""
        self.asked: list[str] = []
        self.answered: Counter[str] = Counter()
        self.is_held, self.let_go = threading.Event(), threading.Event()
        self._held = held

    def __call__(self, request: dict[str, Any]) -> str:
        """Answer a text."""
        said = request["messages"][-1]["content"]
        title = next(one for one in TITLES if one in said)
        self.asked.append(title)
        if len(self.asked) == self._held:
            self.is_held.set()
            self.let_go.wait(PATIENCE)
            return "nobody hears this"
        self.answered[title] += 1
        return f"A text about {title.lower()}."


def trusting(folder: Path) -> None:
    """Have a person trust what the configuration of a folder says of models."""
    app = open_app(folder, os.environ)
    app.itself().projects.trust(read_checking(folder), os.environ["PATH"])
    app.close()


@pytest.mark.parametrize("key", [{}, {"idempotency_key": "k"}])
def test_a_batch_goes_on_after_its_server_was_killed(
    folder: Path, connect: Callable[..., Any], key: dict[str, str]
) -> None:
    """Each text is paid for once, with an idempotency key and without one; the answer that nobody heard is asked again."""
    let_run(folder)
    writer = Writer(held=3)
    with ModelServer(writer) as models:
        models.configure(folder)
        trusting(folder)
        client = connect(folder, "--surface", "agentic")
        briefs = [
            client.call(
                "content_brief_create", title=one, content_type="blog_post", batch_id="docs"
            )["brief"]["id"]
            for one in TITLES
        ]
        asked = {"batch_id": "docs", "mode": "draft", "concurrency": 1, **key}
        number = client.send("tools/call", {"name": "content_batch_generate", "arguments": asked})
        assert writer.is_held.wait(PATIENCE)
        status = find_rendezvous(folder / ".counterpoint" / "ledger.db").ask("status")
        os.kill((status or {})["pid"], signal.SIGKILL)
        heard = client.read()
        assert (heard["id"], heard["error"]["data"]["safe_to_retry"]) == (number, bool(key))
        writer.let_go.set()
        told = client.call("content_status", batch_id="docs")
        assert [one["status"] for one in told["articles"]] == [
            *("review", "review", "generating", "pending"),
        ]
        done = client.call("content_batch_generate", **asked)
        assert [(one["id"], one["status"]) for one in done["articles"]] == [
            (one, "generated") for one in briefs[2:]
        ]
        assert writer.answered == Counter(TITLES)
        assert writer.asked == [*TITLES[:3], *TITLES[2:]]
        for title, brief in zip(TITLES, briefs, strict=True):
            shown = client.call("content_brief_get", id=brief)["brief"]
            assert shown["content"] == f"A text about {title.lower()}."
        usage = client.call("content_usage_stats", period="year")
        assert (usage["total_requests"], usage["by_purpose"]["draft"]["count"]) == (4, 4)
        again = client.call("content_batch_generate", **asked)
        assert again == done if key else again["articles"] == []
    assert len(writer.asked) == 5
