"""A project with work of every sort, its server, and a Chromium that is logged in: for tests, screenshots and measures."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, Playwright

from builders import attested_as, commit, open_repository
from counterpoint.app import App, Identity, open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Check, Judgment, Note, Report

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTHS = (390, 1280, 2200)
SCHEMES = ("light", "dark")
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
PATIENCE = 40.0
PLAN = """# Harbour rebuild
The lock leaks and the mole is too short for what calls since spring. Rebuilt in three phases; the harbour stays open all the while.
- labels: winter
## Survey
- [ ] Sound the basin and draw what lies on its floor {#sound}
  - areas: survey/basin
  - priority: 1
- [ ] Count what calls in a week, by draught and by hour {#count}
  - areas: survey/traffic
- [ ] Find who has to agree, and what each of them asks {#agree}
  - areas: survey/law
## Lock
- after: none
- review: yes
- [ ] Draw the lower gate anew, in oak and in steel, and weigh the two {#gate}
  - areas: lock/gate
  - after: sound
  - priority: 0
  - verify: true
- [ ] Cast the sill {#sill}
  - areas: lock/sill
  - after: gate
- [ ] Hang the gate, and have it open under four metres of water {#hang}
  - areas: lock/gate
  - after: sill
- [ ] Teach the keepers {#teach}
  - areas: docs
## Mole
- after: none
- approval: yes
- [ ] Drive the piles {#piles}
  - areas: mole/piles
- [ ] Lay the stones, largest first {#stones}
  - areas: mole/stones
  - after: piles
- [ ] Set the light {#light}
  - areas: mole/light
  - after: stones
"""
MODULE = '''"""The lower gate: what it weighs in oak and in steel."""


def weight(width: float, height: float, density: float) -> float:
    """Return the weight of a leaf in tonnes; it is a hand thick."""
    return width * height * {thickness} * density / 1_000


def choose(width: float, height: float) -> str:
    """Return which of the two is lighter under water."""
    oak, steel = weight(width, height, 710), weight(width, height, 7_850)
    return "oak" if oak < {factor} * steel else "steel"
'''


def find_chromium(playwright: Playwright) -> str:
    """Return the path of a Chromium; empty without one."""
    paths = [os.environ.get("CHROMIUM", ""), *map(shutil.which, NAMES)]
    own = Path(playwright.chromium.executable_path)
    return next((path for path in paths if path), str(own) if own.exists() else "")


@contextmanager
def open_chromium(playwright: Playwright) -> Iterator[Browser]:
    """Have a browser without a window for the time of a block."""
    browser = playwright.chromium.launch(
        executable_path=find_chromium(playwright), args=[*ARGUMENTS], headless=True
    )
    try:
        yield browser
    finally:
        browser.close()


@contextmanager
def own_account(root: Path) -> Iterator[None]:
    """Let this process and what it starts have a home of their own, without a desktop, for the time of a block."""
    (root / "run").mkdir(mode=0o700, parents=True)
    before = dict(os.environ)
    for name in before:
        if name.startswith("COUNTERPOINT_") or name in {"DISPLAY", "WAYLAND_DISPLAY"}:
            del os.environ[name]
    os.environ |= {"HOME": str(root / "home"), "XDG_RUNTIME_DIR": str(root / "run")}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def core_of(app: App, name: str) -> Core:
    """Return the core of an agent in a session of its own."""
    identity = Identity(
        kind="agent", name=name, session=app.agent().session, client="codex", attested=attested_as(name)
    )  # fmt: skip
    return app.core(identity)


@dataclass(kw_only=True)
class Stage:
    """A repository with a ledger, and whoever works there. ids: the items, by what the plan calls them, and by phase."""

    folder: Path
    app: App
    ids: dict[str, str]

    def run(self, *words: str) -> str:
        """Run a command as whoever runs the tests, and return what it printed."""
        ran = subprocess.run(
            [sys.executable, "-P", "-m", "counterpoint", *words],
            cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran
        return ran.stdout.strip()

    def core(self, name: str) -> Core:
        """Return the core of an agent."""
        return core_of(self.app, name)

    def log_in(self, context: BrowserContext) -> Page:
        """Return a page of a browser that is logged in, as the private file does it."""
        page = context.new_page()
        page.goto(f"file://{self.run('board', '--no-open')}")
        page.wait_for_url("http://127.0.0.1:*/")
        return page

    def close(self) -> None:
        """End the server."""
        self.run("down")
        self.app.close()


def open_stage(root: Path, play: Callable[[Stage], None] = lambda _stage: None) -> Stage:
    """Return a project with a plan in which nothing was begun; play: what is done then."""
    folder = open_repository(root / "harbour")
    commit(folder, "lock/gate.py", MODULE.format(thickness="0.1", factor="0.5"))
    app = open_app(folder, os.environ)
    app.is_open = True
    core = core_of(app, "ada")
    items = core.plans.create(core.plans.read(PLAN)).items
    names = ["root", "survey", "lock", "mole", "sound", "count", "agree", "gate", "sill", "hang"]
    names += ["teach", "piles", "stones", "light"]
    ids = {name: item.id for name, item in zip(names, items, strict=True)}
    stage = Stage(folder=folder, app=app, ids=ids)
    play(stage)
    return stage


def finish(core: Core, item: str, token: int, summary: str, **more: Any) -> None:
    """Have whoever holds an item finish it."""
    core.tasks.finish(item, token, Report(outcome="done", summary=summary, **more))


def work(stage: Stage) -> None:
    """Play a week: something of every sort is there at the end."""
    ids, ada, bob, cleo = stage.ids, stage.core("ada"), stage.core("bob"), stage.core("cleo")
    token = ada.claims.start(ids["sound"]).claim.token
    commit(stage.folder, "survey/basin/floor.csv", "x,y,depth\n" + "".join(f"{n},{n % 7},{n % 5}\n" for n in range(30)))  # fmt: skip
    finish(
        ada,
        ids["sound"],
        token,
        "Sounded on a grid of two metres; nothing lies where the sill comes.",
    )
    token = bob.claims.start(ids["count"]).claim.token
    finish(bob, ids["count"], token, "212 calls, 9 of them deeper than the old sill.", limitations=("No night of fog in that week.",))  # fmt: skip
    token = ada.claims.start(ids["gate"]).claim.token
    ada.gates.verify(Check(item=ids["gate"]), token)
    commit(stage.folder, "lock/gate.py", MODULE.format(thickness="0.12", factor="0.4"))
    commit(stage.folder, "lock/test_gate.py", 'from lock.gate import choose\n\n\ndef test_narrow_leaves_are_of_oak():\n    assert choose(3, 6) == "oak"\n')  # fmt: skip
    ada.journal.append(Note(kind="decision", body="Oak for the lower gate\n\nIt is a third of the weight under water, and the yard can mend it.", item=ids["gate"]))  # fmt: skip
    finish(ada, ids["gate"], token, "Drawn in both; oak is lighter under water.", achievements=("Both leaves weighed",), limitations=("The price of oak is of March.",))  # fmt: skip
    token = bob.claims.start(ids["teach"]).claim.token
    bob.journal.append(Note(kind="finding", body="Two of the keepers read no plan, all of them a model.", item=ids["teach"]))  # fmt: skip
    cleo.claims.start(ids["agree"], minutes=90)
    cleo.journal.append(Note(kind="blocker", body="The water board answers no letter; somebody has to call there.", item=ids["agree"]))  # fmt: skip
    bob.journal.append(
        Note(kind="learning", body="Ice lifts piles that are shorter than four metres.")
    )
    extra = cleo.plans.create(
        cleo.plans.read(
            "# Buoys\n## Chain\n- review: yes\n- [ ] Forge the chain {#chain}\n- [ ] Sink the stone {#stone}\n"
        )
    )
    chain = extra.items[2].id
    stage.ids |= {"chains": extra.items[1].id, "chain": chain, "stone": extra.items[3].id}
    for name in ("chain", "stone"):
        token = cleo.claims.start(stage.ids[name]).claim.token
        commit(stage.folder, f"buoys/{name}.txt", f"{name}\nforged in March\n")
        finish(cleo, stage.ids[name], token, f"The {name} is there.", limitations=("Not weighed.",))
    cleo.reviews.submit(stage.ids["chains"], "", "Chain and stone are there.")


__all__ = ["Judgment", "Stage", "find_chromium", "open_chromium", "open_stage", "work"]
