"""A plan that ada has made, by the titles of its items."""

from __future__ import annotations

import pytest

from builders import Agent
from fakes.plans import Plan

PLAN = """# Launch
All that must be there on the first day.
## Build {#build}
- [ ] Parser {#parser}
  - areas: src/parser
  - accept: it reads numbers
  - accept: it names the line of a fault
  - verify: git status --short
  - labels: core
  - priority: 1
  Reads the text of a plan.
- [ ] Printer
  - after: parser
- [ ] Notes
## Ship
- review: yes
- artifact: yes
- [ ] Package
"""


@pytest.fixture
def plan(ada: Agent) -> dict[str, str]:
    """Answer the ids of a fresh plan by title."""
    made = ada.does("plan", markdown=PLAN)
    return {item["title"]: item["id"] for item in made["items"]}


@pytest.fixture
def begun(ada: Agent, plan: Plan) -> tuple[str, int]:
    """Answer the id and the token of the parser's task, which ada has started."""
    started = ada.does("start", id=plan["Parser"])
    return plan["Parser"], started["claim"]["token"]
