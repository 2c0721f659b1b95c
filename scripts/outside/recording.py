"""Records the outside of a checkout: every scene on a fresh stage, in the server's two ways."""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from drill import drill_keys
from scenes import agentic, colibri, commands, native, symphony, workflow
from stage import Stage

SURFACES: dict[str, Callable[[Stage], None]] = {
    "native": native.play,
    "symphony": symphony.play,
    "workflow": workflow.play,
    "agentic": agentic.play,
    "colibri": colibri.play,
}
WORDS = {"colibri": ("--colibri-proofs",)}
"""Words with which the server of a surface lists all of its tools."""
AT_ONCE = 2


def record(checkout: Path, only: str = "") -> dict[str, Any]:
    """Return every step of every scene by name; only: those whose name contains it."""
    scenes = [("commands", ())] + [
        (f"{name}{way}", ("--surface", name, *words))
        for name in SURFACES
        for way, words in (("", ("--in-process",)), (" through the relay", ()))
    ]
    wanted = [scene for scene in scenes if only in scene[0]]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        played = pool.map(lambda scene: _scene(checkout, *scene), wanted)
        return {name: steps for (name, _), steps in zip(wanted, played, strict=True)}


def _scene(checkout: Path, name: str, words: tuple[str, ...]) -> dict[str, Any]:
    began = time.monotonic()
    with Stage(checkout, *words) as stage:
        try:
            _play(stage, name)
        except Exception:  # noqa: BLE001 -- what broke the scene off is a part of the record
            traceback.print_exc()
            stage.step("the scene broke off", traceback.format_exc(0).splitlines)
        finally:
            stage.leave()
        steps = stage.steps()
    print(f"{name}: {len(steps)} steps, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return steps


def _play(stage: Stage, name: str) -> None:
    if name == "commands":
        commands.play(stage)
        return
    surface = name.split(maxsplit=1)[0]
    SURFACES[surface](stage)
    stage.leave()
    commands.views(stage)
    stage.files()
    drill_keys(stage.agent("fay", *WORDS.get(surface, ())))


def write(record_: dict[str, Any], path: Path) -> None:
    """Write a record as JSON that can be read and compared line by line."""
    path.write_text(json.dumps(record_, indent=1, ensure_ascii=False) + "\n", "utf-8")
