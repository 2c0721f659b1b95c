"""Addresses of PostgreSQL databases: read, and shown without their passwords."""

from __future__ import annotations

import pytest

from counterpoint.kernel.errors import InvalidInput
from counterpoint.settings import is_address, masked
from fakes.servers import connected


def test_a_password_is_never_shown():
    """Neither one before the host nor one among the options."""
    assert masked("postgresql://ada:sesame@host/db") == "postgresql://ada:***@host/db"
    assert masked("postgresql:///db?password=sesame&x=1") == "postgresql:///db?password=***&x=1"
    assert masked("postgresql://host/db?sslpassword=sesame") == (
        "postgresql://host/db?sslpassword=***"
    )
    assert masked("postgresql://ada@host/db") == "postgresql://ada@host/db"
    assert is_address("postgres://host/db")
    assert not is_address("postgresql/ledger.db")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ada:ses/ame@host/db",
        "postgresql://ada:ses%zzame@host/db",
        "postgresql://h?ses",
    ],
)
def test_an_address_that_cannot_be_read_is_refused_without_quoting_it(address):
    """What is in it may be a piece of the password."""
    with pytest.raises(InvalidInput) as refused:
        connected(address)
    assert "ses" not in refused.value.message
    assert "ses" not in masked("postgresql://ada:ses/ame@host/db")
