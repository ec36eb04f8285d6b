"""Configuration and secrets: `treasury.toml` in the workspace, read once into a frozen struct.

The file contains no secrets. It names the place of each secret (`env:NAME`, `file:PATH` or
`keyring:SERVICE/USER`). A secret is read from its place when it is used, and never shown.
"""

from treasury.core.files.secret_places import Secret, find_secret, secret_at
from treasury.core.settings.addresses import holds_secret, is_loopback, require_https
from treasury.core.settings.environment_pin import is_pinned, pin_environment, place_of
from treasury.core.settings.toml_file import load_settings, require_plain_path
from treasury.core.settings.workspace_settings import (
    FILE_NAME,
    SPARK_ADDRESSES,
    WEEKDAYS,
    BankAccount,
    BankReceiverFields,
    CompanySettings,
    Credential,
    Environment,
    JournalPlace,
    LakePlace,
    PayeeAddress,
    Service,
    Services,
    Settings,
    Source,
    SparkEngine,
    StatementDays,
    is_spark_address,
    settings_for_colleagues,
)

__all__ = [
    "FILE_NAME",
    "SPARK_ADDRESSES",
    "WEEKDAYS",
    "BankAccount",
    "BankReceiverFields",
    "CompanySettings",
    "Credential",
    "Environment",
    "JournalPlace",
    "LakePlace",
    "PayeeAddress",
    "Secret",
    "Service",
    "Services",
    "Settings",
    "Source",
    "SparkEngine",
    "StatementDays",
    "find_secret",
    "holds_secret",
    "is_loopback",
    "is_pinned",
    "is_spark_address",
    "load_settings",
    "pin_environment",
    "place_of",
    "require_https",
    "require_plain_path",
    "secret_at",
    "settings_for_colleagues",
]
