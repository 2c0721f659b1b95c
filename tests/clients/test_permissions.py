"""What reaches our server, and what an agent may do, with what `counterpoint init` writes and nothing more."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest

from builders import let_run

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.xdist_group("clients"),
]
CREDENTIAL = "COUNTERPOINT_CREDENTIAL"
PLAN = "# Greeting\n- [ ] say hello\n  verify: true"


@pytest.mark.parametrize("given", ["set", "unset", "empty"])
def test_a_credential_reaches_the_server_of_each_client(
    bare: Any, scripted: ModuleType, run: Any, ask: Any, given: str
) -> None:
    """Set it is the principal of what the agent did; unset and empty it is none, and nothing is refused."""
    run(bare, "counterpoint", "init", "--yes", "--client", bare.name)
    made = json.loads(run(bare, "counterpoint", "agent", "create", "rae", "--json"))
    if given != "unset":
        bare.environ[CREDENTIAL] = made["credential"] if given == "set" else ""

    def script(heard: list[Any]) -> Any:
        if not heard:
            return scripted.Use(tool="note", arguments={"kind": "finding", "text": "begun"})
        return "It is noted."

    with scripted.Model(script) as model:
        bare.converse(model.url)
    bare.environ.pop(CREDENTIAL, None)
    assert model.faults == []
    (noted,) = ask(bare, "log", "--action", "finding.recorded")["entries"]
    principal = noted["actor"]["principal"]
    assert (principal["id"] == made["token"]["id"]) is (given == "set"), (principal, made)
