"""What counterpoint.toml says of the web: read, or refused with all that is wrong."""

from __future__ import annotations

import pytest

from counterpoint.core.model.web import Browsing, SaidSearcher
from counterpoint.core.rules.trust.commands import is_trusted, loosened, web_loosened
from counterpoint.evidence.running.configuration import load_checking
from counterpoint.kernel.errors import MalformedDocument

WHOLE = """
[web]
fetch = true
hosts = ["127.0.0.1:8080", "[::1]:443", "intranet.example:80"]
order = ["mine"]
research_usd = 3.5

[web.search.mine]
kind = "searxng"
address = "http://127.0.0.1:8888/"
usd_per_thousand = 2

[web.search.google-search]
engine = "017576662512468239146:omuauf_lfve"
enabled = false
"""


def test_all_of_the_table_is_read() -> None:
    assert load_checking(WHOLE).web == Browsing(
        order=("mine",),
        searchers=(
            SaidSearcher(name="mine", kind="searxng", address="http://127.0.0.1:8888", price=2_000),
            SaidSearcher(
                name="google-search", engine="017576662512468239146:omuauf_lfve", is_on=False
            ),
        ),
        fetches=True,
        hosts=("127.0.0.1:8080", "[::1]:443", "intranet.example:80"),
        study_limit=3_500_000,
    )
    assert load_checking("").web == Browsing()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("web = 1", "`web` is not a table"),
        ("[web]\nfetch = 1", "`fetch` below [web] must be true or false"),
        ("[web]\nhosts = ['LOCALHOST:80']", "`hosts` below [web]"),
        ("[web]\nhosts = ['localhost']", "`hosts` below [web]"),
        ("[web]\nhosts = ['a b:80']", "`hosts` below [web]"),
        ("[web]\nresearch_usd = -1", "`research_usd` below [web]"),
        ("[web]\nproviders = 1", "`providers` is not known below [web]"),
        ("[web.search.Mine]", "is no name of a provider"),
        ("[web.search.mine]\nkind = 'bing'", "`kind` below [web.search.mine]"),
        ("[web.search.mine]\naddress = 'http://example.com'", "https://…, or http:// to this"),
        ("[web.search.mine]\naddress = 'https://u:p@example.com'", "`address` below"),
        ("[web.search.mine]\nusd_per_thousand = 'x'", "dollars for a thousand searches"),
        ("[web.search.mine]\nmodel = 'x'", "`model` is not known below [web.search.mine]"),
    ],
)
def test_what_is_wrong_is_told_by_its_place(text: str, words: str) -> None:
    with pytest.raises(MalformedDocument) as caught:
        load_checking(text)
    assert words in caught.value.message


def test_what_loosens_takes_trust_and_nothing_else_does() -> None:
    for line in ("", "order = ['tavily']", "research_usd = 1", "fetch = false", "hosts = []"):
        assert web_loosened(load_checking(f"[web]\n{line}").web) is None
    for line in ("fetch = true", "hosts = ['a:1']", "research_usd = 2.1"):
        said = load_checking(f"[web]\n{line}")
        assert web_loosened(said.web) is not None
        assert not is_trusted(said, "", "")
        assert is_trusted(said, loosened(said, "/bin"), "/bin")
    for line in ("address = 'https://a.example'", "usd_per_thousand = 0"):
        assert web_loosened(load_checking(f"[web.search.x]\n{line}").web) is not None
    both = [load_checking(f"[web]\nfetch = true\nhosts = ['a:{port}']") for port in (1, 2)]
    assert loosened(both[0], "") != loosened(both[1], "")
