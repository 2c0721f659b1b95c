"""Every parameter of the native tools is read back by another tool, whole, on a server started anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from builders import commit, let_run
from readback import FULL, LINE, Act, Back, Table, Write, longest

PATH = f"deep/{'f' * 240}/{'g' * 240}.txt"
WORDS = 'It \u4e16 "holds"\n'
VALUE = {"deep": [1, None, {"a": WORDS * 1_500}]}
DEEP = f"deep/{'f' * 240}"
BODY = "".join(f"Line {number} of what is to be done, \u4e16.\n" for number in range(500)).strip()
LONG_TASKS = 45
LONG_PLAN = "# Long\n\n" + "\n".join(
    f"- [ ] Task {number}\n\n" + "".join(f"  {line}\n" for line in BODY.splitlines())
    for number in range(LONG_TASKS)
)
"""Nearly as long as a plan may be."""
TEMPLATE = """\
name: Ours
title: "{{ TITLE }}"
variables:
  TITLE:
    description: What it is called
phases:
  - name: First
    tasks: [Begin]
"""


def text(length: int, mark: str, *, is_line: bool = False) -> str:
    """Return the longest text of a field of a tree, whose schema the tool itself checks."""
    return str(longest({"type": "str", "max_length": length}, LINE if is_line else FULL, mark))


LINE_OF_100 = text(100, "label", is_line=True)
LINE_OF_300 = text(300, "title", is_line=True)
LONG_KEY = text(100, "key", is_line=True)
TREE: dict[str, Any] = {
    "kind": "plan",
    "title": text(300, "top", is_line=True),
    "name": "top",
    "description": text(20_000, "description"),
    "items": [
        {
            "title": "Phase",
            "items": [
                {"title": "First"},
                {
                    "title": "Second",
                    "name": text(80, "second", is_line=True),
                    "after": ["First"],
                    "areas": [text(500, "area", is_line=True), "src/"],
                    "accept": ["short", text(500, "accept", is_line=True)],
                    "verify": [["true"], ["true", text(995, "verify")]],
                    "labels": [text(100, "label", is_line=True)],
                    "priority": 0,
                    "profile": text(100, "profile", is_line=True),
                    "approval": True,
                    "review": True,
                    "artifact": True,
                },
                {"title": "Third", "accept": ["It stands"]},
                {"title": "Fourth", "review": True},
                {"title": "Fifth", "artifact": True, "review": True},
            ],
        }
    ],
}
SECOND: dict[str, Any] = TREE["items"][0]["items"][1]


def whole(name: str, *path: str, include: str = "", **more: Any) -> Back:
    """Return where something of an id is read whole."""
    asked = {"id": name, **({"include": [include]} if include else {})}
    return Back(tool="show", arguments=asked, path=path, **more)


def every(name: str, *fields: str, **more: Any) -> dict[str, Back]:
    """Return where each of some fields of an id is read whole."""
    return {field: whole(name, field, **more) for field in fields}


def logged(name: str, *path: str) -> Back:
    """Return where something stands in the last entry of the ledger that is about an item."""
    return Back(
        tool="show",
        arguments={"id": "$entry"},
        path=("facts", *path),
        ids={"entry": whole(name, "log", "-1", "entry", include="log")},
    )


def of_second(field: str, *path: str, **more: Any) -> dict[str, Back]:
    """Return where a field of the second task of the tree is read."""
    name = f"tree.items.0.items.1.{field}"
    return {name: whole("$second", *(path or (field,)), **more)}


def remembered(*path: str, key: str = "", scope: str = "project", **more: Any) -> Back:
    """Return where a value that was kept is read: its key in the list, or the value."""
    asked = {"action": "get", "key": key} if key else {"action": "list"}
    return Back(tool="remember", arguments={**asked, "scope": scope}, path=path, **more)


def allow_checks(folder: Path, _names: dict[str, Any]) -> None:
    """Let any command run, write a template, and commit a file that shows work."""
    let_run(folder)
    templates = folder / ".counterpoint/templates"
    templates.mkdir(parents=True, exist_ok=True)
    (templates / "ours.yaml").write_text(TEMPLATE)
    (folder / PATH).parent.mkdir(parents=True)
    commit(folder, PATH, "It stands.\n")


def name_last(_folder: Path, names: dict[str, Any]) -> None:
    """Add the id of the last task of the long plan."""
    prefix, _, number = str(names["long"]).rpartition("-")
    names["last"] = f"{prefix}-{int(number) + LONG_TASKS}"


READS = {
    "brief": "item budget_tokens",
    "find": "query kinds item",
    "show": "id include",
    "list": "status kind label parent root assignee ready",
    "next": "root label",
    "prove": "what sequence size first_size",
}
"""What chooses or narrows an answer."""
TABLE = Table(
    dialect="native",
    connections={"dev": ("--profile", "dev")},
    open_objects={("plan", "tree"): tuple(SECOND | TREE)},
    nothing={
        **{(tool, name): "reads" for tool, names in READS.items() for name in names.split()},
        ("plan", "dry_run"): "writes nothing",
        ("edit", "id"): "names what is changed",
        ("edit", "expected_version"): "lets a call pass",
        ("start", "id"): "names what is begun",
        ("finish", "id"): "names what is ended",
        ("remember", "expected_version"): "lets a call pass",
        **{(tool, "token"): "proves a claim" for tool in ("finish", "note", "submit", "verify")},
        ("verify", "timeout_seconds"): "ends a command; one that it ended says `timed_out`",
    },
    steps=(
        Act(do=allow_checks),
        Write(
            tool="plan",
            arguments={"tree": TREE},
            keep={
                "top": "root",
                "phase": "items.1.id",
                "first": "items.2.id",
                "second": "items.3.id",
                "third": "items.4.id",
                "fourth": "items.5.id",
                "fifth": "items.6.id",
            },
            back={
                **{
                    f"tree.{name}": whole("$top", name)
                    for name in ("kind", "title", "name", "description")
                },
                "tree.items.0.title": whole("$top", "children", "0", "title", include="children"),
                "tree.items.0.items.2.title": whole(
                    "$phase", "children", "id=$third", "title", include="children"
                ),
                **of_second("name"),
                **of_second("after", "after", "0", "id", value="$first"),
                **of_second("areas"),
                **of_second("accept", "accept", "1", "text", value=SECOND["accept"][1]),
                **of_second("verify"),
                **of_second("labels"),
                **of_second("priority"),
                **of_second("profile"),
                **of_second("approval", "gates", "holds=start", "kind", value="review"),
                **of_second("review", "gates", "kind=review", "kind", value="review"),
                **of_second("artifact", "gates", "kind=artifact", "kind", value="artifact"),
            },
        ),
        Write(
            tool="plan",
            arguments={"markdown": LONG_PLAN},
            keep={"long": "root"},
            back={
                "markdown": whole("$last", "description", value=BODY),
            },
        ),
        Act(do=name_last),
        Write(
            tool="plan",
            arguments={"template": "ours", "variables": {"TITLE": LINE_OF_300}, "parent": ""},
            keep={"made": "root"},
            back={
                "template": whole(
                    "$made", "attributes", "name=template", "value", "slug", value="ours"
                ),
                "variables": whole("$made", "title", value=LINE_OF_300),
            },
        ),
        Write(
            tool="plan",
            arguments={"tree": {"kind": "phase", "title": "Later"}, "parent": "$top"},
            keep={"later": "root"},
            back={"parent": whole("$later")},
        ),
        Write(tool="plan", arguments={"markdown": "# Twice\n- [ ] a\n- [ ] b\n"}),
        Write(
            tool="plan",
            arguments={"markdown": "# Twice\n- [ ] a\n- [ ] b\n", "again": True},
            keep={"again": "root", "gone": "items.2.id"},
            back={"again": whole("$again", "title", value="Twice")},
        ),
        Write(
            tool="plan",
            arguments={"markdown": "# Pruned\n- [ ] a\n- [ ] b\n"},
            keep={"pruned": "items.2.id"},
        ),
        Write(
            tool="plan",
            arguments={"markdown": "# Pruned\n- [ ] a\n", "prune": True},
            back={"prune": whole("$pruned", "status", value="cancelled")},
        ),
        Write(
            tool="edit",
            arguments={
                "id": "$gone",
                "title": LINE,
                "description": FULL,
                "priority": 4,
                "assignee": LINE,
                "profile": LINE,
                "parent": "$phase",
                "position": 0,
                "add_labels": ["a", "b"],
                "add_after": ["$first", "$third"],
                "areas": sorted(text(500, f"area {number}", is_line=True) for number in range(50)),
                "accept": [LINE, LINE],
                "verify": [["true"], ["true", text(995, "check")]],
            },
            back={
                **every(
                    "$gone",
                    *("title", "description", "priority", "assignee", "profile", "parent"),
                    *("areas", "verify"),
                ),
                "accept.1": whole("$gone", "accept", "1", "text"),
                "position": whole(
                    "$phase", "children", "0", "id", include="children", value="$gone"
                ),
                "add_labels": whole("$gone", "labels", value=["b", LINE_OF_100]),
                "add_after": whole("$gone", "after", "0", "id", value="$third"),
            },
        ),
        Write(
            tool="edit",
            arguments={
                "id": "$gone",
                "add_labels": [LINE_OF_100],
                "remove_labels": ["a"],
                "remove_after": ["$first"],
            },
            back={
                "remove_labels": whole("$gone", "labels", value=["b", LINE_OF_100]),
                "remove_after": whole("$gone", "after", "0", "id", value="$third"),
            },
        ),
        Write(
            tool="edit",
            arguments={"id": "$fourth", "waive": ["review"], "reason": FULL},
            back={
                "waive": whole("$fourth", "gates", "name=review", "status", value="waived"),
                "reason": whole("$fourth", "waiver of review"),
            },
        ),
        Write(
            tool="edit",
            arguments={"id": "$first", "status": "skipped", "reason": FULL},
            back={
                "status": whole("$first"),
                "reason": logged("$first", "reason"),
            },
        ),
        Write(
            tool="start",
            by="bob",
            arguments={"id": "$third"},
            keep={"token": "claim.token"},
        ),
        Write(
            tool="note",
            by="bob",
            arguments={
                "kind": "learning",
                "text": FULL,
                "title": LINE,
                "id": "$third",
                "token": "$token",
                "tags": FULL,
                "files": [f"{number}/{PATH}" for number in range(50)],
            },
            keep={"record": "record.id"},
            back={
                **every("$record", "kind", "text", "title", "tags", "files"),
                "id": whole("$record", "item"),
            },
        ),
        Write(
            tool="note",
            by="bob",
            arguments={"kind": "blocker", "text": "B"},
            keep={"blocker": "record.id"},
        ),
        Write(
            tool="note",
            by="bob",
            arguments={"kind": "blocker", "text": FULL, "resolves": "$blocker"},
            back={
                "text": whole("$blocker", "resolution"),
                "resolves": whole("$blocker", "status", value="resolved"),
            },
        ),
        Write(
            tool="verify",
            arguments={"command": ["true", "--", FULL, FULL], "folder": DEEP},
            keep={"receipt": "receipts.0.id"},
            back={
                "command": whole("$receipt", "argv"),
                "folder": whole("$receipt"),
            },
        ),
        Write(
            tool="verify",
            arguments={"id": "$second", "gates": ["check-2"]},
            keep={"checked": "receipts.0.id"},
            back={
                "id": whole("$checked", "item"),
                "gates.0": whole("$checked", "gate"),
            },
        ),
        Write(
            tool="finish",
            by="bob",
            arguments={
                "id": "$third",
                "token": "$token",
                "outcome": "partial",
                "summary": FULL,
                "achievements": FULL,
                "limitations": FULL,
                "next_steps": FULL,
                "met": [0],
            },
            back={
                **every(
                    "$third@$token",
                    *("outcome", "summary", "achievements", "limitations", "next_steps"),
                ),
                "met": whole("$third", "accept", "0", "met", value=True),
            },
        ),
        Write(
            tool="start",
            by="bob",
            arguments={"id": "$fifth", "lease_minutes": 1440},
            keep={"number": "claim.token", "until": "claim.until"},
            back={"lease_minutes": whole("$fifth", "held_by", "until", value="$until")},
        ),
        Write(
            tool="submit",
            by="bob",
            arguments={"id": "$fifth", "summary": FULL, "path": PATH, "token": "$number"},
            keep={"submission": "submission", "sha256": "sha256"},
            back={
                "id": whole("$submission", "item"),
                **every("$submission", "summary", "path"),
            },
        ),
        Write(
            tool="review",
            by="eve",
            arguments={
                "id": "$fifth",
                "verdict": "reject",
                "reason": FULL,
                "fixes": FULL,
                "subject": "$sha256",
            },
            keep={"verdict": "verdict"},
            back={
                "id": whole("$verdict", "item"),
                **every("$verdict", "verdict", "reason", "fixes", "subject"),
            },
        ),
        Write(
            tool="submit",
            by="bob",
            arguments={
                "id": "$fifth",
                "summary": "S",
                "path": PATH,
                "token": "$number",
                "reason": text(500, "reason", is_line=True),
            },
            keep={"resubmission": "submission"},
            back={"reason": logged("$fifth", "reason")},
        ),
        Write(
            tool="next",
            by="dan",
            arguments={"claim": True, "lease_minutes": 1000},
            keep={"taken": "claim.item", "till": "claim.until"},
            back={
                "claim": whole("$taken", "held_by", "agent", value="dan"),
                "lease_minutes": whole("$taken", "held_by", "until", value="$till"),
            },
        ),
        Write(
            tool="handoff",
            by="eve",
            arguments={
                "action": "end",
                "summary": FULL,
                "next_steps": FULL,
                "blockers": FULL,
                "context": FULL,
            },
            keep={"handoff": "handoff.id", "session": "session.id"},
            back=every("$handoff", "action", "summary", "next_steps", "blockers", "context"),
        ),
        Write(
            tool="handoff",
            by="bob",
            arguments={"action": "continue", "session": "$session"},
            keep={"going": "session.id"},
            back={"session": whole("$going", "continues")},
        ),
        Write(
            tool="remember",
            arguments={"action": "set", "key": LONG_KEY, "value": VALUE, "scope": "project"},
            back={
                "action": remembered("entries", "0", "version", value=1),
                "key": remembered("entries", "0", "key"),
                "value": remembered("json_text", key=LONG_KEY),
            },
        ),
        Write(
            tool="remember",
            by="dev",
            arguments={"action": "set", "key": "k", "value": [1, None], "scope": "profile"},
            back={
                "scope": remembered("value", key="k", scope="profile", value=[1, None], by="dev")
            },
        ),
    ),
)
