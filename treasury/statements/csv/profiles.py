"""CSV profiles, each the layout of one bank's export, by the names of its columns.

A profile maps roles, such as `amount`, to the headers of the columns. It fits a file that has all
required headers in one row. The built-in profiles are in `banks/*.toml`; the workspace describes
other banks in TOML files, which `treasury statements profile` proposes.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Final, Literal

import msgspec

from treasury.core.decoding import convert
from treasury.core.errors import StatementError
from treasury.core.files.package_files import package_toml
from treasury.core.files.regular_files import read_regular
from treasury.core.toml_text import parse_toml

FOLDER: Final = "profiles"
"""Folder with a workspace's own profiles."""

ROLES: Final = (
    "booking_date", "value_date", "amount", "debit", "credit", "sign", "currency", "balance",
    "text", "counterparty_name", "counterparty_account", "counterparty_agent", "account",
    "reference", "end_to_end_id", "mandate_id", "structured_reference", "kind", "status", "fee",
    "fee_currency", "balance_before", "debit_currency", "credit_currency", "payer_name",
    "payee_name", "balance_effect",
)  # fmt: skip

_Headers = tuple[str, ...]


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The layout of one bank's CSV files.

    `columns` lists the possible headers of each role. If a file has several of them, `text` joins
    their cells, and any other role uses the first one that is not empty. For files without a header
    row, `#3` means the third column, and `shape` describes a row with one letter per cell: d date,
    a amount, t text, i IBAN, c currency, - empty, ? amount or empty, * anything.
    """

    name: str
    title: str = ""
    """The bank's name in the documentation; profiles of the same bank may share it."""
    columns: dict[str, _Headers]
    needs: _Headers = ()
    """Required headers, which identify the bank's files; `a|b` requires either of two.

    By default, one header of each role is required.
    """
    day_order: Literal["dmy", "mdy", "ymd"] = "dmy"
    decimal: Literal["", ",", "."] = ""
    """Decimal sign; if empty, it is derived from the file."""
    encoding: Literal["", "windows-1250", "windows-1252", "windows-1257", "iso-8859-2"] = ""
    """Code page of files that are not UTF-8; if empty, it is derived from their letters."""
    currency: str = ""
    """Currency of files that do not state one."""
    positive: Literal["in", "out", "balance"] = "in"
    """Direction of an amount without a minus: `in`, or `out` for cards with positive purchases.

    With `balance` no amount has a sign, and the balance column shows the directions.
    """
    fee_included: bool = True
    """Whether the amount includes the fee."""
    shape: str = ""

    def __post_init__(self) -> None:
        unknown = sorted(set(self.columns) - set(ROLES))
        if unknown:
            raise ValueError(f"profile {self.name}: {unknown[0]!r} is not a column role")
        if not ("amount" in self.columns or {"debit", "credit"} & set(self.columns)):
            raise ValueError(f"profile {self.name}: no amount column")
        if "booking_date" not in self.columns:
            raise ValueError(f"profile {self.name}: no column booking_date")


def plain(header: str) -> str:
    """Return a header in the form that is compared: letters and digits, without accents or case.

    `#` and the replacement character, which stands for a lost letter, remain.
    """
    text = unicodedata.normalize("NFKD", header.strip().strip("=\"'").casefold())
    return "".join(char for char in text if char.isalnum() or char in "#\ufffd")


_BANKS: Final = ("switzerland", "germany", "benelux", "other_banks")
"""The files of built-in profiles: layouts taken from files of the bank, or from several public
programs that agree."""


@cache
def built_in_profiles() -> tuple[Profile, ...]:
    """Return the profiles of the package, in the order in which they are tried.

    If several fit a file equally well, the first one is used.
    """
    files = (package_toml(__package__, f"banks/{name}.toml")["profile"] for name in _BANKS)
    return convert([profile for file in files for profile in file], tuple[Profile, ...])


def load_profiles(folder: Path) -> tuple[Profile, ...]:
    """Return the profiles in a folder's TOML files. Raises StatementError for an invalid one."""
    if not folder.is_dir():
        return ()
    return tuple(load_profile(path) for path in sorted(folder.glob("*.toml")))


def load_profile(path: Path) -> Profile:
    """Return the profile in a TOML file. Raises StatementError if it is not a valid profile."""
    do = "see what `treasury statements profile FILE` proposes"
    try:
        data = parse_toml(read_regular(path))
        return convert({"name": path.stem, **data}, Profile)
    except OSError as error:
        raise StatementError(f"{path}: {error.strerror or 'cannot be read'}", do=do) from None
    except (ValueError, msgspec.ValidationError) as error:
        raise StatementError(f"{path.name}: not a profile ({error})", do=do) from None


def to_toml(profile: Profile) -> str:
    """Return the profile as TOML text."""
    lines = [f"name = {_quoted(profile.name)}"]
    lines += [f"title = {_quoted(profile.title)}"] if profile.title else []
    lines += [f"needs = [{', '.join(map(_quoted, profile.needs))}]"] if profile.needs else []
    for name in ("day_order", "decimal", "encoding", "currency", "shape"):
        value = getattr(profile, name)
        if value:
            lines.append(f"{name} = {_quoted(value)}")
    lines += [] if profile.positive == "in" else [f'positive = "{profile.positive}"']
    lines += [] if profile.fee_included else ["fee_included = false"]
    lines += ["", "[columns]"]
    for role, headers in profile.columns.items():
        lines.append(f"{role} = [{', '.join(map(_quoted, headers))}]")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", " ", escaped) + '"'
