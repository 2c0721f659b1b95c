"""What the tests of the board share: a project with work of every sort, and browsers of its site."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import apsw
import pytest
from starlette.testclient import TestClient

from counterpoint.board.pages import ToolScopes
from counterpoint.board.site import Site
from counterpoint.board.sittings import Sittings
from counterpoint.core.coordinator import Core
from fakes.seats import ada, bob, person, studio
from fakes.studio import Studio

__all__ = ["ada", "bob", "person", "studio"]

ADDRESS = "http://127.0.0.1:8765"
PLAN = """# Harbour
The whole of it.
## Build
- [ ] Lay the keel {#keel}
  - areas: src
  - priority: 0
- [ ] Raise the mast
  - after: keel
## Launch
- review: yes
- [ ] Open the lock
## Sail
- approval: yes
- [ ] Set the sail
"""


class Browser(TestClient):
    """A browser of the site, which sends with forms what browsers send."""

    def __init__(self, site: Site) -> None:
        """Begin without a sitting; what is wrong inside of the site fails the test."""
        super().__init__(site, base_url=ADDRESS)
        self.site = site

    def log_in(self, code: str, origin: str = "null") -> Any:
        """Post a code as the private file does."""
        return self.post("/login", data={"code": code}, headers={"origin": origin})

    def submit(self, path: str, page: str = "/", *, origin: str = ADDRESS, **fields: str) -> Any:
        """Post a form of a page, with the token that stands in it."""
        token = re.search(r'name="token" value="([^"]+)"', self.get(page).text)
        data = {"token": token[1] if token else "", **fields}
        headers = {"origin": origin, "sec-fetch-site": "same-origin"}
        return self.post(path, data=data, headers=headers)


class Seconds:
    """A clock of seconds that a test moves."""

    def __init__(self) -> None:
        """Begin at nought."""
        self.now = 0.0

    def __call__(self) -> float:
        """Answer the time."""
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    """Give the clock of the sittings."""
    return Seconds()


@pytest.fixture
def site(seconds: Seconds) -> Site:
    """Give the site of a server."""
    tools = ToolScopes(
        {"worker": ("get_issue", "add_finding", "create_pr")}, {"worker": ("get_issue",)}
    )
    return Site(
        cookie="counterpoint-01234567",
        address=ADDRESS,
        sittings=Sittings(seconds=seconds),
        tools=tools,
    )


@pytest.fixture
def code(site: Site) -> Callable[..., str]:
    """Mint codes for callers."""

    def mint(core: Core | Callable[[], Core], changes: Any = None) -> str:
        open_core = core if callable(core) else lambda: core
        read = changes if callable(changes) else lambda _core, _item: changes
        return str(site.admit(open_core, read)["code"])

    return mint


@pytest.fixture
def visit(site: Site, code: Callable[..., str]) -> Iterator[Callable[..., Browser]]:
    """Give browsers in which somebody is logged in."""
    browsers: list[Browser] = []

    def visit_(core: Core, changes: Any = None) -> Browser:
        browsers.append(Browser(site))
        assert browsers[-1].log_in(code(core, changes)).status_code == 200
        return browsers[-1]

    yield visit_
    for browser in browsers:
        browser.close()


@pytest.fixture
def browser(visit: Callable[..., Browser], person: Core) -> Browser:
    """Give the browser of a person."""
    return visit(person)


@pytest.fixture
def planned(studio: Studio, ada: Core) -> list[str]:
    """Give the ids of a plan: its root, three phases and their tasks, the first of which ada holds."""
    made = ada.plans.create(ada.plans.read(PLAN))
    ada.claims.start(made.ready[0])
    return [item.id for item in made.items]


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the list that every statement goes into of connections that are opened from now on."""
    texts: list[str] = []

    def trace(_cursor: apsw.Cursor, text: str, _values: object) -> bool:
        texts.append(text)
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, watch])
    return texts
