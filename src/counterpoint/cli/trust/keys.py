"""Keys of people at the command line: made or taken up, listed, revoked, shown."""

from __future__ import annotations

from pathlib import Path

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import Group, examples
from counterpoint.cli.local_time import local_time, time_heading
from counterpoint.cli.trust import file_arguments, signing
from counterpoint.cli.trust.describe_keys import recovery_remark, state_of
from counterpoint.cli.trust.enrolling import (
    add_made,
    enrol,
    key_to_json,
    recover_key,
    revoke_key,
)
from counterpoint.core.ledger.people import sshsig
from counterpoint.core.model.identity import Key
from counterpoint.evidence.trust import personal, ssh
from counterpoint.evidence.trust.personal import HeldKey
from counterpoint.kernel.errors import Conflict, Forbidden, InvalidInput, MalformedDocument
from counterpoint.kernel.plurals import counted

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_GIT = "git"


@click.group("key", cls=Group)
def key_command() -> None:
    """Manage the keys that people sign with.

    Your own keys, and those of others.
    """


@key_command.command("add", epilog=examples("counterpoint key add", "counterpoint key add --ssh"))
@click.option("--name", metavar="TEXT", help="The key's owner.  [default: your name]")
@click.option(
    "--ssh",
    "ssh_key",
    is_flag=False,
    flag_value=_GIT,
    metavar="PATH",
    help="Use your SSH key; without PATH the one that git signs commits with.",
)
@click.option(
    "--agent-asks", is_flag=True, help="The SSH agent asks before each use (`ssh-add -c`)."
)
@click.option("--public", type=_FILE, help="Enrol this public key of somebody else.")
@with_context
def add(
    context: CommandContext,
    *,
    name: str | None,
    ssh_key: str | None,
    agent_asks: bool,
    public: Path | None,
) -> None:
    """Make a key under a passphrase, or enrol one you have.

    The first key of a project signs its own enrolment. A key already enrolled must sign every further one.
    """
    owner = name or context.core.caller.actor.name
    if public is not None:
        if ssh_key is not None or name is None:
            raise click.UsageError("--public goes with --name, and not with --ssh.")
        line = file_arguments.text_of(public)
        enrol(context, _public(line), owner, "ssh", None)
        return
    signing.refuse_no_terminal()
    if ssh_key is None:
        add_made(context, owner)
    else:
        _add_ssh(context, owner, ssh_key, agent_asks=agent_asks)


@key_command.command(
    "recover", epilog=examples("counterpoint key recover --reason 'The laptop was lost'")
)
@click.option("--reason", required=True, metavar="TEXT", help="Why; it stays in the ledger.")
@click.option("--name", metavar="TEXT", help="The key's owner.  [default: your name]")
@click.option("--ssh", "ssh_key", metavar="PATH", help="Use your SSH key instead of making a key.")
@click.option(
    "--agent-asks", is_flag=True, help="The SSH agent asks before each use (`ssh-add -c`)."
)
@with_context
def recover(
    context: CommandContext, *, reason: str, name: str | None, ssh_key: str | None, agent_asks: bool
) -> None:
    """Enrol a key of yours when all keys in force are lost.

    It opens an epoch. Every later verification says that only the signer confirmed this key.
    """
    owner = name or context.core.caller.actor.name
    signing.refuse_no_terminal()
    recover_key(
        context,
        owner,
        reason,
        None if ssh_key is None else _ssh_key(context, ssh_key, agent_asks=agent_asks),
    )


def _add_ssh(context: CommandContext, owner: str, path: str, *, agent_asks: bool) -> None:
    key = _ssh_key(context, path, agent_asks=agent_asks)
    # Before it is signed: where several people sign, the command ends with the proposal.
    personal.remember(signing.folder(context), key.public_key, key.storage, key.path)
    enrol(context, key.public_key, owner, key.storage, key)


def _ssh_key(context: CommandContext, path: str, *, agent_asks: bool) -> HeldKey:
    if path == _GIT:
        path = ssh.configured(context.app.places.tree, context.app.environ)
        if not path:
            raise InvalidInput(
                "git signs no commits with an SSH key here",
                hint="Name your key: `counterpoint key add --ssh ~/.ssh/id_ed25519`.",
            )
    key = ssh.look_up(path)
    if key.storage == "agent" and not agent_asks:
        raise Forbidden(
            "the private key is with an SSH agent, which signs for whatever runs under your account",
            hint="Add it to the agent with `ssh-add -c`, so that it asks you each time, and repeat"
            " this with --agent-asks.",
        )
    return HeldKey(
        id=sshsig.key_id_of(key.public_key),
        public_key=key.public_key,
        storage=key.storage,
        path=key.path,
    )


@key_command.command("list", epilog=examples("counterpoint key list"))
@with_context
def list_(context: CommandContext) -> None:
    """List all keys ever enrolled, and which of them you hold here."""
    own_ids = {key.id for key in personal.held(signing.folder(context))}
    keys = context.core.people.list()
    context.out.rows(
        [{**key_to_json(key), "held_here": key.id in own_ids} for key in keys],
        ("id", "owner", "state", "kind", "here", time_heading("since")),
        [
            (
                key.id,
                key.owner,
                ", ".join(filter(None, (state_of(key), recovery_remark(key)))),
                key.storage,
                "yes" if key.id in own_ids else "",
                local_time(key.enrolled_at),
            )
            for key in keys
        ],
        aside="Nobody has a key. Make yours with `counterpoint key add`.",
    )


@key_command.command(
    "revoke", epilog=examples("counterpoint key revoke ann --reason 'The laptop was lost'")
)
@click.argument("which", metavar="ID|OWNER")
@click.option("--reason", required=True, metavar="TEXT", help="Why; recorded in the ledger.")
@with_context
def revoke(context: CommandContext, *, which: str, reason: str) -> None:
    """Revoke a key: earlier signatures stay valid, later ones do not count."""
    revoke_key(context, which, reason)


@key_command.command("export", epilog=examples("counterpoint key export allowed_signers"))
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@with_context
def export(context: CommandContext, *, file: Path | None) -> None:
    """Write the public keys in the format of `ssh-keygen -Y verify` and git (allowed_signers)."""
    lines = [_allowed(key) for key in context.core.people.list()]
    if file is None:
        context.out.result({"allowed_signers": list(lines)}, *lines, is_exact=True)
        return
    if file.exists():
        raise Conflict(f"{file} is there already", hint="Choose another name.")
    with file_arguments.write_errors(file), file.open("x", encoding="utf-8") as sink:
        sink.writelines(f"{line}\n" for line in lines)
    context.out.result(
        {"file": str(file), "keys": len(lines)}, f"Wrote {counted(len(lines), 'key')} to {file}."
    )


def _allowed(key: Key) -> str:
    """Return the line of a key: valid from when it was enrolled until it was revoked."""
    names = "".join(letter if letter.isalnum() or letter in "@.-_" else "_" for letter in key.owner)
    options = [f'namespaces="{sshsig.NAMESPACE}"', f'valid-after="{_moment(key.enrolled_at)}"']
    if key.revoked_at:
        options.append(f'valid-before="{_moment(key.revoked_at)}"')
    return f"{names} {','.join(options)} {key.public_key}"


def _moment(time: str) -> str:
    return "".join(letter for letter in time[:19] if letter.isdigit()) + "Z"


def _public(line: str) -> str:
    try:
        return sshsig.public_key_of(line)
    except MalformedDocument as fault:
        raise InvalidInput(f"this is no public key that can be used: {fault.message}") from fault
