"""What `treasury.toml` holds, as frozen structs: one for each section."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Final, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import msgspec

from treasury.core.errors import SettingsError
from treasury.core.files.access import Shared
from treasury.core.files.secret_places import Secret, Unrendered, secret_at
from treasury.core.identifiers import plain_account
from treasury.core.settings.notice_terms import InboxTerms, NoticeTerms

FILE_NAME = "treasury.toml"

Environment = Literal["sandbox", "staging", "production"]
Source = Literal["own_bank", "provider_report"]
_Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS: Final[tuple[_Weekday, ...]] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
StatementDays = Literal["business", "every", "movements"] | tuple[_Weekday, ...]
"""`business`: TARGET days; `movements`: only days on which something moved; or days of the week."""


class CompanySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[workspace]`: the company of this desk. `now` fixes the clock and is for the sandbox only.

    In production nothing is written to the services without `allow_writes`. Files on disk are
    readable by their user alone, or with `shared` by the group.
    """

    company: str
    environment: Environment = "sandbox"
    time_zone: str = "Europe/Brussels"
    now: datetime | None = None
    allow_writes: bool = False
    shared: Shared | None = None
    town: str | None = None
    country: str | None = None
    """Of the company's seat, by its ISO code: a payment beyond the EEA names the payer's."""


class Service(Unrendered, msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One service's base address, version prefix included."""

    base_url: str


class BankReceiverFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[services.bank_receiver]`: field names of the bank account that a fiat transfer pays.

    The specification does not show them; the provider does. Without them no such transfer is sent.
    """

    object: str
    iban: str
    name: str
    bic: str


class Services(Unrendered, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[services]`: the two base addresses and the token address they share.

    The struct also carries the environment of the addresses and whether it may be written to.
    `environment` is optional in the file, and equals the workspace's if given. `allow_writes` is
    `[workspace]`'s and is not read here.
    """

    token_url: str
    finance: Service
    ramp: Service
    bank_receiver: BankReceiverFields | None = None
    environment: Environment | None = None
    allow_writes: bool | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host of the finance service and that of the ramp service."""
        return tuple(urlsplit(s.base_url).hostname or "" for s in (self.finance, self.ramp))

    @property
    def may_write(self) -> bool:
        """Whether anything may be changed at these addresses: in production only if allowed."""
        return self.environment != "production" or self.allow_writes is True


class Credential(Unrendered, msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[credentials.NAME]`: a client id, and where its secret is."""

    client_id: str
    client_secret: str
    environment: Environment | None = None
    """The credential's environment; where given, it has to be the workspace's."""

    def secret(self) -> Secret:
        """Fetch the secret; SettingsError names its place, never its value."""
        return secret_at(self.client_secret, self.client_id, "client_secret")


class JournalPlace(
    Unrendered, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """`[journal]`: the database of a journal that several desks share, PostgreSQL by its URL.

    Without a URL it is in the workspace. The URL holds no password; `password` names its place,
    as for a client's secret, and `key` the place of each person's own signing key. Each month's
    close adds the journal's head to the file `publish_head`, or writes a new file in that folder.
    """

    url: str | None = None
    password: str | None = None
    key: str = "file:~/.config/treasury/signing.key"
    publish_head: str | None = None

    def secret(self) -> Secret | None:
        """Fetch the password; None if the settings name none."""
        place = self.password
        return None if place is None else secret_at(place, "the journal", "password")


class SparkEngine(
    Unrendered, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """`[engine]`: the Spark on which `treasury reconcile` works a month out; DuckDB without it.

    `address` is that of a Spark Connect server or of a master, `token` the place of the server's
    token, as for a client's secret. `lake` is where the cluster finds the lake's tables, such as in
    the home; the workspace's own folder without it.
    """

    address: str
    token: str | None = None
    lake: str | None = None

    def secret(self) -> Secret | None:
        """Fetch the token; None if the settings name none."""
        return None if self.token is None else secret_at(self.token, self.address, "token")


_SPARK_ADDRESS: Final = re.compile(r"(?:sc|spark|k8s)://\S+|yarn|local(?:\[[0-9*, ]+\])?")
SPARK_ADDRESSES: Final = "sc://host:15002, spark://host:7077, k8s://…, yarn or local[2]"
"""The forms of an address of Spark, for error messages."""


def is_spark_address(address: str) -> bool:
    """Whether Spark takes it: a Spark Connect server's address, or a master's."""
    return _SPARK_ADDRESS.fullmatch(address) is not None


class LakePlace(Unrendered, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[lake]`: the home that desks share the lake through: `s3://bucket/folder`, or a folder.

    A folder is given by its whole path, or by its path from the workspace. The credential comes
    from the environment, as every tool of that cloud takes it.
    """

    home: str


_Answers = Literal["all", "rejections"]


class BankAccount(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """`[[accounts]]`: an account with statements, and the source of these.

    `own_bank` is an account of ours at a bank; `provider_report` is the provider's account on which
    credits to our virtual IBANs are booked. One in several currencies is declared for each.
    `opened` and `closed` are its first and its last day, `statement_days` those for which the bank
    writes a statement: TARGET days by default.
    """

    account: str
    source: Source
    currency: str = "EUR"
    name: str = ""
    opened: date | None = None
    closed: date | None = None
    statement_days: StatementDays | None = None
    holder: str = ""
    """The holder's name as its bank has it, for payment files; the company if it is not given."""
    batch_booking: bool = False
    """Whether its bank should book a payment file as one debit."""
    answers: _Answers = "all"
    """Of which payments in a file its bank reports: of all, or of rejected ones alone."""


class PayeeAddress(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[payees.IBAN]`: where the holder of that account is, by the ISO code of its country.

    A payment file states it; a missing address is left out.
    """

    town: str
    country: str


class Settings(Unrendered, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `treasury.toml`."""

    workspace: CompanySettings
    services: Services | None = None
    credentials: dict[str, Credential] = {}
    accounts: tuple[BankAccount, ...] = ()
    payees: dict[str, PayeeAddress] = {}
    """Addresses of those we pay, by their IBAN."""
    journal: JournalPlace | None = None
    """Where people's decisions are kept; in the workspace where left out."""
    engine: SparkEngine | None = None
    """Where months are reconciled; in this process, by DuckDB, where left out."""
    lake: LakePlace | None = None
    """Where the lake is shared; None if it is not."""
    notices: NoticeTerms | None = None
    """Receivers of notices; None without notices."""
    inbox: InboxTerms | None = None
    """The folder for incoming files; None without one."""

    @property
    def zone(self) -> ZoneInfo:
        """The reporting time zone."""
        return ZoneInfo(self.workspace.time_zone)

    @property
    def currencies(self) -> dict[str, tuple[str, ...]]:
        """Each declared account with its currencies, in the order of the file."""
        codes: dict[str, tuple[str, ...]] = {}
        for account in self.accounts:
            number = plain_account(account.account)
            codes[number] = (*codes.get(number, ()), account.currency)
        return codes

    def now(self) -> datetime:
        """The instant that it is, in UTC: the sandbox's fixed one where set, else the machine's."""
        return self.workspace.now or datetime.now(UTC)

    def credential(self, name: str) -> Credential:
        """The named credential; SettingsError lists the names there are."""
        try:
            return self.credentials[name]
        except KeyError:
            names = ", ".join(sorted(self.credentials)) or "none"
            raise SettingsError(
                f"there is no credential {name!r} (there are: {names})",
                do=f"add [credentials.{name}] to {FILE_NAME}",
            ) from None


def settings_for_colleagues(settings: Settings) -> str:
    """What another desk on the same lake begins with, as JSON: no credential, no place of one."""
    desk = msgspec.structs.replace(settings.workspace, allow_writes=False, shared=None)
    services = settings.services
    if services is not None:
        services = msgspec.structs.replace(services, environment=None, allow_writes=None)
    shared = Settings(
        workspace=desk, services=services, accounts=settings.accounts, payees=settings.payees
    )
    return msgspec.json.encode(shared).decode()
