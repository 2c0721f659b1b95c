"""The ledger that tests of the command line stand in: a plan, one task held, one blocked."""

from __future__ import annotations

import os

from builders import attested_as
from counterpoint.app import App, Identity
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Check, Note

PLAN = """# Harbour
The whole of it.
## Build
- [ ] Lay the keel {#keel}
  - areas: src
  - verify: true
- [ ] Raise the mast
  - after: keel
- [ ] Paint the hull
  - areas: paint
## Launch
- review: yes
- [ ] Open the lock
"""


def agent_of(app: App, name: str = "ada") -> Core:
    """Answer the core for an agent in a session of its own."""
    session = app.agent().session
    identity = Identity(kind="agent", name=name, session=session, attested=attested_as(name))
    return app.core(identity)


def fill(app: App) -> None:
    """Plan the work of the harbour in an empty ledger, take one task up, and close the app."""
    app.is_open = True
    core = agent_of(app)
    made = core.plans.create(core.plans.read(PLAN))
    # All tests of a run copy it: one that takes an hour finds the task held too, and is told minutes of two digits.
    keel = core.claims.start(made.ready[0], minutes=100)
    core.gates.verify(Check(item=keel.item.id), keel.claim.token)
    core.journal.append(
        Note(kind="decision", body="Oak\nbecause \x1b[31mit lasts", item=keel.item.id)
    )
    core.journal.append(Note(kind="blocker", body="No paint", item=made.ready[1]))
    app.close()


def where_it_is() -> dict[str, str]:
    """Answer the variables that say which database everybody has; none for the file in the folder."""
    return {name: text for name, text in os.environ.items() if name == "COUNTERPOINT_DB"}
