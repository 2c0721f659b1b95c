"""What people do at the command line for agents whose dialect has no tool for it.

Each dialect has one table, act → phrase with the tool that does it. What it has no tool for, or none
that this connection may call, is said as a person's command; what no person does is said in plain
words. Tools and commands stand in backticks, a command with the name of the program before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from counterpoint.kernel.acts import Act

Phrases = Mapping[Act, str]

PEOPLE: Final[Phrases] = {
    Act.REVIEW: "have it judged by an agent who did not work on it, or by a person:"
    " `counterpoint approve ID` or `counterpoint reject ID`",
    Act.WAIVE: "leave the gate to an agent who did not work on it, or to a person:"
    " `counterpoint waive ID GATE`",
    Act.VERIFY: "have its checks run by a client that can, or waived by a person:"
    " `counterpoint waive ID GATE`",
    Act.SUBMIT: "have its artifact handed in by a client that can, or waived by a person:"
    " `counterpoint waive ID GATE`",
    Act.REOPEN: "ask a person to reopen it: `counterpoint reopen ID`",
    Act.RELEASE: "a person can free it with `counterpoint release ID`",
    Act.UNBLOCK: "ask a person to resolve its blockers: `counterpoint unblock ID`",
    Act.REDACT: "ask a person: `counterpoint audit redact`",
}

_TOOL: Final = re.compile(r"`([a-z_]+)`")


def phrases_of(own: Phrases, tools: Collection[str]) -> Phrases:
    """Return a dialect's phrases for a connection that may call these tools."""
    open_ = {act: text for act, text in own.items() if set(_TOOL.findall(text)) <= set(tools)}
    return {**PEOPLE, **open_}
