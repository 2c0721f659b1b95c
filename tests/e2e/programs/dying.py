"""The command line, killed where a function is entered or left: STEP@call:1 or STEP@return:2, then words."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Any

from counterpoint.cli.main import run

step, _, when = sys.argv[1].partition("@")
event, _, times = when.partition(":")
reached: list[str] = []


def watch(frame: FrameType, happened: str, _value: Any) -> None:
    """Kill this process when the step is reached for the last time."""
    if happened == event and frame.f_code.co_qualname == step:
        reached.append(step)
        if len(reached) == int(times):
            os.kill(os.getpid(), signal.SIGKILL)


sys.setprofile(watch)
sys.exit(run(sys.argv[2:]))
