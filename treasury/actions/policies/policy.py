"""Who may propose and approve which actions, up to which amount, and how many people must agree.

The file is `policy.toml` in the workspace; docs/actions.md shows one. The first rule that names a
kind of action applies. If no rule names it, or without the file, the kind's default applies: most
actions that move money, or decide where it can go, need a second person. The maker is never the
checker. A workspace with one person has to declare that in the file, and every decision then states
it too.

A limit allows only the currencies that it names. An amount in a currency that `two_people_from`
does not name always needs two people. `per_day` limits the amounts that one person may approve (or
propose, if no approval is needed) in a day of the reporting time zone, for all kinds of the rule
together. An unverified name is treated as a name from the environment. With `signed = true`, every
journal entry after number `signed_after` has to be signed by a key of its author.

Rules also hold for `item.carry` (proposing and accepting to carry an open item past a close) and
`month.close` (preparing and signing a month): `propose` and `approve` name the people, `at_most`
and, for `item.carry`, `per_day` limit the amounts. Both decisions always take two people. Only a
pattern that begins with `item.` or `month.` names them, so a rule for `*` is about actions only.

`month_on_month` has the changes in an account's figures above which a close needs an explanation.

Two people put the following tables in force: `materiality` (the largest open items that do not
block a close), `coins` (how coins are measured), `exposure` (how much the provider may hold) and
`out_of_scope` (accounts that are not compared with the books, each with its reason).
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from treasury.actions.action_facts import Fact
from treasury.actions.policies.coin_policy import CoinPolicy, check_coins, with_coin_amounts
from treasury.actions.policies.exposure_policy import ExposurePolicy, with_exposure_amounts
from treasury.core.decoding import convert
from treasury.core.errors import ActionRefused, InputError, SettingsError
from treasury.core.files.regular_files import read_settings
from treasury.core.money import format_amount, total, written_amount
from treasury.core.settings import require_https
from treasury.core.text import clean, is_it, one_of
from treasury.core.toml_text import at_key, parse_toml, problem_place
from treasury.journal import Actor, SignatureRules
from treasury.journal.person_names import same_name
from treasury.journal.signing import public_key

if TYPE_CHECKING:
    from treasury.actions.kinds.kind import AssetAmount, Kind

POLICY_FILE: Final = "policy.toml"
EVERYBODY: Final = "*"
CLAIMED: Final = "claimed"
_SOURCES: Final = ("hub", "environment", "system")
_LONGEST_TERM: Final = 3600
"""Maximum sending term in seconds. An interrupted action cannot be settled during its term."""

Limits = Mapping[str, Decimal]


class DeskKind(msgspec.Struct, frozen=True):
    """A decision that a rule may limit, although it sends nothing to a service."""

    name: str


CARRY: Final = DeskKind("item.carry")
"""Carrying an open item past a close: one person proposes it, another approves."""
CLOSE: Final = DeskKind("month.close")
"""Closing a month: preparing is proposing, signing is approving."""
_DESK_KINDS: Final = frozenset({CARRY.name, CLOSE.name})


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule; `people` is the number of people who have to agree, including the maker."""

    kinds: Annotated[tuple[str, ...], Meta(min_length=1)]
    propose: tuple[str, ...] = (EVERYBODY,)
    approve: tuple[str, ...] = (EVERYBODY,)
    people: Annotated[int, Meta(ge=1)] | None = None
    two_people_from: dict[str, Decimal] | None = None
    at_most: dict[str, Decimal] | None = None
    per_day: dict[str, Decimal] | None = None


class RecoveryTerms(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long the provider remembers a key, how far its lists may lag, and the sending term.

    `term_seconds` is the time for which an action may be sent after its sending was journaled.
    """

    key_retention_hours: Annotated[int, Meta(ge=0, le=8_784)] = 24
    settling_seconds: Annotated[int, Meta(ge=0, le=86_400)] = 120
    term_seconds: Annotated[int, Meta(ge=1, le=_LONGEST_TERM)] = 120

    def remembers(self, age: timedelta) -> bool:
        """Return whether the provider will still remember a key of that age when a call arrives."""
        arrives_at = age + timedelta(seconds=self.settling_seconds)
        return arrives_at < timedelta(hours=self.key_retention_hours)


class Hub(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The notebook hub that identifies people; `api` is the JUPYTERHUB_API_URL of its servers."""

    api: str


class Materiality(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The largest open item, and the largest total of such items, that does not block a close."""

    item: Decimal
    total: Decimal


class ChangeThresholds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The largest changes in an account's figures, month on month, that need no explanation."""

    closing: Decimal | None = None
    charges: Decimal | None = None
    gas: Decimal | None = None
    open_lines: Decimal | None = None


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parsed file; `text` is its text, and decisions refer to it by `hash`."""

    one_person: bool = False
    identified_by: tuple[Literal["hub", "environment", "system"], ...] | None = None
    rules: tuple[Rule, ...] = ()
    recovery: RecoveryTerms = RecoveryTerms()
    materiality: dict[str, Materiality] = {}
    month_on_month: dict[str, ChangeThresholds] = {}
    coins: CoinPolicy | None = None
    exposure: ExposurePolicy | None = None
    out_of_scope: dict[str, Annotated[str, Meta(min_length=1)]] = {}
    hub: Hub | None = None
    keys: dict[str, str | tuple[str, ...]] = {}
    signed: bool = False
    signed_after: Annotated[int, Meta(ge=0)] = 0
    text: str = ""

    @property
    def hash(self) -> str:
        """SHA-256 of the file's text, or of an empty text if there is no file."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def signatures(self) -> SignatureRules:
        """Each person's public keys, and the journal entries that have to be signed."""
        return SignatureRules(
            keys=read_keys(self.keys), required=self.signed, after=self.signed_after
        )

    def rule(self, kind: Kind | DeskKind) -> Rule:
        """Return the first rule that names the kind, or the default rule."""
        naming = (r for r in self.rules if any(_names(k, kind.name) for k in r.kinds))
        return next(naming, Rule(kinds=(kind.name,)))

    def people(self, kind: Kind, money: AssetAmount | None, facts: Iterable[Fact] = ()) -> int:
        """Return the number of people who have to agree, including the maker.

        A fact may require a second person even if the rule does not. In a workspace with one
        person, the number is always 1.
        """
        if self.one_person:
            return 1
        rule, usual = self.rule(kind), 2 if kind.second_person else 1
        if rule.two_people_from is not None and money is not None:
            limit = rule.two_people_from.get(money.currency)
            usual = 2 if limit is None or money.amount >= limit else 1
        least = 2 if any(fact.takes_two for fact in facts) else 1
        return max(usual if rule.people is None else rule.people, least)

    @property
    def sources(self) -> tuple[str, ...]:
        """The accepted sources of a person's name; all of them, if the file names none."""
        return _SOURCES if self.identified_by is None else self.identified_by

    def assurance(self, actor: Actor) -> str:
        """Return what verifies this person's name, such as `verified by the hub`, or `claimed`."""
        if actor.verified_source == "hub":
            return "verified by the hub"
        if self.signed and any(same_name(name, actor.name) for name in self.keys):
            return "verified by a signing key"
        if actor.verified_source == "system" and self.hub is None:
            return "verified by the system"
        return CLAIMED

    def check_signer(self, actor: Actor, environment: str) -> None:
        """Raise ActionRefused if this person may not sign a month of an environment.

        In production a claimed name signs only if `identified_by` in the file accepts such names.
        """
        self.check_identity(actor, so="nothing was signed")
        accepts_claims = self.identified_by is not None and "environment" in self.identified_by
        is_claimed = self.assurance(actor) == CLAIMED
        if environment == "production" and is_claimed and not accepts_claims:
            raise ActionRefused(
                f"the name {actor.name} is claimed, not verified, and a claimed name signs no month"
                " in production: nothing was signed",
                do="sign where the hub or a signing key verifies you, or accept claimed names in"
                f" {POLICY_FILE}: identified_by",
            )

    def check_identity(self, actor: Actor, *, so: str = "nothing was decided") -> None:
        """Raise ActionRefused if the policy does not trust the source of this person's name."""
        source = actor.verified_source
        # Only the hub verifies names, but entries may be older than the hub setting.
        if self.hub is not None and source != "hub":
            source = "environment"
        if source not in self.sources:
            trusted = " or ".join(self.sources)
            do = "make the decision where you are identified that way"
            if "hub" in self.sources and self.hub is None:
                do = f'name the hub in {POLICY_FILE}: [hub] api = "https://…/hub/api"'
            raise ActionRefused(
                f"{actor.name} is identified by the {source} only, and {POLICY_FILE} requires"
                f" the {trusted}: {so}",
                do=do,
            )

    def check(
        self,
        verb: str,
        kind: Kind | DeskKind,
        money: AssetAmount | None,
        actor: Actor,
        today: Iterable[AssetAmount],
        *,
        so: str = "nothing was decided",
    ) -> None:
        """Raise ActionRefused if this person may not `propose` or `approve` this kind or amount.

        `today` holds the amounts that the person decided on that day under the same rule. `so` is
        the consequence to state in the error.
        """
        self.check_identity(actor, so=so)
        rule = self.rule(kind)
        allowed: tuple[str, ...] = getattr(rule, verb)
        if not any(amount == EVERYBODY or same_name(amount, actor.name) for amount in allowed):
            raise ActionRefused(
                f"{actor.name} may not {verb} {kind.name}: {so}",
                do="ask"
                f" {' or '.join(allowed) or 'for a change of the policy: it names no person'}",
            )
        if money is None:
            return
        names = "everybody" if EVERYBODY in allowed else " and ".join(allowed)
        do = f"the limit holds for {names}: have at_most of that rule changed in {POLICY_FILE}"
        self._hold(rule.at_most, money, f"may {verb} for one {kind.name}", so=so, do=do)
        spent = [amount.amount for amount in today if amount.currency == money.currency]
        whole = total([*spent, money.amount])
        others = [name for name in allowed if not same_name(name, actor.name)]
        who = "a colleague" if EVERYBODY in allowed else " or ".join(others)
        do = f"have {f'it decided by {who}' if who else 'a person added to that rule'}, or wait"
        do += f" until tomorrow, or have per_day of that rule changed in {POLICY_FILE}"
        day = msgspec.structs.replace(money, amount=whole)
        self._hold(rule.per_day, day, f"may {verb} in a day", so=so, do=do)

    def _hold(
        self,
        limits: Limits | None,
        money: AssetAmount,
        permission: str,
        *,
        so: str,
        do: str,
    ) -> None:
        if limits is None:
            return
        limit = limits.get(money.currency, Decimal(0))
        if money.amount > limit:
            raise ActionRefused(
                f"{money} is more than a person {permission}:"
                f" {format_amount(limit, money.currency)}; {so}",
                do=do,
            )


def load_policy(folder: Path) -> Policy:
    """Load the policy of a workspace, or the default; raise SettingsError naming the key."""
    path = folder / POLICY_FILE
    try:
        text = read_settings(path)
    except FileNotFoundError:
        return Policy()
    return parse_policy(text, path)


def parse_policy(text: str, path: Path) -> Policy:
    """Parse a policy; raise SettingsError naming the file, the line and the key."""
    try:
        content = parse_toml(text, parse_float=Decimal)
        policy = convert(_amounts(content, text), Policy)
        _check_kinds(policy.rules, text)
        read_keys(policy.keys)
        check_coins(policy.coins, text)
        if policy.hub is not None:
            require_https(policy.hub.api, "hub.api: ")
    except msgspec.ValidationError as error:
        problem = problem_place(text, error)
        raise SettingsError(f"{path}: {problem}", do="correct that key") from None
    except (tomllib.TOMLDecodeError, InputError) as error:
        raise SettingsError(f"{path}: {error}", do="correct that key") from None
    return msgspec.structs.replace(policy, text=text)


def _names(pattern: str, name: str) -> bool:
    """Return whether a pattern names a kind; only a pattern of the same group names a desk kind."""
    own_group = pattern.startswith(f"{name.partition('.')[0]}.")
    return fnmatchcase(name, pattern) and (own_group or name not in _DESK_KINDS)


def _check_kinds(rules: tuple[Rule, ...], text: str) -> None:
    """Raise InputError for a pattern in `kinds` that matches no kind, and for keys without effect.

    The number of people cannot be set for decisions that always take two.
    """
    from treasury.actions.kinds.all_kinds import (
        KINDS,
    )  # Imported here, because only a file with rules needs the kinds.

    known = {*KINDS, *_DESK_KINDS}
    for place, rule in enumerate(rules):
        at_desk = [kind for kind in sorted(_DESK_KINDS) for k in rule.kinds if _names(k, kind)]
        fixed = ("people", "two_people_from", *(("per_day",) if CLOSE.name in at_desk else ()))
        for key in fixed if at_desk else ():
            if getattr(rule, key) is not None:
                with at_key(text, "rules", place, key) as name:
                    raise InputError(
                        f"{name}: has no effect on {at_desk[-1]}",
                        do="remove it, or give that kind a rule of its own",
                    )
        for pattern in rule.kinds:
            if any(_names(pattern, kind) for kind in known):
                continue
            groups = {f"{kind.partition('.')[0]}.*" for kind in known}
            choices = sorted(groups if "*" in pattern else known)
            with at_key(text, "rules", place, "kinds") as name:
                raise InputError(
                    f"{name}: {clean(pattern)[:60]!r} names no action{is_it(pattern, choices)}",
                    do=one_of(pattern, [*sorted(known), *sorted(groups)], "name"),
                )


def read_keys(keys: Mapping[str, str | tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return each person's public keys; raise InputError for an invalid or shared key."""
    read = {
        name: tuple(map(public_key, [listed] if isinstance(listed, str) else listed))
        for name, listed in keys.items()
    }
    every = [key for listed in read.values() for key in listed]
    if len(every) != len(set(every)):
        raise InputError(
            "a key is listed twice below [keys]", do="give each person a key of their own"
        )
    return read


_LIMITS: Final = ("two_people_from", "at_most", "per_day")


def _amounts(content: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the content with exact limits; refuse the reserved key `text`."""
    if "text" in content:
        raise InputError("text is not a key of this file", do="remove it")
    rules = content.get("rules", [])
    for place, rule in enumerate(rules if isinstance(rules, list) else []):
        for name in _LIMITS:
            limits = rule.get(name) if isinstance(rule, dict) else None
            _read_limits(limits, text, "rules", place, name)
    for table in ("materiality", "month_on_month"):
        currencies = content.get(table, {})
        for currency, limits in currencies.items() if isinstance(currencies, dict) else ():
            _read_limits(limits, text, table, currency)
    with_coin_amounts(content.get("coins"))
    with_exposure_amounts(content.get("exposure"), text)
    return content


def _read_limits(limits: Any, text: str, *keys: str | int) -> None:
    """Replace the amounts of a table by exact Decimals; raise InputError naming the line."""
    for key, value in limits.items() if isinstance(limits, dict) else ():
        with at_key(text, *keys, key) as name:
            amount = written_amount(value, name=name)
            if amount < 0:
                raise InputError(
                    f"{name}: {amount} is below zero", do="give the largest amount allowed"
                )
        limits[key] = amount
