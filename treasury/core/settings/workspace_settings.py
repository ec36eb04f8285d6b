"""The content of `treasury.toml` as frozen structs, one per section."""

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
"""TARGET days (`business`), `every` day, only days with `movements`, or days of the week."""


class CompanySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[workspace]`: the company, and the rules of this workspace.

    `now` fixes the clock of a sandbox. In production, writes to the services need `allow_writes`.
    With `shared`, the user's group may read the files on disk; otherwise only the user may.
    """

    company: str
    environment: Environment = "sandbox"
    time_zone: str = "Europe/Brussels"
    now: datetime | None = None
    allow_writes: bool = False
    shared: Shared | None = None
    town: str | None = None
    country: str | None = None
    """ISO code of the company's country, which SEPA payments to banks outside the EEA require.
    """


class Service(Unrendered, msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base address of one service, including the version prefix."""

    base_url: str


class BankReceiverFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[services.bank_receiver]`: the field names for the bank account of a fiat transfer.

    The specification does not document the names, so ask the provider. Without them, transfers to a
    bank account are refused.
    """

    object: str
    iban: str
    name: str
    bic: str


class Services(Unrendered, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[services]`: the base address of each service, and their common token address.

    `environment` is optional and must equal the workspace's. `allow_writes` belongs to
    `[workspace]`; it is not read from this section.
    """

    token_url: str
    finance: Service
    ramp: Service
    bank_receiver: BankReceiverFields | None = None
    environment: Environment | None = None
    allow_writes: bool | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of the finance service and the ramp service."""
        return tuple(urlsplit(s.base_url).hostname or "" for s in (self.finance, self.ramp))

    @property
    def may_write(self) -> bool:
        """True if these services may be written to; in production only if allowed."""
        return self.environment != "production" or self.allow_writes is True


class Credential(Unrendered, msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[credentials.NAME]`: a client id, and the place of its secret."""

    client_id: str
    client_secret: str
    environment: Environment | None = None
    """The environment of the credential; if set, it must equal the workspace's."""

    def secret(self) -> Secret:
        """Return the secret; raise SettingsError, which names its place but not its value."""
        return secret_at(self.client_secret, self.client_id, "client_secret")


class JournalPlace(
    Unrendered, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """`[journal]`: a journal in PostgreSQL that several workspaces share.

    Without `url`, the journal is a file in the workspace. The URL must not contain a password:
    `password` names its place. `key` names the place of each person's own signing key. Each month's
    close appends the hash of the last journal entry to the file `publish_head`, or, if that is a
    folder, writes it to a new file there.
    """

    url: str | None = None
    password: str | None = None
    key: str = "file:~/.config/treasury/signing.key"
    publish_head: str | None = None

    def secret(self) -> Secret | None:
        """Return the password; None if the settings do not name its place."""
        place = self.password
        return None if place is None else secret_at(place, "the journal", "password")


class SparkEngine(
    Unrendered, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """`[engine]`: the Spark cluster on which `treasury reconcile` computes a month.

    Without this section, DuckDB computes the month in this process. `address` belongs to a Spark
    Connect server or a master. `token` is the place of the server's token. `lake` is the path by
    which the cluster reads the lake's tables; the default is the workspace's own folder.
    """

    address: str
    token: str | None = None
    lake: str | None = None

    def secret(self) -> Secret | None:
        """Return the token; None if the settings do not name its place."""
        return None if self.token is None else secret_at(self.token, self.address, "token")


_SPARK_ADDRESS: Final = re.compile(r"(?:sc|spark|k8s)://\S+|yarn|local(?:\[[0-9*, ]+\])?")
SPARK_ADDRESSES: Final = "sc://host:15002, spark://host:7077, k8s://…, yarn or local[2]"
"""The forms of an address of Spark, for error messages."""


def is_spark_address(address: str) -> bool:
    """Return True for the address of a Spark Connect server or a master."""
    return _SPARK_ADDRESS.fullmatch(address) is not None


class LakePlace(Unrendered, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[lake]`: the home of the lake, a bucket or folder through which several workspaces share it.

    The home is `s3://bucket/folder`, `az://container/folder`, `gs://bucket/folder`, or a folder,
    absolute or relative to the workspace. The credential of a bucket comes from the usual
    environment variables of the cloud.
    """

    home: str


_Answers = Literal["all", "rejections"]


class BankAccount(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """`[[accounts]]`: an account whose statements are reconciled, and their source.

    The source `own_bank` means our own account at a bank; `provider_report` means the provider's
    account that books credits to our virtual IBANs. An account in several currencies has one block
    for each currency. `opened` and `closed` are its first and last day. `statement_days` are the
    days with a statement (default: TARGET days).
    """

    account: str
    source: Source
    currency: str = "EUR"
    name: str = ""
    opened: date | None = None
    closed: date | None = None
    statement_days: StatementDays | None = None
    holder: str = ""
    """The holder's name as registered at the bank, for payment files; default: the company's
    name."""
    batch_booking: bool = False
    """True if the bank should debit a payment file's total at once."""
    answers: _Answers = "all"
    """Which payments of a file the bank reports on: all, or only rejected ones."""
    floor: str = ""
    """The balance that the account should not go below, such as "50000.00"; empty for none."""


class PayeeAddress(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[payees.IBAN]`: the account holder's town and ISO country code.

    If it is set, payment files state it as the payee's address.
    """

    town: str
    country: str


class Settings(Unrendered, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `treasury.toml`."""

    workspace: CompanySettings
    services: Services | None = None
    credentials: dict[str, Credential] = {}
    accounts: tuple[BankAccount, ...] = ()
    payees: dict[str, PayeeAddress] = {}
    """Addresses of payees, by IBAN."""
    journal: JournalPlace | None = None
    """The journal's database; None for a file in the workspace."""
    engine: SparkEngine | None = None
    """Engine for reconciling months; None for DuckDB in this process."""
    lake: LakePlace | None = None
    """Where a shared lake is stored; None if the lake is not shared."""
    notices: NoticeTerms | None = None
    """Recipients and times of notices; None for no notices."""
    inbox: InboxTerms | None = None
    """The folder for incoming files; None if there is none."""

    @property
    def zone(self) -> ZoneInfo:
        """The reporting time zone."""
        return ZoneInfo(self.workspace.time_zone)

    @property
    def currencies(self) -> dict[str, tuple[str, ...]]:
        """The currencies of each declared account, in the order of the file."""
        codes: dict[str, tuple[str, ...]] = {}
        for account in self.accounts:
            number = plain_account(account.account)
            codes[number] = (*codes.get(number, ()), account.currency)
        return codes

    def now(self) -> datetime:
        """Return the current instant in UTC, or the fixed instant of a sandbox."""
        return self.workspace.now or datetime.now(UTC)

    def credential(self, name: str) -> Credential:
        """Return the credential of this name.

        Raise SettingsError listing the names if there is none.
        """
        try:
            return self.credentials[name]
        except KeyError:
            names = ", ".join(sorted(self.credentials)) or "none"
            raise SettingsError(
                f"there is no credential {name!r} (there are: {names})",
                do=f"add [credentials.{name}] to {FILE_NAME}",
            ) from None


def settings_for_colleagues(settings: Settings) -> str:
    """Return as JSON the settings for a colleague's workspace on the same lake.

    They have no credentials.
    """
    desk = msgspec.structs.replace(settings.workspace, allow_writes=False, shared=None)
    services = settings.services
    if services is not None:
        services = msgspec.structs.replace(services, environment=None, allow_writes=None)
    shared = Settings(
        workspace=desk, services=services, accounts=settings.accounts, payees=settings.payees
    )
    return msgspec.json.encode(shared).decode()
