"""What a person runs for each act that a hint names."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from counterpoint.kernel.acts import Act, Phrases
from counterpoint.kernel.errors import CounterpointError
from counterpoint.kernel.matching.expressions import expression

HOW_APART: Final = (
    "`sudo counterpoint service install`"
    if sys.platform.startswith("linux")
    else "a service (docs/service.md)"
)
"""What gives the ledger and its signer an account of their own."""

_COMMAND = expression(r"`counterpoint [^`]*`")
_PLACEHOLDER = expression(r"\bID\b")
_ITEM = expression(r"(?<![\w-])(?!check-)[a-z0-9]+(?:-[a-z0-9]+)*-\d+(?![\w-])")

PHRASES: Final[Phrases] = {
    Act.LOOK_UP: "check the id with `counterpoint find` or `counterpoint list`",
    Act.READ_AGAIN: "read it again with `counterpoint show ID`",
    Act.GIVE_COMMAND: "add one with `counterpoint edit ID --check COMMAND`",
    Act.START: "take it up with `counterpoint start ID`",
    Act.PROVE_CLAIM: "take it up with `counterpoint start ID`",
    Act.CONTINUE: "run it again: your next command begins another session",
    Act.TAKE_OVER: "take over what a session left with `counterpoint handoff continue SESSION`",
    Act.RECORD: "write it down with `counterpoint note TEXT`",
    Act.LIST_BELOW: "`counterpoint list --parent ID` shows what is below",
    Act.TAKE_OTHER_WORK: "`counterpoint next` shows other work",
    Act.VERIFY: "run its checks with `counterpoint check ID`, or waive them with"
    " `counterpoint waive ID GATE --reason TEXT`",
    Act.SUBMIT: "hand its artifact in with `counterpoint submit ID --artifact FILE`, or waive it with"
    " `counterpoint waive ID GATE --reason TEXT`",
    Act.HAND_IN: "hand it in with `counterpoint submit ID`, so that somebody who did not work on it judges it",
    Act.SAY_WHY: "change what the review asks for, or say why it is handed in again as it is with"
    " `counterpoint submit ID --reason TEXT`",
    Act.REVIEW: "somebody else judges it: an agent who did not work on it, or a person with"
    " `counterpoint approve ID`",
    Act.WORK_ALONE: "an agent that did not work on it judges it: `counterpoint agent create reviewer` makes the"
    " credential to start one with; or another person does, with `counterpoint approve ID`; or, where you work alone,"
    " sign `counterpoint policy --reviews self`, and people here judge their own work",
    Act.WAIVE: "a person who did not work on it waives the gate:"
    " `counterpoint waive ID GATE --reason TEXT`",
    Act.BY_PERSON: "a person does this in a terminal that no agent has started: one that was open before"
    " the agents, or a login, as with ssh to this machine",
    Act.FIRST_KEY: "once you have made a key there with `counterpoint key add`, you can sign from any terminal",
    Act.CREDENTIAL: "from now on, give each agent a credential before it starts work:"
    " `counterpoint agent create NAME`",
    Act.SIGN: "if you are a person, sign it with a key of yours, in a terminal: `counterpoint key add`"
    " makes one",
    Act.ASK_LESS: "a person can let names be enough here: `counterpoint policy --reviews declared`",
    Act.TRUST: "a person looks at counterpoint.toml, and trusts it with `counterpoint trust`",
    Act.ALLOW_COMMAND: "let it be run with",
    Act.SET_ASIDE: "or give the work back: `counterpoint note ID TEXT --kind blocker`, then"
    " `counterpoint finish ID --outcome partial --summary TEXT`",
    Act.REOPEN: "reopen it with `counterpoint reopen ID`",
    Act.NOT_AFTER: "take it out of what has to be done before with `counterpoint edit --not-after`",
    Act.RELEASE: "a person can free it with `counterpoint release ID`",
    Act.UNBLOCK: "resolve its blockers with `counterpoint unblock ID`",
    Act.KEEP_DOCUMENTS: "turn it on with `counterpoint vault on`",
    Act.REDACT: "a person takes texts away: `counterpoint audit redact`",
}


def name_item(hint: str, item: str) -> str:
    """Return a hint with the id of an item in place of `ID` in its commands, so that they can be typed as they stand."""

    def command(match: re.Match[str]) -> str:
        return _PLACEHOLDER.sub(item, match[0])

    return _COMMAND.sub(command, hint)


@contextmanager
def name_item_in_hints(item: str) -> Generator[None]:
    """Name an item in the commands that a refusal hints at, which does not say itself what it is about."""
    try:
        yield
    except CounterpointError as refusal:
        refusal.steps = name_item(refusal.hint_in(PHRASES), item)
        raise


def name_item_of(hint: str, message: str) -> str:
    """Return a hint with the only item that it, or else its refusal, names in its commands; as it is if those name none, or several."""
    for text in (hint, message):
        items = {match[0] for match in _ITEM.finditer(text)}
        if len(items) == 1:
            return name_item(hint, items.pop())
    return hint
