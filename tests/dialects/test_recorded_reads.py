"""Whoever reads is recorded, through every tool of every dialect."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from counterpoint.dialects.nouns import EVERY
from counterpoint.dialects.registry import names, surface
from counterpoint.evidence.reads import read_lines, switch_log
from counterpoint.storage.sqlite.store import open_sqlite
from fakes.golden.scenes import dialect
from fakes.golden.stage import Seat, staged

LOG = "a1b2"
ID = re.compile(r"\bdemo-r?\d+\b")
MARK = re.compile("zqx[a-z]+")
"""What every text of the stories begins with."""


@pytest.mark.parametrize("name", sorted(set(names()) - {"sample"}))
def test_every_tool_of_a_dialect_writes_down_who_is_given_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each answered call has a line of its caller, and each item or record that an answer names was recorded for him by then."""
    with staged(tmp_path, open_sqlite(":memory:", EVERY)) as stage:
        folder = stage.root / ".counterpoint"
        switch_log(folder, "on", LOG)
        missing, silent, recorded = set[str](), set[str](), set[str]()
        call = Seat.call

        def heard(seat: Seat, tool: str, **arguments: Any) -> Any:
            before, count = known(stage), len([*read_lines(folder, LOG)])
            answer = call(seat, tool, **arguments)
            lines = [line for _, line in read_lines(folder, LOG)]
            assert None not in lines
            mine = [
                line for line in lines[count:] if line and line["by"]["name"] == seat.identity.name
            ]
            entrance = f"{surface(seat.settings.surface, seat.settings).name} {tool}"
            assert {line["entrance"] for line in mine} <= {entrance}
            (recorded if mine else silent).add(tool)
            given = {subject for line in mine for subject in line["ids"]}
            # What is replayed is known by the places of its entries and by its texts; what is said again, as a reply.
            is_replayed = any(subject.startswith(("text ", "replies")) for subject in given)
            if surface(seat.settings.surface, seat.settings).tool(tool).reads and not is_replayed:
                missing.update(set(ID.findall(json.dumps(answer))) & before - given)
            assert not [subject for subject in given if MARK.search(subject)]
            return answer

        monkeypatch.setattr(Seat, "call", heard)
        dialect(stage, name)
    assert missing == set()
    assert silent <= recorded
    assert len(recorded) > 5


def known(stage: Any) -> set[str]:
    """Answer the ids of the items and records that there are."""
    with stage.store.reading("demo") as view:
        rows = [
            *view.cells(dict(view.tables)["items"], ("id",)),
            *view.cells(dict(view.tables)["records"], ("id",)),
        ]
    return {row[0] for row in rows}
