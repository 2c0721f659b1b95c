"""Recorded calls: a story of more than 300 calls over all six dialects leaves the same entries, byte by byte, on both databases.

`recorded.jsonl.gz` has a line for each entry that the story leaves. A change of the tree that changes a line has changed what the
ledger holds; when that was meant, `SNAPSHOTS=write` records the story again, and CHANGELOG.md says what is written otherwise.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from difflib import unified_diff
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID

import pytest

from counterpoint.app import NOUNS
from counterpoint.core.ports.store import Store
from counterpoint.dialects import registry
from counterpoint.kernel import canonical
from counterpoint.kernel.ids import SALT_BYTES
from counterpoint.protocol.surface import Surface
from counterpoint.storage.sqlite.store import SqliteStore
from fakes.golden.scenes import play
from fakes.golden.stage import PROJECT, staged
from fakes.servers import connected

RECORDING: Final = Path(__file__).with_name("recorded.jsonl.gz")
CALLS: Final = 300
"""How many calls the story has at least."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_CHAINED: Final = {"h", "left_root", "signature"}
"""Members that follow from all entries before."""
_LEAF: Final = re.compile(r'(?<=leaf\\":\\")[0-9a-f]{64}')


@contextmanager
def recorded_calls(store: Store) -> Generator[list[tuple[str, int]]]:
    """Give the calls of tools, each with the size of the ledger after it; what a process draws by lot is counted."""
    calls: list[tuple[str, int]] = []
    salts = count()
    invoke = Surface.invoke

    def recorded(surface: Surface[Any], call: Any, name: str, *arguments: Any) -> Any:
        outcome = invoke(surface, call, name, *arguments)
        with store.reading(PROJECT) as view:
            calls.append((f"{surface.name} {name}", view.head().size))
        return outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Surface, "invoke", recorded)
        patch.setattr("counterpoint.dialects.colibri.pipeline._SALT", bytes(SALT_BYTES))
        patch.setattr(
            "counterpoint.dialects.colibri.tools.tasks.uuid4", lambda: UUID(int=len(calls))
        )
        for module in ("people", "joint_acts"):
            patch.setattr(
                f"counterpoint.core.operations.trust.{module}.secrets",
                SimpleNamespace(token_hex=lambda size: f"{next(salts):0{2 * size}x}"),
            )
        yield calls


def play_story(folder: Path, store: Store) -> tuple[list[str], list[tuple[str, int]]]:
    """Return the entries that the story leaves in a store, one JSON line each, and its calls."""
    with recorded_calls(store) as calls, staged(folder, store) as stage:
        play(stage)
    lines: list[str] = []
    for project in sorted(row.project for row in store.projects()):
        with store.reading(project) as view:
            bodies = {text.commitment: text.body for _, text in view.texts()}
            lines += [_strip_place(data.decode(), bodies, folder) for data in view.entries()]
    return lines, calls


def _strip_place(line: str, bodies: dict[str, str], folder: Path) -> str:
    """Return an entry without what follows from where its repository lies.

    That is the path, the commitments of texts (each becomes the digest of its text), the link to the entry before, and what
    people's keys signed of that link.
    """

    def strip(value: Any) -> Any:
        if isinstance(value, list):
            items: list[Any] = value
            hashes = [item for item in items if isinstance(item, str) and _DIGEST.fullmatch(item)]
            return f"{len(hashes)} hashes" if hashes else [strip(item) for item in items]
        if not isinstance(value, dict):
            return value
        if set(value) == {"$text"}:
            return {"$text": digest(bodies.get(value["$text"]))}
        return {
            name: "of the entries before" if name in _CHAINED else strip(part)
            for name, part in value.items()
        }

    def digest(body: str | None) -> str:
        # A digest of arguments, one of which can be the path, and what was redacted, have no text of their own.
        if body is None or _DIGEST.fullmatch(body):
            return "hash"
        return canonical.text_digest(body.replace(str(folder), "FOLDER"))

    plain = canonical.dump_any(strip(json.loads(line)))
    return _LEAF.sub("LEAF", plain.replace(str(folder), "FOLDER"))


def explain_difference(expected: list[str], lines: list[str], calls: list[tuple[str, int]]) -> str:
    """Return the first entry that differs, as a diff of its JSON, and the call that wrote it; empty if none does."""
    if expected == lines:
        return ""
    index = next(
        (
            number
            for number, pair in enumerate(zip(expected, lines, strict=False))
            if pair[0] != pair[1]
        ),
        min(len(expected), len(lines)),
    )
    pretty = [
        json.dumps(json.loads(part[index]), indent=1, sort_keys=True).splitlines()
        if index < len(part)
        else []
        for part in (expected, lines)
    ]
    entry = json.loads((lines if index < len(lines) else expected)[index])
    writer = next(
        (call for call, size in calls if size > entry["n"] and entry["p"] == PROJECT),
        "no call of a tool",
    )
    return "\n".join(
        [
            f"entry {index + 1} of {len(expected)}, written by {writer}, is another:",
            *unified_diff(*pretty, "recorded", "now", lineterm=""),
        ]
    )


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Callable[[], Store]]:
    """Give what opens an empty store of each database."""
    if request.param == "sqlite":
        yield lambda: SqliteStore(tmp_path / "ledger.db", nouns=NOUNS)
        return
    databases = request.getfixturevalue("databases")
    address = databases.empty()
    yield lambda: connected(address)
    databases.drop(address)


def test_recorded_calls_leave_the_same_entries(
    open_store: Callable[[], Store], tmp_path: Path
) -> None:
    folder = tmp_path / "stage"
    folder.mkdir()
    store = open_store()
    lines, calls = play_story(folder, store)
    store.close()
    if os.environ.get("SNAPSHOTS") == "write":
        RECORDING.write_bytes(
            gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)
        )
    expected = gzip.decompress(RECORDING.read_bytes()).decode().splitlines()
    assert not explain_difference(expected, lines, calls), explain_difference(
        expected, lines, calls
    )
    dialects = Counter(call.split()[0] for call, _ in calls)
    assert (len(dialects), dialects.total() >= CALLS) == (len(registry.names()), True)
