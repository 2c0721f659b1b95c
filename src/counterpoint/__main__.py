"""Where the program starts: picks what runs, and imports nothing heavy before it."""

from __future__ import annotations

import os
import sys

_MISSING = 3
_STOPPED = 130


def main() -> None:
    """Run the relay of an agent, its server, or the command line; leave with its exit code."""
    try:
        _start()
    except KeyboardInterrupt:
        # It was still loading: what runs after that says it itself.
        sys.stderr.write("Stopped.\n")
        sys.exit(_STOPPED)


def _start() -> None:
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
    if words[:2] == ["event", "--hook"] and words[2:] and not words[3:]:
        from counterpoint.cli.clients.sending import main as report

        os._exit(report(words[2], os.environ))
    if words[:1] == ["serve"]:
        from counterpoint.cli.server.serving import main as serve

        code = serve(words[1:])
        if code is not None:
            sys.exit(code)
    from counterpoint.kernel.starting.restart import restart_without_loaders

    restart_without_loaders(words, os.environ)
    from counterpoint.kernel.starting.garbage import search_seldom

    search_seldom()
    from counterpoint.kernel.starting.later import load_when_asked

    load_when_asked("inspect", "ipaddress", "secrets")
    from counterpoint.cli.main import run

    _leave(run(words))


def _leave(code: int) -> None:
    """End the process. Where nobody waits for its end, what it has loaded is not taken down piece by piece.

    That was a tenth of a short command. Whoever has something to do at the end has imported `atexit`.
    """
    threads = sys.modules.get("threading")
    if "atexit" in sys.modules or (threads is not None and threads.active_count() > 1):
        sys.exit(code)
    from contextlib import suppress

    # What cannot be said any more is lost at an ordinary end too.
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
