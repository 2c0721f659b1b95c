"""Makes a large plan, or cancels it, and is killed on the way: FOLDER DATABASE and a method that was left so many times."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Any

from acts import identity, open_shifted

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit

folder, db, method, times, *top = sys.argv[1:]
left: list[str] = []


def watch(frame: FrameType, happened: str, _value: Any) -> None:
    """Kill this process when the method is left for the last time."""
    if happened == "return" and frame.f_code.co_qualname == method:
        left.append(method)
        if len(left) == int(times):
            os.kill(os.getpid(), signal.SIGKILL)


tasks = tuple(Draft(kind="task", title=f"Okapi {number}") for number in range(450))
core = open_shifted(folder, db).core(identity("ada"))
sys.setprofile(watch)
if top:
    core.items.edit(top[0], Edit(status="cancelled"))
else:
    core.plans.create(Draft(kind="plan", title="Zoo", children=tasks))
