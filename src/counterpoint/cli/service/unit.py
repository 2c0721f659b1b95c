"""Starts and stops a service: by a unit of systemd where that runs, else by a command to type."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Final

from counterpoint.cli.service.handover import Service, run_program

UNITS: Final = Path("/etc/systemd/system")
_RUNS: Final = Path("/run/systemd/system")

_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "%": "%%", "$": "$$"}

HARDENING: Final = """\
# It needs nothing else of the machine.
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateIPC=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
LockPersonality=yes
RemoveIPC=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
# Callers are told apart by their processes, which it must see (not ProtectProc=invisible).
ProtectProc=default
# Witnesses elsewhere need the network: add AF_INET AF_INET6 and take the next line away.
RestrictAddressFamilies=AF_UNIX
PrivateNetwork=yes
"""


def has_systemd() -> bool:
    """Return whether systemd starts the services of this machine."""
    return _RUNS.is_dir()


def unit_file(service: Service) -> Path:
    """Return where the unit of a service lies."""
    return UNITS / f"{service.account}-{service.name}.service"


def unit_of(service: Service) -> str:
    """Return the unit of a service."""
    run = service.socket.parent.name
    first, *words = service.command
    # In the path of a program nothing is taken for a variable.
    program = _quote(first).replace("$$", "$")
    return f"""\
# Written by `counterpoint service install`; `counterpoint service remove` takes it away.

[Unit]
Description=Counterpoint, the shared memory of work, for {service.name}

[Service]
Type=exec
User={service.account}
Group={service.account}
Environment=HOME={service.home}
ExecStart={program} {" ".join(map(_quote, words))}
Restart=on-failure

# The ledger and the signer: nobody else opens this folder.
StateDirectory={service.account} {service.account}/{service.name}
StateDirectoryMode=0700
# The socket: everybody finds it, the server decides who comes in.
RuntimeDirectory={run}
RuntimeDirectoryMode=0755
UMask=0077

{HARDENING}
[Install]
WantedBy=multi-user.target
"""


def start_line(service: Service) -> str:
    """Return what starts a service by hand, also after the machine was started anew."""
    folder = shlex.quote(str(service.socket.parent))
    return (
        f"sudo install -d -o {service.account} -m 0755 {folder} &&"
        f" sudo -u {service.account} -H {shlex.join(service.command)}"
    )


def start(service: Service) -> None:
    """Have systemd start a service now and with the machine; Unavailable."""
    file = unit_file(service)
    file.write_text(unit_of(service), encoding="utf-8")
    file.chmod(0o644)
    run_program("systemctl", "daemon-reload")
    run_program("systemctl", "enable", file.name)
    # One that runs already may have been told of other accounts.
    run_program("systemctl", "restart", file.name)


def stop(service: Service) -> None:
    """Have systemd end a service, and start it no more; Unavailable."""
    file = unit_file(service)
    if file.exists():
        run_program("systemctl", "disable", "--now", file.name)
        file.unlink()
        run_program("systemctl", "daemon-reload")


def _quote(word: str) -> str:
    """Return a word as a line of a unit has it, in which nothing of it is expanded (systemd.syntax, systemd.service).

    What is no printable character of ASCII is written as its bytes, so that no word ends its line.
    """
    if word.isascii() and word.replace("/", "").isalnum():
        return word
    return f'"{"".join(map(_escape, os.fsencode(word)))}"'


def _escape(byte: int) -> str:
    character = chr(byte)
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isascii() and character.isprintable() else f"\\x{byte:02x}"
