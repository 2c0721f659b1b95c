"""Which argument is offered for one that there is not: by what it means, on every surface."""

from __future__ import annotations

import pytest

from counterpoint.dialects.registry import names, surface
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.arguments import check

THINGS = ("item", "task", "issue", "id", "item_id", "taskId", "issue_id")
TEXTS = ("title", "status", "tags", "context", "kind")


@pytest.mark.parametrize("name", names())
def test_who_names_an_item_in_other_words_is_offered_no_text(name: str) -> None:
    """But the argument that is the id of one, if the tool takes one."""
    for tool in [part for whole in surface(name).tools for part in whole.parts]:
        known = tool.parameters.schema["properties"]
        assert isinstance(known, dict)
        for word in set(THINGS) - set(known) - set(tool.parameters.aliases):
            with pytest.raises(InvalidInput) as caught:
                check(tool.parameters, {word: "x"})
            (fault,) = [one for one in caught.value.facts["faults"] if one["path"] == word]
            assert fault.get("nearest") not in TEXTS, (tool.name, word)


@pytest.mark.parametrize(
    ("dialect", "tool", "given", "meant"),
    [
        ("native", "note", "item", "id"),
        ("native", "brief", "id", "item"),
        ("workflow", "log_issue", "id", "task_id"),
        ("workflow", "log_issue", "descripton", "description"),
        ("agentic", "session_end", "sessionId", "session_id"),
        ("agentic", "content_brief_get", "item_id", "id"),
        ("colibri", "thought_record", "task", "task_id"),
        ("colibri", "task_get", "task_id", "id"),
        ("symphony", "get_issue", "item", "issue_id"),
        ("symphony", "get_issue", "cursr", "cursor"),
        ("symphony", "update_memory", "name", "filename"),
    ],
)
def test_an_argument_is_offered_for_what_it_means(
    dialect: str, tool: str, given: str, meant: str
) -> None:
    """Before one that is near in letters."""
    found = next(one for one in surface(dialect).tools if one.name == tool).parameters
    with pytest.raises(InvalidInput, match=f"{given}: .* did you mean {meant}"):
        check(found, {given: "x"})
