"""Gates of beads hold what waits for them, and go back as gates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.importing.test_public_shapes import bead

AWAITED = {"await_type": "gh:run", "await_id": "4711", "timeout": 3_600_000_000_000, "waiters": ["ann", "mail/bo"]}  # fmt: skip
GATES = [
    bead("g-1", issue_type="gate", **AWAITED),
    bead("g-2", ("g-1", "blocks"), title="Ship"),
    bead("g-3", issue_type="gate", status="closed", await_type="human", close_reason="Yes"),
    bead("g-4", ("g-3", "blocks"), title="Tell"),
]


def test_a_gate_is_parked_told_and_comes_back_with_what_it_waits_for(
    call: Any, ledger: Path
) -> None:
    """Nobody is offered it or what is behind it; one that is closed holds nothing."""
    (ledger / "issues.jsonl").write_text("\n".join(map(json.dumps, GATES)))
    (source,) = call("import", "beads", "issues.jsonl", "--json").json["sources"]
    (told,) = [remark for remark in source["remarks"] if "a gate that waits for" in remark]
    assert told.startswith("issues.jsonl, line 1: g-1: a gate that waits for gh:run 4711;")
    items = {item["title"]: item for item in call("list", "--all", "--json").json["items"]}
    assert items["Do g-1"]["status"] == "backlog"
    ready = call("next", "--json").out
    assert "Tell" in ready
    assert "Ship" not in ready
    call("export", source["root"], "--format", "beads", "--output", "out.jsonl")
    written = [json.loads(line) for line in (ledger / "out.jsonl").read_text().splitlines()]
    gates = [
        {name: row.get(name) for name in ("status", "issue_type", "labels", *AWAITED)}
        for row in written
        if row["issue_type"] == "gate"
    ]
    usual = {"issue_type": "gate", "labels": None}
    assert {"status": "open", **usual, **AWAITED} in gates
    closed = {**dict.fromkeys(AWAITED), "await_type": "human"}
    assert {"status": "closed", **usual, **closed} in gates
    (again,) = call("import", "beads", "issues.jsonl", "--json").json["sources"]
    assert (again["created"], again["changed"], again["records"]) == (0, [], 0)


def test_gates_of_ours_are_told_by_what_cannot_hold_them(call: Any, ledger: Path) -> None:
    """Each kind with the items that have it; an own export holds them all."""
    words = ("--check", "true", "--review", "--approval", "--artifact")
    item = call("add", "Judged", *words, "--json").json["item"]["id"]
    for form, count in (("beads", 4), ("github", 4), ("json", 0), ("markdown", 0)):
        out = call("export", item, "--format", form, "--output", f"out.{form}", "--json").json
        told = [line for line in out["left_out"] if item in line and "cannot hold" in line]
        gates = [line for line in told if "checks" in line or ": yes" in line]
        assert len(gates) == count, (form, told)
