"""What commands say comes next: lines that can be typed as they stand, and what became of a plan that has ended."""

from __future__ import annotations

from pathlib import Path

PLAN = "# Shed\n\n## Roof\n- review: yes\n\n- [x] Buy tar\n- [ ] Tar it\n"


def _planned(call) -> dict[str, str]:
    Path("shed.md").write_text(PLAN)
    assert call("plan", "shed.md").code == 0
    return {one["title"]: one["id"] for one in call("list", "--all", "--json").json["items"]}


def test_a_hint_names_the_item_that_it_is_about(call, ledger):
    """In its commands; to a person who did the work also how people who work alone go on."""
    ids = _planned(call)
    phase, task = ids["Roof"], ids["Tar it"]
    assert call("start", task).code == 0
    assert f"counterpoint submit {phase}`" in call("finish", task, "-m", "done").err
    assert f"counterpoint submit {phase}`" in call("edit", phase, "--status", "done").err
    assert f"counterpoint approve {phase}`" in call("submit", phase, "-m", "all").err
    unasked = call("approve", task).err
    assert ("reviewer" in unasked, "asks for no review, and is done" in unasked) == (False, True)
    refused = call("edit", phase, "--status", "done")
    assert refused.code == 1
    assert "counterpoint policy --reviews self" in refused.err


def test_what_is_ticked_is_told_of_a_new_plan_and_not_of_an_update(call, ledger):
    Path("shed.md").write_text(PLAN)
    assert "begins as done" in call("plan", "shed.md", "--dry-run").err
    assert "begins as done" in call("plan", "shed.md").err
    assert "begins as done" not in call("plan", "shed.md").err


def test_a_plan_that_has_ended_is_made_anew_and_that_is_said(call, ledger):
    """With the command that opens the old one instead; `--again` needs no word about it."""
    top = _planned(call)["Shed"]
    assert call("edit", top, "--status", "cancelled", "--reason", "no").code == 0
    for words in (("--dry-run",), ()):
        said = call("plan", "shed.md", *words).err
        assert f"{top} is cancelled already" in said
        assert f"counterpoint reopen {top}`" in said
    assert "already" not in call("plan", "shed.md", "--again").err


def test_an_export_says_what_a_plan_does_not_read_again(call, ledger):
    ids = _planned(call)
    assert call("edit", ids["Tar it"], "--status", "cancelled", "--reason", "no").code == 0
    told = call("export", ids["Shed"], "--output", "out.md")
    assert "`- [-]` is cancelled" in told.err
    refused = call("plan", "out.md")
    assert refused.code == 2
    assert "counterpoint import markdown" in refused.err
    assert call("import", "markdown", "out.md", "--dry-run").code == 0


def test_next_says_why_each_task_waits_and_what_is_held(call, ledger):
    ids = _planned(call)
    for one in call("next", "--json").json["ready"]:
        assert call("start", one["item"]["id"]).code == 0
    said = call("next")
    assert "You hold" in said.out
    assert ids["Tar it"] in said.out
