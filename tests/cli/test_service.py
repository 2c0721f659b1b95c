"""What gives a ledger an account of its own, as far as it needs no second account; tests/e2e/test_service_account.py has the rest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from counterpoint.cli.server.serve import serve_command
from counterpoint.cli.service import handover
from counterpoint.cli.service.accounts import find_account
from counterpoint.cli.service.command import _check_words
from counterpoint.cli.service.handover import Handover, Service, load_service, write_record
from counterpoint.cli.service.unit import HARDENING, start_line, unit_of
from counterpoint.kernel import places
from counterpoint.kernel.errors import InvalidInput, LedgerBroken

COMMAND = "counterpoint service install"
UNIT = Path(__file__).parents[2] / "packaging" / "systemd" / "counterpoint@.service"


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """Give the service of a project whose owner runs the tests."""
    owner = find_account(os.getuid())
    assert owner is not None
    return Service(
        name="shop",
        project="shop",
        ledger="led_1",
        account="no-such-account",
        owner=owner.name,
        tree=str(tmp_path),
        database=str(tmp_path / ".counterpoint" / "ledger.db"),
        state=str(tmp_path / "state"),
        users=(owner.name, "bob"),
        program=("/opt/with space/python", "-P", "-m", "counterpoint"),
    )


def test_what_keeps_agents_from_the_files_is_named_where_people_look(call, ledger):
    """`init` ends with it and asks nothing about it; `status --long` and `doctor` repeat it."""
    begun = call("init", "--yes")
    assert COMMAND in begun.out.strip().splitlines()[-1]
    assert COMMAND in call("status", "--long").out
    assert COMMAND not in call("status").out
    checks = call("doctor", "--json").json["checks"]
    (account,) = (one["found"] for one in checks if one["name"] == "account")
    assert COMMAND in account


def test_each_step_is_said_and_the_ledger_is_verified_before_the_owner_loses_it(service):
    """The steps of both ways, in their order."""
    owner = find_account(service.owner)
    assert owner is not None
    given = Handover(service=service, owner=owner)
    verbs = [step.text.split()[0] for step in given.steps()]
    assert verbs == ["make", "make", "write", "stop", "copy", "copy", "copy", "verify", "remove"]
    assert [step.text.split()[0] for step in given.steps_back()] == [
        *("stop", "copy", "copy", "verify", "remove"),
    ]


def test_the_unit_is_as_hard_as_the_one_in_packaging_and_starts_what_there_is(service, tmp_path):
    """It says the same lines; its words are those of the command, however the program is named."""
    text = unit_of(service)
    assert HARDENING in text
    assert HARDENING in UNIT.read_text()
    assert 'ExecStart="/opt/with space/python" "-P" "-m" counterpoint serve "--db"' in text
    words = service.command[service.command.index("serve") + 1 :]
    with serve_command.make_context("serve", words) as context:
        assert context.params["users"] == (service.owner, "bob")
    assert start_line(service).startswith("sudo install -d -o no-such-account -m 0755 /run/no-such")
    if shutil.which("systemd-analyze"):
        file = tmp_path / "shop.service"
        file.write_text(text)
        ran = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(file)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "Unknown" not in ran.stderr


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("a\nExecStartPre=+/bin/sh", '"a\\x0aExecStartPre=+/bin/sh"'),
        ("a\\", '"a\\\\"'),
        ('%n "$HOME" ${X}', '"%%n \\"$$HOME\\" $${X}"'),
        ("; rm", '"; rm"'),
        ("\x1b'\t\r", '"\\x1b\'\\x09\\x0d"'),
        ("caf\u00e9\udcff", '"caf\\xc3\\xa9\\xff"'),
        ("", '""'),
    ],
)
def test_no_name_ends_its_line_in_a_unit_or_is_expanded_there(service, tmp_path, word, quoted):
    """As systemd reads quotes, escapes, specifiers and variables; a control character is refused before."""
    text = unit_of(replace(service, project=word))
    assert f'"--project" {quoted} "--socket"' in text
    assert text.count("\n") == unit_of(service).count("\n")
    program = unit_of(replace(service, program=("/opt/a$b%c",)))
    assert 'ExecStart="/opt/a$b%%c" serve' in program
    if word.isprintable():
        _check_words(replace(service, project=word))
    else:
        with pytest.raises(InvalidInput, match="cannot be printed"):
            _check_words(replace(service, project=word))
    if shutil.which("systemd-analyze"):
        file = tmp_path / "shop.service"
        file.write_text(unit_of(replace(service, project=word, program=("/bin/true",))))
        ran = subprocess.run(
            ["systemd-analyze", "verify", str(file)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert "shop.service:" not in ran.stderr


def test_only_root_leads_agents_to_another_account(service, tmp_path, monkeypatch):
    """A record that anybody else could have written counts for nothing."""
    monkeypatch.setattr(places, "SERVICES", str(tmp_path / "services"))
    (tmp_path / ".counterpoint").mkdir()
    (tmp_path / ".counterpoint" / "ledger.db").touch()
    (tmp_path / "services").mkdir()
    file = Path(places.service_file(service.database))
    file.write_text(json.dumps(service.to_json()))
    file.chmod(0o666)
    assert places.find_database(str(tmp_path), "") == service.database
    file.chmod(0o644)
    if os.geteuid():
        assert places.find_database(str(tmp_path), "") == service.database
        return
    assert places.find_database(str(tmp_path), "") == f"unix:{service.socket}"
    assert load_service(places.find_service(service.database)) == service
    assert places.find_database(str(tmp_path), "other.db") == os.path.realpath("other.db")
    os.chown(file, 65_534, 65_534)
    assert places.find_database(str(tmp_path), "") == service.database


def test_what_is_roots_already_is_given_to_nobody(call, ledger):
    """Where agents run as root nothing is won; whoever is not root is told the whole line."""
    refused = call("service", "install")
    if os.geteuid():
        assert "only root can make accounts" in refused.err
        assert "sudo " in refused.err
    else:
        assert "belongs to root" in refused.err
    assert "no service has the ledger" in call("service", "remove").err


@pytest.mark.parametrize("ledger", ["", "/etc", "..", "led_1/../../x", "led_1\n", 7])
def test_what_is_no_name_of_a_ledger_names_no_folder_to_be_removed(service, ledger):
    """It comes out of a file that agents can write, and root removes folders by it."""
    assert load_service(service.to_json()) == service
    with pytest.raises(LedgerBroken):
        load_service({**service.to_json(), "ledger": ledger})


def test_clients_find_their_service_whatever_the_umask_of_root(service, tmp_path, monkeypatch):
    """The folders of records can be read by everybody."""
    records = tmp_path / "etc" / "counterpoint" / "services"
    monkeypatch.setattr(handover, "SERVICES", str(records))
    monkeypatch.setattr(handover, "service_file", lambda _: str(records / "one.json"))
    mask = os.umask(0o077)
    try:
        write_record(service)
    finally:
        os.umask(mask)
    modes = [
        path.stat().st_mode & 0o777 for path in (records.parent, records, records / "one.json")
    ]
    assert modes == [0o755, 0o755, 0o644]
