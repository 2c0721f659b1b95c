"""What the record of reads costs a call that reads: `show` through a relay and its server, off, on and required, in turn."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from pathlib import Path

from _measure import Row, Series, asked, folder, median, publish, row
from _pipe import Pipe, end_server, relayed

from counterpoint.core.ports.reads import ReadPolicy
from counterpoint.evidence.reads import switch_log

_POLICIES: tuple[ReadPolicy, ...] = ("off", "on", "required")
_WARM = 20


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=500)
    found: Series = {}
    with folder() as place, ExitStack() as stack:
        agents: dict[str, tuple[Pipe, str]] = {}
        for policy in _POLICIES:
            there = place / policy
            there.mkdir()
            database = there / "ledger.db"
            agent = stack.enter_context(Pipe(relayed(database), there))
            made = agent.call("plan", markdown="# Orchard\n- [ ] Plant the walnut\n")
            agents[policy] = agent, _last_id(made)
            switch_log(database.parent, policy, "a1")
            stack.callback(end_server, database)
        for number in range(-_WARM, wanted.rounds):
            for policy, (agent, item) in agents.items():
                begin = time.perf_counter()
                agent.call("show", id=item)
                if number >= 0:
                    found.setdefault(policy, []).append(time.perf_counter() - begin)
        _check(place)
    publish("reads", _rows(found))


def _last_id(answer: bytes) -> str:
    """Return the id of the task that a plan was made with."""
    return re.findall(rb'"id\\?":\s*\\?"([a-z0-9]+-\d+)', answer)[-1].decode()


def _check(place: Path) -> None:
    """See that there is something to measure: a line for each call where reads are recorded, and none elsewhere."""
    counts = {
        policy: sum(
            len(file.read_bytes().splitlines())
            for file in (place / policy / "reads").glob("*.jsonl")
        )
        for policy in _POLICIES
    }
    assert counts["off"] == 0
    assert min(counts["on"], counts["required"]) > _WARM


def _rows(found: Series) -> list[Row]:
    off = {"floor": median(found["off"]), "beside": "the same, off"}
    return [
        row("show, reads not recorded", found["off"]),
        row("show, reads recorded", found["on"], **off),
        row("show, and on the disk before the answer", found["required"], **off),
    ]


if __name__ == "__main__":
    main()
