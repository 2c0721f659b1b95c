"""What a hint asks the caller to do next, in the words of each surface.

A hint is written with acts in it: `hint=f"{Act.REOPEN} first."`. The text then holds a slot for each
act, and `say` fills the slots with the phrases of a face: a dialect names its tools, the command line
its commands. A phrase is an imperative in lower case; one that opens a sentence gets its capital here.
An act that a face has no phrase for is said in the plain words that stand below.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from counterpoint.kernel.matching.expressions import expression


class Act(Enum):
    """Something a caller may do next; the value is how to say it without naming a tool."""

    LOOK_UP = "check the id"
    READ_AGAIN = "read it again"
    LIST_BELOW = "see what stands below it"
    TAKE_OTHER_WORK = "take other work"
    START = "take the item up first"
    PROVE_CLAIM = "give the token that came with its claim"
    CONTINUE = "go on in another session"
    TAKE_OVER = "take over the work of that session in one of your own"
    RESUME = "go on with the session that you paused"
    NAME_SESSION = "name the session to take up"
    RECORD = "record it as a finding"
    VERIFY = "run its checks until they pass"
    GIVE_COMMAND = "name the command to run"
    SUBMIT = "hand in its artifact"
    HAND_IN = "hand it in, so that somebody who did not work on it judges it"
    SAY_WHY = "change what the review asks for, or say why it is handed in again as it is"
    REVIEW = "have somebody who did not work on it review it"
    WORK_ALONE = (
        "have somebody who did not work on it do it, or let people judge their own work here"
    )
    BY_PERSON = "a person does this in a terminal that no agent has started"
    CREDENTIAL = "from now on, give each agent a credential before it starts work"
    SIGN = "a person with a key can sign it"
    FIRST_KEY = "a key that is made there signs from any terminal"
    WAIVE = "have a person, or a maintainer who did not work on it, waive the gate"
    ASK_LESS = "a person can let this project ask for less of reviews"
    TRUST = "a person can trust what the project's configuration says"
    ALLOW_COMMAND = "a person lets it be run with"
    SET_ASIDE = "until then write down which command it waits for, and give the work back"
    CONFIGURE = "have a person do it, over a connection with a credential to maintain"
    REOPEN = "reopen it"
    NOT_AFTER = "let nothing come after it"
    RELEASE = "a person can free it"
    UNBLOCK = "resolve its blockers"
    KEEP_DOCUMENTS = "ask a person to let this project keep documents of its own"
    REDACT = "leave it to a person to take texts away"
    AUDIT = "run `counterpoint audit verify`"
    EXAMINE = "run `counterpoint doctor`"

    def __str__(self) -> str:
        """Return the slot that stands for the act in a hint."""
        return f"{{{self.name.lower()}}}"


Phrases = Mapping[Act, str]
"""How a face says acts: with its tools, or with commands."""

_SLOT = expression(r"(?P<opens>^|(?<=[.] ))?\{(?P<name>[a-z_]+)\}")


def say(hint: str, phrases: Phrases) -> str:
    """Return a hint with each act said in the phrases of a face."""

    def phrase(slot: re.Match[str]) -> str:
        act = Act.__members__.get(slot["name"].upper())
        if act is None:
            # Braces that no act is named in belong to the text: a hint may quote what was given.
            return slot[0]
        words = phrases.get(act, act.value)
        return words if slot["opens"] is None else words[:1].upper() + words[1:]

    return _SLOT.sub(phrase, hint)
