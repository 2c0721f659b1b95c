"""The tool `verify`: commands that the server runs."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from builders import Agent, Workshop
from fakes.plans import Begun, Plan


def test_passing_checks_open_their_gates(ada: Agent, begun: Begun) -> None:
    """A receipt for each, signed and kept."""
    answer = ada.does("verify", id=begun[0], token=begun[1])
    assert answer["passed"] is True
    receipt = answer["receipts"][0]
    assert (receipt["gate"], receipt["exit_code"]) == ("check-1", 0)
    assert len(ada.does("show", id=receipt["id"])["signature"]) == 128
    assert ada.does("show", id=begun[0])["gates"][0]["status"] == "met"
    assert ada.last_entry.action == "check.passed"


def test_what_passed_names_the_call_that_follows(ada: Agent, plan: Plan, begun: Begun) -> None:
    """For whoever holds the item; a free command, and an item nobody holds, have none."""
    item, token = begun
    end = {"id": item, "token": token, "outcome": "done", "summary": "…"}
    before = ada.does("start", id=item)["next_call"]
    assert before == {"tool": "verify", "arguments": {"id": item, "token": token}}
    after = ada.does(before["tool"], **before["arguments"])["next_call"]
    assert after == {"tool": "finish", "arguments": end}
    assert ada.does(after["tool"], **after["arguments"])["outcome"] == "done"
    ada.does("edit", id=plan["Notes"], verify=[["git", "status"]])
    assert "next_call" not in ada.does("verify", id=plan["Notes"])
    assert "next_call" not in ada.does("verify", command=["git", "status"])


def test_a_failing_check_is_an_answer_with_its_output(ada: Agent, plan: Plan) -> None:
    """The end of the output, where the fault stands; the gate stays closed."""
    noise = "import sys; print('n' * 9000); print('the fault'); sys.exit(3)"
    ada.does("edit", id=plan["Notes"], verify=[[sys.executable, "-c", noise]])
    reply = ada.call("verify", {"id": plan["Notes"]})
    assert not reply.is_error
    assert reply.answer["passed"] is False
    receipt = reply.answer["receipts"][0]
    assert receipt["exit_code"] == 3
    assert receipt["output_end"].rstrip().endswith("the fault")
    assert len(reply.text.encode()) <= 10_000
    assert ada.does("show", id=plan["Notes"])["gates"][0]["status"] == "closed"


def test_the_whole_output_can_be_read_in_pages(ada: Agent) -> None:
    """Nothing of it is lost."""
    words = [sys.executable, "-c", "print('ab' * 12000)"]
    receipt = ada.does("verify", command=words)["receipts"][0]["id"]
    text, more = "", {}
    while True:
        shown = ada.does("show", id=receipt, **more)
        text += shown["output"]
        if "output" not in shown.get("more", {}):
            break
        more = {"cursor": shown["more"]["output"]}
    assert text == "ab" * 12000 + "\n"


def test_a_free_command_runs_in_its_folder(workshop: Workshop, ada: Agent) -> None:
    """Without an item; the folder is below the root."""
    (workshop.root / "inner").mkdir()
    words = [sys.executable, "-c", "import os; print(os.getcwd())"]
    answer = ada.does("verify", command=words, folder="inner")
    assert answer["receipts"][0]["output_end"].strip().endswith("/demo/inner")


def test_a_command_has_a_limit(ada: Agent) -> None:
    """One that hangs is ended, and did not pass."""
    words = [sys.executable, "-c", "import threading; threading.Event().wait(30)"]
    answer = ada.does("verify", command=words, timeout_seconds=1)
    assert answer["passed"] is False
    assert answer["receipts"][0]["timed_out"] is True
    assert answer["receipts"][0]["ended_for"] == "it ran too long (1 seconds at most)"


def test_a_receipt_says_what_the_sandbox_kept_from_its_command(ada: Agent) -> None:
    """Each with the next step; by `show` as well."""
    receipt = ada.does("verify", command=["git", "config", "core.fsmonitor", "./evil"])["receipts"][
        0
    ]
    if receipt["sandbox"] == "none":
        pytest.skip("this system lets nobody make a namespace")
    assert receipt["exit_code"] != 0
    assert receipt["remarks"] == [
        "`.git/config` is read-only for checks, since git starts programs by it. What has to write there is done outside of a check"
    ]
    assert ada.does("show", id=receipt["id"])["remarks"] == receipt["remarks"]
    script = "rm -f .git/commondir; mkdir .git/commondir; chmod 555 .git"
    left = ada.does("verify", command=["sh", "-c", script])["receipts"][0]
    (remark,) = left["remarks"]
    assert "/.git/commondir` was not there before this check, or was a link" in remark
    assert "/.git/commondir.left-by-a-check`" in remark


def test_progress_is_told(ada: Agent, begun: Begun) -> None:
    """A client that asks hears which command runs."""
    heard: list[Any] = []
    ada.call(
        "verify", {"id": begun[0], "token": begun[1]}, progress=lambda *words: heard.append(words)
    )
    assert any("git status" in (words[2] or "") for words in heard)


def test_only_the_named_checks_run(ada: Agent, plan: Plan) -> None:
    """The others stay as they are."""
    ada.does("edit", id=plan["Notes"], verify=[["git", "status"], ["git", "log"]])
    answer = ada.does("verify", id=plan["Notes"], gates=["check-2"])
    assert [receipt["gate"] for receipt in answer["receipts"]] == ["check-2"]


def test_many_checks_fit_into_a_page(ada: Agent, plan: Plan) -> None:
    """Each gets its share of the room."""
    commands = [[sys.executable, "-c", f"print('{n}' * 5000)"] for n in range(1, 9)]
    ada.does("edit", id=plan["Notes"], verify=commands)
    reply = ada.call("verify", {"id": plan["Notes"]})
    assert len(reply.answer["receipts"]) == 8
    assert len(reply.text.encode()) <= 10_000


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, "invalid_input"),
        ({"command": []}, "invalid_input"),
        ({"command": "git status"}, "invalid_input"),
        ({"command": ["git", "status"], "gates": ["check-1"]}, "invalid_input"),
        ({"folder": "src", "id": "demo-1"}, "invalid_input"),
        ({"command": ["no-such-program-here"]}, "program_missing"),
        ({"command": ["git", "status"], "folder": ".."}, "path_outside"),
        ({"command": ["git"], "timeout_seconds": 3601}, "invalid_input"),
        ({"id": "demo-99"}, "not_found"),
        ({"id": "demo-1"}, "invalid_input"),
        ({"id": "demo-4", "gates": ["lint"]}, "not_found"),
    ],
)
def test_what_cannot_be_run_is_refused(
    ada: Agent, plan: Plan, arguments: dict[str, Any], error: str
) -> None:
    """Nothing to run, shell text, unknown gates, missing programs, folders outside."""
    assert ada.is_refused("verify", **arguments)["error"] == error


def test_no_shell_reads_the_words(workshop: Workshop, ada: Agent) -> None:
    """An argument is an argument."""
    words = [sys.executable, "-c", "import sys; print(sys.argv[1:])", "$(touch x)", ";", "&&"]
    answer = ada.does("verify", command=words)
    assert "$(touch x)" in answer["receipts"][0]["output_end"]
    assert not (workshop.root / "x").exists()


def test_a_retry_with_its_key_runs_once(workshop: Workshop, ada: Agent) -> None:
    words = [sys.executable, "-c", "open('ran', 'a').write('x')"]
    first = ada.does("verify", command=words, idempotency_key="k")
    assert ada.does("verify", command=words, idempotency_key="k") == first
    assert (workshop.root / "ran").read_text() == "x"
