"""`counterpoint plan FILE` a second time: the open plan is brought up to what the file says."""

from __future__ import annotations

import json

import pytest

from counterpoint.app import Identity
from counterpoint.core.model.filters import Edit
from counterpoint.kernel.errors import Forbidden

PLAN = """# Ship {#ship}
## Build {#build}
- [ ] Parse {#parse}
  - verify: true
- [ ] Write
  - after: parse
## Try
- [ ] Use it
"""


@pytest.fixture
def plan(call, ledger):
    """Give what brings a text in as the plan's file."""

    def plan_(text, *words, code=0):
        (ledger / "PLAN.md").write_text(text)
        said = call("plan", "PLAN.md", *words, "--json")
        assert said.code == code, said.err
        return said.json if code == 0 else said

    return plan_


def items_of(call, root):
    """Answer every item of a plan by its title."""
    found = call("list", "--root", root, "--json").json["items"]
    return {item["title"]: item for item in found}


def fields_of(answer):
    """Answer the changed fields by the titles of the items."""
    return {item["title"]: item["fields"] for item in answer["changed"]}


def test_the_same_file_changes_nothing(call, plan):
    root = plan(PLAN)["root"]["id"]
    before = call("log", "--json").out
    for words in ([], ["--dry-run"], ["--prune"]):
        again = plan(PLAN, *words)
        assert (again["root"]["id"], again["count"]) == (root, 0)
        assert again["changed"] == again["gone"] == again["pruned"] == again["warnings"] == []
    assert call("log", "--json").out == before
    assert "it is as the file says" in call("plan", "PLAN.md").out


def test_new_lines_are_new_and_changed_texts_are_edits(call, plan):
    root = plan(PLAN)["root"]["id"]
    old = items_of(call, root)
    text = (
        PLAN.replace("Parse {#parse}", "Parse all {#parse}\n  - areas: src/{api,web}\n  More.")
        .replace("- [ ] Write", "- [ ] First\n- [ ] Write\n  - review: yes")
        .replace("## Try", "## Try\n- priority: 1")
    )
    looked = plan(text, "--dry-run")
    assert [item["title"] for item in looked["created"]] == ["First"]
    assert items_of(call, root) == old
    told = plan(text)
    assert (
        fields_of(told)
        == fields_of(looked)
        == {
            "Parse all": ["title", "body", "areas"],
            "Write": ["review"],
            "Try": ["priority"],
        }
    )
    new = items_of(call, root)
    assert new["Parse all"]["id"] == old["Parse"]["id"]
    assert new["Write"]["id"] == old["Write"]["id"]
    shown = call("show", new["Parse all"]["id"], "--json").json
    assert "src/{api,web}" in json.dumps(shown)
    tree = call("plan", "PLAN.md", "--json").json
    assert (tree["changed"], tree["created"]) == ([], [])


@pytest.mark.parametrize(
    ("first", "then", "kept"),
    [
        (
            "# 计划\n- [ ] 写文档\n- [ ] 测试\n",
            "# 计划\n- [ ] 新的任务\n- [ ] 写文档\n- [ ] 测试\n",
            "写文档",
        ),
        ("# P\n- [ ] 🚀\n- [ ] 🐛\n", "# P\n- [ ] 🧪\n- [ ] 🚀\n- [ ] 🐛\n", "🚀"),
        (
            "# P\n## 一\n- [ ] 写\n- [ ] 测\n",
            "# P\n## 零\n- [ ] 写\n## 一\n- [ ] 写\n- [ ] 测\n",
            "写",
        ),
        ("# P\n- [ ] Old\n- [ ] x\n", "# P\n- [ ] New\n- [ ] x\n", "Old"),
        ("# P\n- [ ] a\n- [ ] x\n", "# P\n- [ ] x\n## B\n- [ ] a\n", "a"),
    ],
)
def test_finished_work_never_moves_to_another_task(call, plan, app, first, then, kept):
    """Whatever is put before it, in any script; a changed title is another task once work has begun."""
    root = plan(first)["root"]["id"]
    done = items_of(call, root)[kept]["id"]
    for status in ("active", "done"):
        app.person().items.edit(done, Edit(status=status))
    told = plan(then)
    after = {item["id"]: item for item in call("list", "--root", root, "--json").json["items"]}
    assert (after[done]["title"], after[done]["status"]) == (kept, "done")
    assert [after[item["id"]]["status"] for item in told["created"]] == ["open"] * told["count"]
    assert told["count"] >= 1


def test_a_changed_title_is_an_edit_only_where_nothing_else_can_be_meant(call, plan):
    """The only line and the only item that are left in one place, which nobody has begun."""
    root = plan("# P\n- [ ] one\n- [ ] two\n")["root"]["id"]
    told = plan("# P\n- [ ] one\n- [ ] second\n")
    assert (fields_of(told), told["count"], told["gone"]) == ({"second": ["title"]}, 0, [])
    told = plan("# P\n- [ ] first\n- [ ] other\n")
    assert (told["count"], len(told["gone"]), told["changed"]) == (2, 2, [])
    assert {"one", "second", "first", "other"} <= items_of(call, root).keys()


def test_what_cannot_be_told_apart_is_said_and_left(call, plan):
    text = "# P\n- [ ] same\n  - priority: 1\n- [ ] same\n## A\n- [ ] same\n"
    root = plan(text)["root"]["id"]
    before = items_of(call, root)
    told = plan(text.replace("priority: 1", "priority: 0") + "  - priority: 3\n")
    assert [words.split(":")[0] for words in told["warnings"]] == ["line 2", "line 4"]
    assert "give each a `{#name}`" in told["warnings"][0]
    assert (told["count"], told["gone"]) == (0, [])
    assert [item["fields"] for item in told["changed"]] == [["priority"]]
    assert len(items_of(call, root)) == len(before)


def test_a_ticked_box_is_told_and_not_taken(call, plan):
    """Work ends by `finish`; a task that ended here and is open in the file stays as it is."""
    root = plan(PLAN)["root"]["id"]
    told = plan(PLAN.replace("- [ ] Write", "- [x] Write"))
    assert "line 5" in told["warnings"][0]
    assert "is ticked and is open here; work ends by `finish`" in told["warnings"][0]
    assert items_of(call, root)["Write"]["status"] == "open"


def test_lines_that_went_stay_until_they_are_pruned(call, plan, app):
    root = plan(PLAN)["root"]["id"]
    items = items_of(call, root)
    rae = app.core(Identity(kind="agent", name="rae", session="ses_" + "b" * 26))
    rae.claims.start(items["Parse"]["id"])
    short = "# Ship {#ship}\n## Try\n- [ ] Use it\n"
    told = plan(short)
    assert {item["title"] for item in told["gone"]} == {"Build", "Parse", "Write"}
    assert items_of(call, root)["Write"]["status"] == "open"
    looked = plan(short, "--prune", "--dry-run")
    assert [item["title"] for item in looked["pruned"]] == ["Write"]
    assert items_of(call, root)["Write"]["status"] == "open"
    told = plan(short, "--prune")
    assert [item["title"] for item in told["pruned"]] == ["Write"]
    assert {item["title"] for item in told["gone"]} == {"Build", "Parse"}
    assert items_of(call, root)["Write"]["status"] == "cancelled"


def test_what_was_added_beside_the_plan_is_told_apart_and_stays(call, plan):
    """Below a phase, as a phase, made elsewhere and moved in; a new line is not taken for its new title."""
    root = plan(PLAN)["root"]["id"]
    items = items_of(call, root)
    call("add", "By hand", "--parent", items["Try"]["id"])
    call("add", "Extra", "--kind", "phase", "--parent", root)
    call("add", "Inside", "--parent", "Extra")
    call("add", "Lone")
    call("edit", "Lone", "--parent", items["Build"]["id"])
    call("edit", "Paint the hull", "--parent", items["Build"]["id"])
    beside = {"By hand", "Extra", "Inside", "Lone", "Paint the hull"}
    text = PLAN.replace("- [ ] Write\n  - after: parse\n", "") + "- [ ] Row\n"
    for words in (["--dry-run"], [], ["--prune"]):
        told = plan(text, *words)
        assert {item["title"] for item in told["beside"]} == beside
        went = told["pruned"] if "--prune" in words else told["gone"]
        assert [item["title"] for item in went] == ["Write"]
        assert (told["count"], told["changed"]) == (0 if "--prune" in words else 1, [])
    now = items_of(call, root)
    assert {now[title]["status"] for title in beside | {"Row"}} == {"open"}
    said = call("plan", "PLAN.md").out
    assert "By hand  (added beside the plan; it stays)" in said
    assert "5 added beside it" in said


def test_a_second_plan_is_made_when_it_is_asked_for(call, plan):
    """With --again, or from a template; two of one title cannot be told apart, unless one has a name."""
    first = plan("# P\n- [ ] a\n")["root"]["id"]
    second = plan("# P\n- [ ] a\n", "--again")["root"]["id"]
    assert first != second
    said = plan("# P\n- [ ] a\n", code=1)
    assert f"{first}, {second} are open" in said.err
    named = plan("# P {#p}\n- [ ] a\n", "--again")["root"]["id"]
    assert plan("# Other title {#p}\n- [ ] a\n")["root"]["id"] == named
    assert plan("# Q\n- [ ] a\n", "--prune", code=2)
    assert call("plan", "PLAN.md", "--again", "--prune").code == 2
    words = ("plan", "--template", "bug-fix", "--set", "BUG=Crash", "--json")
    assert call(*words).json["root"]["id"] != call(*words).json["root"]["id"]


def test_a_plan_that_has_ended_is_made_anew(call, plan):
    first = plan("# P\n- [ ] a\n")["root"]["id"]
    call("edit", first, "--status", "cancelled")
    assert plan("# P\n- [ ] a\n")["root"]["id"] != first


def test_what_is_asked_less_of_begun_work_follows_the_rules_of_edit(call, plan, app):
    """Before work begins it is dropped; later it takes a person or a maintainer, and a refusal changes nothing."""
    text = "# P\n- [ ] a\n  - verify: true\n  - review: yes\n  - areas: lib\n- [ ] b\n"
    weak = "# P\n- [ ] a\n- [ ] b\n- [ ] c\n"
    root = plan(text)["root"]["id"]
    rae = app.core(Identity(kind="agent", name="rae", session="ses_" + "b" * 26))
    draft = rae.plans.read(weak)
    looked = rae.plan_updates.apply(draft, dry_run=True)
    assert {change.item.title: change.fields for change in looked.changed} == {
        "a": ("areas", "checks", "review")
    }
    ada = app.core(Identity(kind="agent", name="ada", session="ses_" + "a" * 26))
    ada.claims.start(items_of(call, root)["a"]["id"])
    with pytest.raises(Forbidden, match=r"work on .* has begun"):
        rae.plan_updates.apply(draft)
    assert "c" not in items_of(call, root)
