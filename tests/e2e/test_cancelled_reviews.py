"""A review that is cancelled while its reviewers think: nobody is asked on, what was asked is told, and nothing half is kept."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import open_app
from counterpoint.evidence.running.configuration import read_checking
from fakes.reviews import beside_plan
from fakes.scripted_models import MODEL, Held, ModelServer

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

PATIENCE = 30.0
LOOKS = 10_000


def configured(folder: Path, models: dict[str, ModelServer]) -> None:
    """Have a person trust such reviewers."""
    said = "".join(
        f'[models.providers.{name}]\nkind = "chat"\naddress = "{one.address}"\nmodel = "{MODEL}"\n'
        for name, one in models.items()
    )
    (folder / "counterpoint.toml").write_text(said)
    app = open_app(folder, os.environ)
    app.itself().projects.trust(read_checking(folder), os.environ["PATH"])
    app.close()


def planned(client: Any, folder: Path) -> str:
    """Answer the id of a spec that has a plan."""
    (folder / "specs/.plans").mkdir(parents=True)
    (folder / "specs/.plans/sign.md").write_text("# Sign\n\n## Constraints\n\n- Works offline\n")
    plan = {"plan_path": ".plans/sign.md", "plan_review_path": ".plans/sign.md"}
    made = client.call("authoring", action="spec-create", name="Sign", mission="Sign", **plan)
    return made["data"]["spec_id"]


def cancel(client: Any, number: int) -> None:
    """Tell the server that nobody waits for a request any more."""
    told = {"method": "notifications/cancelled", "params": {"requestId": number}}
    client.write(json.dumps({"jsonrpc": "2.0", **told}).encode())


def used(client: Any, requests: int) -> dict[str, Any]:
    """Answer what models were asked for once that many times are told: a use is written while nobody waits for it."""
    for _ in range(LOOKS):
        told = client.call("content_usage_stats", period="day")
        if told["total_requests"] >= requests:
            return told
    raise AssertionError(told)


@pytest.mark.alike
@pytest.mark.parametrize("held", [Held(), Held("half of a review, said before it was cancelled")])
def test_a_cancelled_review_ends_its_request_and_can_be_called_again(
    folder: Path, connect: Callable[..., Any], held: Held
) -> None:
    """The provider sees its reader leave, the use is told as failed, nothing of a review is there, and the same call answers."""
    with ModelServer(held, beside_plan()) as models:
        configured(folder, {"local": models})
        client = connect(folder, "--surface", "foundry")
        looking = connect(folder, "--surface", "agentic")
        asked = {"action": "spec", "spec_id": planned(client, folder)}
        number = client.send("tools/call", {"name": "review", "arguments": asked})
        assert held.begun.wait(PATIENCE)
        cancel(client, number)
        assert held.ended.wait(PATIENCE)
        told = used(looking, 1)
        assert (told["failures"], told["total_output_tokens"], told["total_cost"]) == (
            *(1, 0, "0.0000"),
        )
        assert told["by_purpose"] == {"review-spec": {"count": 1, "cost": "0.0000"}}
        assert not (folder / "specs/.spec-reviews").exists()
        found = client.call("review", **asked)["data"]
        told = used(looking, 2)
    assert (found["verdict"], found["cached"], found["tokens_used"]) == ("aligned", False, 15)
    assert (told["failures"], told["total_output_tokens"], told["answered_before"]) == (1, 5, 0)
    assert len(models.questions) == 2
    assert models.questions[0]["messages"] == models.questions[1]["messages"]
    app = open_app(folder, os.environ)
    entries = [one.action for one in app.itself().audit.log(limit=50)]
    assert entries.count("review.written") == 1
    assert app.itself().audit.verify().faults == ()
    app.close()


def test_who_had_answered_before_the_cancellation_is_not_paid_twice(
    folder: Path, connect: Callable[..., Any]
) -> None:
    """Of two reviewers one has answered and one thinks: the same call asks only the one who had not."""
    held = Held()
    with ExitStack() as stack:
        quick = stack.enter_context(ModelServer(beside_plan()))
        slow = stack.enter_context(ModelServer(held, beside_plan()))
        configured(folder, {"quick": quick, "slow": slow})
        client = connect(folder, "--surface", "foundry")
        looking = connect(folder, "--surface", "agentic")
        asked = {"action": "spec", "spec_id": planned(client, folder)}
        asked |= {"ai_tools": ["quick", "slow"]}
        number = client.send("tools/call", {"name": "review", "arguments": asked})
        assert held.begun.wait(PATIENCE)
        used(looking, 1)
        cancel(client, number)
        assert held.ended.wait(PATIENCE)
        used(looking, 2)
        found = client.call("review", **asked)["data"]
        told = used(looking, 3)
    assert found["consensus"]["mode"] == "multi_model"
    assert (len(quick.questions), len(slow.questions)) == (1, 2)
    assert (told["answered_before"], told["failures"], told["total_output_tokens"]) == (1, 1, 10)
