"""Where the program starts: picks what runs, and imports nothing heavy before it."""

from __future__ import annotations

import os
import sys

_MISSING = 3


def main() -> None:
    """Run the relay of an agent, its server, or the command line; leave with its exit code."""
    try:
        # Nearly everything asks for them, so a system without them is told so once and in words.
        import fcntl as _f
        import pwd as _p
        import resource as _r
    except ImportError as fault:
        sys.stderr.write(
            f"counterpoint: it runs on Linux and macOS, and this system has no `{fault.name}`\n"
            "On Windows run it, and the agents, inside WSL 2.\n"
        )
        sys.exit(_MISSING)
    del _f, _p, _r
    words = sys.argv[1:]
    if words[:1] == ["mcp"] and os.name == "posix":
        from counterpoint.relay.start import main as relay

        code = relay(words[1:], os.environ)
        if code is not None:
            sys.exit(code)
    if words[:1] == ["serve"]:
        from counterpoint.cli.server.serving import main as serve

        code = serve(words[1:])
        if code is not None:
            sys.exit(code)
    from counterpoint.cli.main import run

    sys.exit(run(words))


if __name__ == "__main__":
    main()
