"""What takes up orphans, as the first process of a machine does: runs a program that outlives whoever started it."""

from __future__ import annotations

import ctypes
import os
import sys

_CHILD_SUBREAPER = 36
_OWN = {"PYTHONHOME", "LD_LIBRARY_PATH"}
"""What this copy of the interpreter needs to find its library, and what it starts does not."""

ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
environ = {name: text for name, text in os.environ.items() if name not in _OWN}
child = os.spawnve(os.P_NOWAIT, sys.argv[1], sys.argv[1:], environ)  # noqa: S606 -- it is given by a test
# Its own ends of the pipes would keep whoever reads from hearing that the program has ended.
os.close(0)
os.close(1)
while os.wait()[0] != child:
    pass
