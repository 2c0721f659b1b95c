"""Every error of the product, as one tree that surfaces map by kind.

CounterpointError               code (from the class name), kind, hint, facts, retryable
├── NotFound                    not_found    there is no such thing in this project
│                                            └ UnknownTool
├── InvalidInput                invalid      ├ UnknownArgument · MalformedDocument · CyclicDependency
│                                            └ PathOutside
├── Conflict                    conflict     ├ IllegalMove · StaleVersion · AlreadyClaimed
│                                            ├ KeyReused · NotReady · OutOfOrder
│                                            └ AlreadySealed · NotSealed · NothingToSeal
├── GateClosed                  gate
├── Forbidden                   forbidden    ├ ClaimLost · NotClaimHolder · SessionEnded
│                                            ├ RateLimited · QuotaExceeded · BudgetSpent
│                                            ├ CommandNotAllowed · NotTrusted
│                                            └ AddressRefused
├── LedgerBroken                integrity    ├ ChainBroken · ProofMismatch · StateDiffers
│                                            ├ SchemaDiffers · SearchDiffers · ForkRefused
│                                            └ QuorumMissing
└── Unavailable                 unavailable  ├ StoreBusy · StoreFull · StoreReadOnly · StoreCorrupt
                                             ├ StoreNewer · StoreOlder · StoreUnreachable
                                             ├ StoreReplaced · LedgerGone · ProgramMissing
                                             ├ CircuitOpen · SignerAway
                                             ├ NoProvider · AllResting · ProviderAway
                                             ├ ProviderFailed
                                             ├ ProviderBusy · ProviderTimedOut · ProviderRefused
                                             ├ QuestionTooLong
                                             ├ PageFailed · PageTimedOut
                                             └ SandboxMissing · LedgerMoved · Unexpected

Rules: the class docstring is the default message; `hint` is the next move, in acts that each face
says in its own tools (see `acts`); `facts` are JSON values a program can act on; nothing here names a
dialect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from counterpoint.kernel.acts import Act, say

Kind = Literal["not_found", "invalid", "conflict", "gate", "forbidden", "integrity", "unavailable"]


class CounterpointError(Exception):
    """Something was refused."""

    kind: ClassVar[Kind] = "invalid"
    retryable: ClassVar[bool] = False
    default_hint: ClassVar[str] = "Read the message, correct the call and try again."
    kinds: tuple[str, ...] = ()
    """Of what sort each of the `faults` among the facts is, for a face with codes of its own."""

    def __init__(self, message: str = "", *, hint: str = "", **facts: Any) -> None:
        """Say what was refused; without a message the class docstring speaks."""
        self.message = message or (type(self).__doc__ or "").strip()
        self.steps = hint or self.default_hint
        self.facts: Mapping[str, Any] = facts
        super().__init__(self.message)

    @property
    def hint(self) -> str:
        """The next move in plain words, which name no tool."""
        return self.hint_in({})

    def hint_in(self, phrases: Mapping[Act, str]) -> str:
        """Return the next move in the phrases of a face."""
        return say(self.steps, phrases)

    @property
    def code(self) -> str:
        """The class name in snake_case: what programs switch on."""
        # No expression, which would be compiled for one look.
        parted = (f"_{letter}" if letter.isupper() else letter for letter in type(self).__name__)
        return "".join(parted).lstrip("_").lower()


class NotFound(CounterpointError):
    """There is no such thing in this project."""

    kind = "not_found"
    default_hint = f"{Act.LOOK_UP}."


class UnknownTool(NotFound):
    """There is no such tool."""

    default_hint = "Read `tools/list` for the tools there are."


class InvalidInput(CounterpointError):
    """The input is not valid."""

    kind = "invalid"


class UnknownArgument(InvalidInput):
    """The call has an argument that does not exist."""


class MalformedDocument(InvalidInput):
    """The document cannot be read as written."""

    default_hint = "Correct what the message names; nothing was changed."


class CyclicDependency(InvalidInput):
    """The dependencies would form a circle."""

    default_hint = "Remove one of the edges of the circle."


class PathOutside(InvalidInput):
    """The path leads outside the project."""

    default_hint = "Give a path below the project root or the session's worktree."


class Conflict(CounterpointError):
    """The state is not what the call expects."""

    kind = "conflict"


class IllegalMove(Conflict):
    """This state cannot be reached from the present one."""


class StaleVersion(Conflict):
    """Somebody changed this since you read it."""

    retryable = True
    default_hint = f"{Act.READ_AGAIN} and repeat the change on the new version."


class AlreadyClaimed(Conflict):
    """Another session holds the claim."""

    default_hint = (
        f"{Act.TAKE_OTHER_WORK}, or wait until the lease ends; {Act.RELEASE} if its holder is gone."
    )


class NotReady(Conflict):
    """The item cannot be worked on yet."""

    default_hint = f"{Act.TAKE_OTHER_WORK}."


class OutOfOrder(Conflict):
    """Something else has to come before this call."""

    default_hint = "Make the calls of `suggested_order` first, then repeat this one."


class KeyReused(Conflict):
    """The idempotency key was used before with other arguments."""

    default_hint = "Use a fresh key for a different call."


class AlreadySealed(Conflict):
    """The session is sealed already."""

    default_hint = "Read its seal; begin another session for more work."


class NotSealed(Conflict):
    """The session is not sealed yet."""

    default_hint = "Seal it first; until then its tree still grows."


class NothingToSeal(Conflict):
    """The session has no thought to seal."""

    default_hint = "Record what was thought in this session, then seal it."


class GateClosed(CounterpointError):
    """A gate of the item is not met."""

    kind = "gate"
    default_hint = "Meet the gates named in the message, then repeat the call."


class Forbidden(CounterpointError):
    """This caller may not do that."""

    kind = "forbidden"


class ClaimLost(Forbidden):
    """The claim is no longer yours: the lease ended and another session took over."""

    default_hint = f"Stop working on this item; {Act.TAKE_OTHER_WORK}."


class NotClaimHolder(Forbidden):
    """Only the session that holds the claim may do that."""

    default_hint = f"{Act.START}."


class SessionEnded(Forbidden):
    """The session has ended and accepts no more writes."""

    default_hint = f"What has ended stays as it is; {Act.CONTINUE}."


class CommandNotAllowed(Forbidden):
    """The project's configuration does not let this command be run."""

    default_hint = f"{Act.TRUST}. {Act.SET_ASIDE}."


class NotTrusted(Forbidden):
    """What the project's configuration opens (commands, models, pages) is not what a person trusted."""

    default_hint = f"{Act.TRUST}."


class RateLimited(Forbidden):
    """This caller has made as many such calls as it may in a minute."""

    retryable = True
    default_hint = "Wait `retry_after` seconds, then repeat the call; nothing was done."


class QuotaExceeded(RateLimited):
    """The calls of this calendar month are used up."""

    default_hint = "Go on after `resets_at`, or ask whoever runs the server for more calls."


class BudgetSpent(Forbidden):
    """What models may cost in this project is spent."""

    default_hint = "Go on after `resets_at`, or have a person raise the limit in counterpoint.toml and run `counterpoint trust`."


class AddressRefused(Forbidden):
    """This address is not asked for pages."""

    default_hint = (
        "Ask for a public page. Where this one is meant, a person names its host and port below [web] in"
        " counterpoint.toml and runs `counterpoint trust`."
    )


class LedgerBroken(CounterpointError):
    """The ledger does not verify."""

    kind = "integrity"
    default_hint = "Stop writing, keep the file, and restore a verified backup."


class ChainBroken(LedgerBroken):
    """An entry does not carry the hash of the entry before it."""


class ProofMismatch(LedgerBroken):
    """The proof does not lead to the given root."""


class StateDiffers(LedgerBroken):
    """The tables are not what the ledger says they should be."""


class SchemaDiffers(LedgerBroken):
    """The tables, indexes and triggers are not those that the program made."""

    default_hint = "See who changed the database; `counterpoint restore` with a backup mends it."


class SearchDiffers(LedgerBroken):
    """The search does not find what the rows say."""

    default_hint = "The ledger may be whole: keep the file, and restore a verified backup."


class ForkRefused(LedgerBroken):
    """The signer was asked to sign another history than the one it signed before."""

    default_hint = (
        f"{Act.AUDIT}. If a person has put this ledger there on purpose (a backup,"
        " a fresh start), `counterpoint audit epoch --reason TEXT` says so for ever."
    )


class QuorumMissing(LedgerBroken):
    """Fewer witnesses have signed the head of a ledger than its policy asks for."""

    default_hint = "Ask the witnesses that are missing: `counterpoint audit cosign`."


class Unavailable(CounterpointError):
    """Something that is needed is missing or does not answer."""

    kind = "unavailable"
    default_hint = f"{Act.EXAMINE}."


class SignerAway(Unavailable):
    """The signer of this ledger cannot be asked; what was written waits for its signature."""

    default_hint = f"{Act.EXAMINE}; what waits is signed as soon as the signer answers."


class StoreBusy(Unavailable):
    """The database is locked by another program."""

    retryable = True
    default_hint = "Try again; if it stays so, see which program holds the file open."


class StoreFull(Unavailable):
    """The disk is full; nothing was written."""

    retryable = True
    default_hint = "Free some space and repeat the call."


class StoreReadOnly(Unavailable):
    """The database cannot be written."""

    default_hint = "Check the owner and the mode of the file and of its folder."


class LedgerMoved(Unavailable):
    """The ledger was moved into another database."""

    default_hint = (
        "Use the ledger where it is now; if that database is lost, restore a backup of it."
    )


class StoreCorrupt(Unavailable):
    """The file is not a sound Counterpoint database."""

    default_hint = "Keep the file aside and run `counterpoint restore` with a backup."


class StoreNewer(Unavailable):
    """The database was written by a newer version of Counterpoint."""

    default_hint = "Upgrade Counterpoint, or use another database."


class StoreOlder(Unavailable):
    """The database was written before the first release of Counterpoint."""

    default_hint = (
        "The program that made it can read it on. Move its files aside; a person begins another one with"
        " `counterpoint init --new-ledger --reason TEXT`."
    )


class StoreReplaced(Unavailable):
    """The files of the ledger are not those that this process opened."""

    default_hint = (
        f"{Act.EXAMINE}: it says what is there now. Put the files back, or a person runs `counterpoint restore` with the"
        " copy that the message names, or a backup. This process ends; the next call is answered from what is there then."
    )


class LedgerGone(Unavailable):
    """There was a ledger here, and there is none any more."""

    default_hint = (
        "Put its files back, or a person runs `counterpoint restore` with a backup. If it is gone on purpose, a person says so:"
        " `counterpoint init --new-ledger --reason TEXT`."
    )


class StoreUnreachable(Unavailable):
    """The database server does not answer."""

    retryable = True
    default_hint = "See that the database server runs and can be reached, then repeat the call."


class CircuitOpen(Unavailable):
    """What is asked failed several times and is left alone for a while."""

    retryable = True
    default_hint = "Wait `retry_after` seconds, then repeat the call; nothing was done."


class NoProvider(Unavailable):
    """No model can be asked: no provider is configured."""

    default_hint = "Have a person run `counterpoint provider login NAME`, or name a provider in counterpoint.toml (docs/models.md)."


class AllResting(NoProvider):
    """All who can be asked failed several times and are left alone for a while."""

    retryable = True
    default_hint = CircuitOpen.default_hint


class ProviderAway(Unavailable):
    """This provider of models cannot be asked now."""

    default_hint = (
        "Have a person look with `counterpoint provider status NAME`; or ask another one."
    )


class ProviderFailed(Unavailable):
    """The provider of the model did not answer as it should."""

    default_hint = (
        "Ask again, or ask another provider; nothing but the cost of what was asked is written."
    )


class ProviderBusy(ProviderFailed):
    """The provider of the model is busy or out of reach."""

    retryable = True
    default_hint = "Ask again later, or ask another provider."


class ProviderTimedOut(ProviderFailed):
    """The model did not answer in time."""

    retryable = True
    default_hint = "Give more time, ask for less, or ask another model."


class ProviderRefused(ProviderFailed):
    """The provider of the model refused the question."""

    default_hint = (
        "Read what it says; a person sees to its key with `counterpoint provider login NAME`."
    )


class QuestionTooLong(ProviderRefused):
    """The question is longer than the model takes."""

    default_hint = "Ask for less at once, or ask a model that takes more."


class PageFailed(Unavailable):
    """A page could not be fetched, or not be read."""

    default_hint = (
        "See whether the address is right, and whether it is a page of text; or try again later."
    )


class PageTimedOut(PageFailed):
    """A page did not come in time."""

    retryable = True
    default_hint = "Try again later, or fetch another page."


class ProgramMissing(Unavailable):
    """A program that is needed is not installed."""

    default_hint = "Install it and make sure it is on the PATH."


class SandboxMissing(Unavailable):
    """The project asks for a sandbox that this system does not give."""

    default_hint = (
        "Install bubblewrap, or have a person take the word require out of counterpoint.toml."
    )


class Unexpected(Unavailable):
    """Something went wrong inside the server."""

    default_hint = "Read the server's log for the cause; what was answered before is safe."
