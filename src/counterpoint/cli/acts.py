"""What a person runs for each act that a hint names."""

from __future__ import annotations

from typing import Final

from counterpoint.dialects.acts import Phrases
from counterpoint.kernel.acts import Act

COMMANDS: Final[Phrases] = {
    Act.LOOK_UP: "check the id with `counterpoint find` or `counterpoint list`",
    Act.READ_AGAIN: "read it again with `counterpoint show ID`",
    Act.LIST_BELOW: "`counterpoint list --parent ID` shows what is below",
    Act.TAKE_OTHER_WORK: "`counterpoint next` shows other work",
    Act.REVIEW: "judge it with `counterpoint approve ID` or `counterpoint reject ID`",
    Act.WAIVE: "waive the gate with `counterpoint waive ID GATE`",
    Act.REOPEN: "reopen it with `counterpoint reopen ID`",
    Act.RELEASE: "free it with `counterpoint release ID`",
    Act.UNBLOCK: "resolve its blockers with `counterpoint unblock ID`",
    Act.REDACT: "use `counterpoint audit redact`",
}
