"""Providers of models and searches at the command line, with their keys."""

from __future__ import annotations

import sys
from typing import Final

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import Group, examples
from counterpoint.cli.trust import signing
from counterpoint.core.model.models import Provider, make_question
from counterpoint.core.model.web import Search, Searcher
from counterpoint.core.rules.models.providers import dollars
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Forbidden, NotFound, ProviderAway
from counterpoint.kernel.plurals import counted
from counterpoint.providers.keys import LONGEST, Keys, variables_of

_TRY: Final = "Answer with the one word: yes"
_LOOKED_FOR: Final = "Model Context Protocol"
_SECONDS: Final = 60.0
_TOKENS: Final = 200


@click.group("provider", cls=Group)
def provider_command() -> None:
    """Show providers of models and searches, and keep their keys.

    counterpoint.toml lists the providers and their order; see docs/models.md and docs/research.md.
    """


@provider_command.command("list", epilog=examples("counterpoint provider list"))
@with_context
def list_(context: CommandContext) -> None:
    """List the providers in the order in which they are asked, and why some are not."""
    every = [*context.core.models.standing().every, *context.core.searches.searchers()]
    rows = [
        (
            provider.name,
            "yes" if provider.is_available else "no",
            _model_of(provider),
            provider.reason,
        )
        for provider in every
    ]
    if context.out.json:
        context.out.answer([_told(provider) for provider in every])
        return
    context.out.table(("provider", "asked", "model", "why not"), rows)


@provider_command.command("status", epilog=examples("counterpoint provider status anthropic"))
@click.argument("name")
@with_context
def status(context: CommandContext, name: str) -> int:
    """Show one provider; exit code 1 if it cannot be asked."""
    provider = _named(context, name)
    source = ""
    try:
        key = _keys(context).find(name)
        source = key.source if key else ""
    except ProviderAway:
        # Why stands in its reason.
        source = "a file that does not count"
    lines = [
        f"{provider.name}: {provider.description}",
        f"  model    {_model_of(provider) or '-'}",
        f"  address  {provider.address or '-'}",
        f"  key      {source or '-'}",
        f"  asked    {'yes' if provider.is_available else f'no: {provider.reason}'}",
    ]
    context.out.result({**_told(provider), "key": source}, "\n".join(lines))
    return 0 if provider.is_available else 1


@provider_command.command("login", epilog=examples("counterpoint provider login anthropic"))
@click.argument("name")
@click.option(
    "--keyring", is_flag=True, help="Keep the key in the system's keyring, not in a file."
)
@with_context
def login(context: CommandContext, name: str, *, keyring: bool) -> None:
    """Store the key of a provider, for its address only.

    It is read from the terminal without echo, or from standard input. It is not stored in the ledger.
    """
    _refuse_agents(context)
    # An address that nobody trusted yet is none to give a key for.
    provider = _named(context, name)
    (context.core.models if isinstance(provider, Provider) else context.core.searches).said()
    if not provider.address:
        raise NotFound(f"{name} has no address that a key could be sent to")
    if signing.has_terminal():
        secret = click.prompt(f"Key for {provider.address}", hide_input=True, err=True)
    else:
        secret = sys.stdin.readline(LONGEST + 2)
    where = _keys(context).put(name, secret.strip(), provider.address, in_ring=keyring)
    context.out.result(
        {"provider": name, "address": provider.address, "kept": where},
        f"The key of {name} is in {where}, for {provider.address} alone.",
    )


@provider_command.command("logout", epilog=examples("counterpoint provider logout anthropic"))
@click.argument("name")
@with_context
def logout(context: CommandContext, name: str) -> None:
    """Remove the key of a provider."""
    _refuse_agents(context)
    keys = _keys(context)
    if not keys.drop(name):
        raise NotFound(f"no key of {name[:60]!r} is kept", hint=f"Its files are in {keys.folder}.")
    variables = [variable for variable in variables_of(name) if context.app.environ.get(variable)]
    words = [
        f"The key of {name} is gone.",
        *(f"The variable {variable} has one still." for variable in variables),
    ]
    context.out.result({"provider": name, "variables": [*variables]}, " ".join(words))


@provider_command.command("test", epilog=examples("counterpoint provider test anthropic"))
@click.argument("name")
@click.option(
    "--model", default="", metavar="NAME", help="Ask this model instead of the usual one."
)
@with_context
def test(context: CommandContext, name: str, *, model: str) -> None:
    """Test a provider with one word, or one search, and show what it took."""
    if isinstance(_named(context, name), Searcher):
        _try_search(context, name)
        return
    question = make_question(
        _TRY,
        provider=name,
        model=model,
        max_tokens=_TOKENS,
        timeout=_SECONDS,
        purpose="test",
        caching="never",
    )
    answer = context.core.models.ask(question)
    tokens = answer.tokens.input + answer.tokens.output
    fields: dict[str, Json] = {
        "provider": answer.provider,
        "model": answer.model,
        "answer": answer.text,
        "tokens": tokens,
        "cost_micros": answer.cost_micros,
    }
    words = f"{answer.provider} answers: {answer.text.strip()[:100]}"
    cost = f"{answer.model}, {counted(tokens, 'token')}, {dollars(answer.cost_micros)}"
    context.out.result(fields, f"{words} ({cost})")


def _try_search(context: CommandContext, name: str) -> None:
    """Have something looked for, and say what that took."""
    answer = context.core.searches.search(
        Search(query=_LOOKED_FOR, most=1, searcher=name, timeout=_SECONDS, purpose="test")
    )
    fields: dict[str, Json] = {
        "provider": name,
        "results": [hit.url for hit in answer.results],
        "cost_micros": answer.cost_micros,
    }
    count = counted(len(answer.results), "result")
    context.out.result(fields, f"{name} answers: {count} ({dollars(answer.cost_micros)})")


def _named(context: CommandContext, name: str) -> Provider | Searcher:
    """Return the provider of a name, of models before one of searches; NotFound."""
    every = [*context.core.models.standing().every, *context.core.searches.searchers()]
    provider = next((candidate for candidate in every if candidate.name == name), None)
    if provider is None:
        names = ", ".join(dict.fromkeys(candidate.name for candidate in every))
        raise NotFound(f"there is no provider {name[:60]!r}", hint=f"There are: {names}.")
    return provider


def _model_of(provider: Provider | Searcher) -> str:
    return provider.model if isinstance(provider, Provider) else "(search)"


def _keys(context: CommandContext) -> Keys:
    return Keys(environ=context.app.environ)


def _refuse_agents(context: CommandContext) -> None:
    """Raise Forbidden to whoever counts as no person: where a key goes is not for agents to say."""
    why = context.core.identities.why_no_person()
    if why:
        raise Forbidden(
            f"keys of providers are for people: {why}",
            hint="A person does this in a terminal that no agent has started.",
        )


def _told(provider: Provider | Searcher) -> dict[str, Json]:
    is_model = isinstance(provider, Provider)
    return {
        "provider": provider.name,
        "available": provider.is_available,
        "reason": provider.reason,
        "kind": provider.kind,
        "searches": not is_model,
        "model": provider.model if is_model else "",
        "address": provider.address,
        "free": provider.is_free if is_model else not provider.price,
    }
