"""The processor time of a person's command, beside bare Python started in the same round.

What only prints help loads no command; `status` opens a ledger with a plan in it. What others do meanwhile on the machine does
not count: a command waits for nothing but its own work.
"""

from __future__ import annotations

import compileall
import os
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

from _measure import alternate, asked, folder, median, publish, row

import counterpoint

_PLAN = "# Plan\n" + "".join(f"- [ ] Task {number}\n" for number in range(50))
_BUDGETS = {"--help": 6.0, "status": 8.0}


def spent() -> float:
    """Answer the seconds of processor time that the commands which have ended took."""
    taken = resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken.ru_utime + taken.ru_stime


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=15)
    compileall.compile_dir(str(Path(counterpoint.__file__).parent), quiet=1)
    with folder() as place:
        # One home for all: elsewhere the signer of what `init` made is not found.
        home = {**os.environ, "HOME": str(place)}
        run = partial(subprocess.run, cwd=place, check=True, capture_output=True, env=home)
        ours = (sys.executable, "-m", "counterpoint")
        run(["git", "init", "-q"])
        run([*ours, "init", "--yes", "--client", "claude"])
        run([*ours, "plan", "-"], input=_PLAN.encode())
        found = alternate(
            {
                "python": partial(run, [sys.executable, "-c", "pass"]),
                **{name: partial(run, [*ours, name]) for name in _BUDGETS},
            },
            wanted.rounds,
            warmup=1,
            clock=spent,
        )
    bare = median(found["python"])
    rows = [row("bare Python", found["python"])]
    rows += [
        row(name, found[name], floor=bare, beside="bare Python", most=most)
        for name, most in _BUDGETS.items()
    ]
    publish("command_line", rows)


if __name__ == "__main__":
    main()
