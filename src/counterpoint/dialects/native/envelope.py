"""The shape of refusals.

A refusal is `{"error", "kind", "message", "hint", "retryable", …facts}`, as `refusal_to_json` tells.
"""

from __future__ import annotations

from typing import Final

from counterpoint.dialects.envelope import PEOPLE, refusal_to_json
from counterpoint.kernel.acts import Act, Phrases
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError

PHRASES: Final[Phrases] = {
    **PEOPLE,
    Act.LOOK_UP: "check the id with `find` or `list`",
    Act.READ_AGAIN: "read it again with `show`",
    Act.LIST_BELOW: "`list` with its id as parent shows what is below",
    Act.TAKE_OTHER_WORK: "take other work with `next`",
    Act.START: "claim the item with `start` first",
    Act.PROVE_CLAIM: "pass the token that `start` answered; `brief` shows it where calls have a session",
    Act.CONTINUE: "continue it in a new session with `handoff`, action continue",
    Act.TAKE_OVER: "take over another session's work with `handoff`, action continue",
    Act.RESUME: "go on with `handoff`, action resume",
    Act.NAME_SESSION: "name the session that the last handoff in `brief` comes from",
    Act.RECORD: "write a finding with `note`",
    Act.VERIFY: "run `verify` on it until it passes",
    Act.SET_ASIDE: "until then write down with `note`, kind blocker, which command it waits for, and give the task"
    " back with `finish`, outcome partial",
    Act.GIVE_COMMAND: "pass a command as a list of arguments, or add a check with `edit`",
    Act.SUBMIT: "hand in its artifact with `submit`",
    Act.HAND_IN: "hand it in with `submit`, so that another agent, which did not work on it, or a"
    " person judges it",
    Act.SAY_WHY: "change what the review asks for, or say in `reason` why it is handed in again as it is",
    Act.REVIEW: "have another agent, which did not work on it, `review` it, or a person:"
    " `counterpoint approve ID` or `counterpoint reject ID`",
    Act.REOPEN: "reopen it with `edit`",
    Act.NOT_AFTER: "let nothing come after it with `edit`, `remove_after`",
    Act.UNBLOCK: "resolve its blockers with `note`",
}


def refuse(refusal: CounterpointError) -> Json:
    """Return a refusal as an object that a caller can act on."""
    return refusal_to_json(refusal, PHRASES)
