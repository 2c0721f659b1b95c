"""What installs a library that only some need, in the way this program was installed."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

Extra = Literal["documents", "keyring", "postgres", "top"]

_LIBRARIES: Final[dict[Extra, str]] = {
    "documents": "pypdf",
    "keyring": "keyring",
    "postgres": "psycopg[binary]",
    "top": "textual",
}
_PIPX: Final = "pipx_metadata.json"
"""What pipx leaves in an environment that it has made."""


def install_hint(extra: Extra) -> str:
    """Return the sentence that says how to install an extra: by pipx, pip or uv, into this environment."""
    library = _LIBRARIES[extra]
    if (Path(sys.prefix) / _PIPX).exists():
        command = ["pipx", "inject", "counterpoint", library]
    elif find_spec("pip") is not None:
        command = [sys.executable, "-P", "-m", "pip", "install", library]
    else:
        # An environment of uv has no pip.
        command = ["uv", "pip", "install", "--python", sys.prefix, library]
    return f"Run `{shlex.join(command)}` (the extra `counterpoint[{extra}]`)."
