"""Work that goes out, and comes back as it was."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterpoint.cli.importing.exporting import WRITERS
from counterpoint.cli.importing.readers import beads, checklists, own
from counterpoint.core.coordinator import Core
from counterpoint.core.model.foreign import ForeignItem, ForeignWork
from counterpoint.core.model.lifecycles import category_of
from counterpoint.core.rules.planning.foreign import settle
from counterpoint.kernel.errors import MalformedDocument

READERS = {"markdown": checklists.read, "json": own.read, "beads": beads.read}
STATES = ("open", "backlog", "active", "done", "skipped", "partial", "failed", "cancelled")
printable = st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp"))
titles = st.one_of(
    st.text(printable, min_size=1, max_size=20).map(lambda t: " ".join(t.split())).filter(bool),
    st.sampled_from(
        [
            "[x] y",
            "- [ ] z",
            "# h",
            "a {#b}",
            "T001 x",
            "1.1 y",
            "=A1",
            "`x`",
            "- after: a",
            "\\",
            "<!-- x -->",
        ]
    ),
)


@st.composite
def works(draw: st.DrawFn) -> ForeignWork:
    """Draw work in a tree, with edges that make no circle."""
    count = draw(st.integers(1, 6))
    items: list[ForeignItem] = []
    for number in range(count):
        before = [f"p-{n}" for n in range(number)]
        tasks = [item.id for item in items]
        items.append(
            ForeignItem(
                id=f"p-{number}",
                title=draw(titles),
                body=draw(st.sampled_from(["", "words", "# h\n- [ ] x\n```", "- priority: 9"])),
                parent=draw(st.sampled_from(["", *tasks])),
                state=draw(st.sampled_from(STATES)),
                priority=draw(st.integers(0, 4)),
                labels=tuple(draw(st.lists(st.sampled_from(["a", "b"]), unique=True, max_size=2))),
                needs=tuple(draw(st.lists(st.sampled_from(before), unique=True, max_size=2)))
                if before
                else (),
                acceptance=tuple(
                    draw(
                        st.lists(
                            st.sampled_from(["it floats", "it is dry"]), unique=True, max_size=2
                        )
                    )
                ),
            )
        )
    return ForeignWork(tool="t", key="k", title=draw(titles), items=tuple(items))


@pytest.mark.parametrize("form", READERS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(work=works())
def test_what_is_written_comes_back_equal(form: str, work: ForeignWork) -> None:
    """Titles, places, edges, words and states, as far as the format has them."""
    try:
        wanted = settle(work).items
    except MalformedDocument:
        return
    items = tuple(wanted.values())
    text = WRITERS[form](ForeignWork(tool="t", key="k", title=work.title, items=items))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k.jsonl"
        path.write_text(text)
        (back,) = READERS[form](path)
    prefix = "k/" if form == "markdown" else ""
    found = {item.id.removeprefix(prefix): item for item in back.items}
    assert found.keys() == wanted.keys()
    for name, item in wanted.items():
        other = found[name]
        assert " ".join(other.title.split()) == item.title
        assert other.parent.removeprefix(prefix) == item.parent
        assert sorted(one.removeprefix(prefix) for one in other.needs) == sorted(item.needs)
        assert (other.priority, set(other.labels), other.acceptance) == (
            item.priority,
            set(item.labels),
            item.acceptance,
        )
        assert other.body.strip() == item.body.strip()
        if form == "markdown":
            same = {"done": "done", "dropped": "dropped"}
            assert same.get(category_of(other.state), "open") == same.get(
                category_of(item.state), "open"
            )
        else:
            assert other.state == item.state


@pytest.mark.parametrize("form", ["markdown", "json", "beads"])
def test_a_ledger_goes_out_and_comes_back(call: Any, ledger: Path, agent: Core, form: str) -> None:
    """All of it, or what is below one item, without a loss in titles, edges and states."""
    tool = {"json": "counterpoint"}.get(form, form)
    said = call("export", "--format", form)
    assert said.code == 0
    (ledger / "out.jsonl").write_text(said.out)
    made = call("import", tool, "out.jsonl", "--json")
    assert made.code == 0, made.err
    (source,) = made.json["sources"]
    assert (
        source["created"] == source["items"] == len(list(agent.overview.state().roots))
        or source["items"] > 5
    )
    assert source["kept"] == []


def test_a_file_is_written_once_and_never_over_another(call: Any, ledger: Path) -> None:
    """Whoever exports means no file that is there."""
    assert "written to plan.md" in call("export", "harbour-1", "--output", "plan.md").out
    assert (ledger / "plan.md").read_text().startswith("# ")
    again = call("export", "--output", "plan.md")
    assert (again.code, "already" in again.err) == (1, True)
    assert call("export", "harbour-999").code == 1
    assert call("export", "--output", "none/plan.md").code == 3


def test_issues_for_github_are_what_is_open(call: Any, ledger: Path) -> None:
    """One a line, with what each belongs to and comes after in its text."""
    issues = [json.loads(line) for line in call("export", "--format", "github").out.splitlines()]
    assert issues
    assert all(issue["title"] and "Exported from harbour-" in issue["body"] for issue in issues)
