"""A small world to research: models, searches and pages on this machine, which answer by what they are asked for."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from fakes.paged import PageServer, Sent
from fakes.scripted_models import Line, ModelServer
from fakes.scripted_searches import SearchServer

DEEDS = {
    "You prepare research": "brief",
    "You plan searches": "plan",
    "You read sources": "findings",
    "You write a report": "report",
    "You judge whether": "judgement",
}
PAGE = "<title>Page {0}</title><h1>Page {0}</h1><p>What page {0} says of the matter is told here at some length.</p>"


@dataclass
class DeepWorld:
    """Use it as a context manager. said: another answer by the deed; before: is called with the deed before each answer. found: what searches find instead of `results`. paid: how often each deed was answered."""

    said: dict[str, Callable[[str], Line] | Line] = field(default_factory=dict)
    before: Callable[[str], None] = lambda _: None
    queries: int = 2
    found: Callable[[str], Any] | None = None
    paid: Counter[str] = field(default_factory=Counter)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        """Begin to answer."""
        pages = {f"/{number}": Sent(PAGE.format(number)) for number in range(1, 100)}
        self.pages = self._stack.enter_context(PageServer(pages))
        self.models = self._stack.enter_context(ModelServer(self._answer))
        self.searches = self._stack.enter_context(SearchServer(by=self._find))
        self._lock = threading.Lock()
        return self

    def __exit__(self, *_: object) -> None:
        """Answer no more."""
        self._stack.close()

    def configure(self, folder: Path) -> None:
        """Have a project ask these; a person has to trust that."""
        self.models.configure(folder)
        path = folder / "counterpoint.toml"
        path.write_text(path.read_text() + self.pages.configuration + self.searches.configuration)

    def _answer(self, request: dict[str, Any]) -> Line:
        system, asked = request["messages"][0]["content"], request["messages"][-1]["content"]
        deed = next((name for words, name in DEEDS.items() if system.startswith(words)), "chat")
        self.before(deed)
        line = self.said.get(deed, "")
        line = line(asked) if callable(line) else line or self._usual(deed, asked)
        with self._lock:
            self.paid[deed] += 1
        return line

    def _usual(self, deed: str, asked: str) -> str:
        numbers = [int(one) for one in re.findall(r"^Source (\d+):", asked, re.MULTILINE)]
        match deed:
            case "plan":
                return json.dumps({"queries": [f"query {n}" for n in range(1, self.queries + 1)]})
            case "findings":
                found = [
                    {"statement": f"What {n} says.", "confidence": "high", "sources": [n]}
                    for n in numbers
                ]
                return json.dumps({"findings": found, "gaps": ["more"]})
            case "report":
                return "# Report\n\nIt is so [1]. It is otherwise [2, 77]. See https://invented.example/x."
            case "judgement":
                return json.dumps({"enough": True, "gaps": [], "queries": []})
            case _:
                return f"The {deed} of it."

    def _find(self, query: str) -> Any:
        self.before("search")
        with self._lock:
            self.paid["search"] += 1
        return self.found(query) if self.found else self.results(query)

    def results(self, query: str) -> list[dict[str, Any]]:
        """Answer three results of a query, by its number."""
        first = int((re.findall(r"\d+", query) or ["9"])[-1]) * 10
        return [
            {"url": self.pages.url(f"/{first + n}"), "title": f"Result {n}", "content": "short"}
            for n in range(1, 4)
        ]
