"""Steps of unattended runs over real servers: killed after any answer, and asked by several at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from counterpoint.app import App
from counterpoint.protocol.rendezvous import find_rendezvous

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]

FOUNDRY = ("--surface", "foundry")
SPEC = "Step it"
TASKS = 6
Connect = Callable[..., Any]


def begun(client: Any, folder: Path) -> str:
    """Begin a run of a spec with a phase of some tasks; answer its session."""
    (folder / "plan.md").write_text("# Plan\n")
    plans = {"plan_path": str(folder / "plan.md"), "plan_review_path": str(folder / "plan.md")}
    made = client.call("authoring", action="spec-create", name=SPEC, **plans)
    spec = made["data"]["spec_id"]
    client.call("authoring", action="phase-add", spec_id=spec, title="One")
    for number in range(TASKS):
        client.call("task", action="add", spec_id=spec, parent="phase-1", title=f"Do {number}")
    told = client.call("task", action="session", command="start", spec_id=spec)
    return told["data"]["session_id"]


def step(client: Any, session: str, command: str = "next", **given: Any) -> dict[str, Any]:
    """Give a command to the steps of a run."""
    asked = {"action": "session-step", "command": command, "session_id": session, **given}
    return client.call("task", **asked)["data"]


def result(told: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Answer the report of a step."""
    out = told["next_step"]
    about = {"task_id": out["task_id"], "step_type": out["type"], "step_proof": out["step_proof"]}
    return {"step_id": out["step_id"], "outcome": "success", **about, **more}


def kill(folder: Path) -> None:
    """Kill the server of a folder."""
    told = find_rendezvous(folder / ".counterpoint" / "ledger.db").ask("status")
    assert told is not None
    os.kill(told["pid"], signal.SIGKILL)


def test_a_lost_answer_is_told_again_by_a_server_that_was_killed(
    connect: Connect, repository: Path, assert_whole: Callable[[App], None], app: App
) -> None:
    """The step with its proof, over any connection of the agent; and the answer to its report, as often as it is asked for."""
    client = connect(repository, *FOUNDRY)
    session = begun(client, repository)
    told = step(client, session)
    for _ in range(2):
        kill(repository)
        client = connect(repository, *FOUNDRY)
        assert step(client, session, "replay") == told
        given = {"last_step_result": result(told)}
        answered = step(client, session, **given)
        kill(repository)
        client = connect(repository, *FOUNDRY)
        assert step(client, session, **given) == answered
        assert step(client, session, "replay") == answered
        told = answered
    done = client.call("task", action="session", command="status", session_id=session)["data"]
    assert done["counters"]["tasks_completed"] == 2
    assert_whole(app)


def at_once(acts: Sequence[Callable[[], Any]]) -> list[Any]:
    """Do some things at the same time; answer what came of each, or how it was refused."""
    found: list[Any] = [None] * len(acts)
    start = threading.Barrier(len(acts))

    def run(place: int) -> None:
        start.wait()
        try:
            found[place] = acts[place]()
        except Exception as refused:  # noqa: BLE001 -- what it is, the test looks at
            found[place] = refused

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_two_reports_of_one_step_at_once_count_once(
    connect: Connect,
    repository: Path,
    wire: ModuleType,
    assert_whole: Callable[[App], None],
    app: App,
) -> None:
    """The same report hears the same twice; of two different ones one is taken, and the other is refused."""
    one, other = (connect(repository, *FOUNDRY) for _ in range(2))
    session = begun(one, repository)
    told = step(one, session)
    for number in range(TASKS):
        is_same = number % 2 == 0
        notes = ["done", "done" if is_same else "done otherwise"]
        acts = [
            lambda who=who, note=note, told=told: step(
                who, session, last_step_result=result(told, note=note)
            )
            for who, note in zip((one, other), notes, strict=True)
        ]
        found = at_once(acts)
        taken = [each for each in found if isinstance(each, dict)]
        refused = [each for each in found if not isinstance(each, dict)]
        if is_same:
            assert taken[0] == taken[-1], found
            assert len(taken) == 2, found
        else:
            assert len(taken) == 1, found
            assert isinstance(refused[0], wire.Refused), found
            code = refused[0].answer["data"]["error_code"]
            assert code == "STEP_PROOF_CONFLICT", refused[0]
        told = taken[0]
    done = one.call("task", action="session", command="status", session_id=session)["data"]
    assert done["counters"]["tasks_completed"] == TASKS
    assert_whole(app)


def test_two_questions_at_once_get_one_step(
    connect: Connect, repository: Path, wire: ModuleType
) -> None:
    """Whoever comes second is told that it is out."""
    one, other = (connect(repository, *FOUNDRY) for _ in range(2))
    session = begun(one, repository)
    found = at_once([lambda who=who: step(who, session) for who in (one, other)])
    taken = [each for each in found if isinstance(each, dict)]
    refused = [each for each in found if isinstance(each, wire.Refused)]
    assert (len(taken), len(refused)) == (1, 1), found
    assert refused[0].answer["data"]["error_code"] == "STEP_RESULT_REQUIRED"
