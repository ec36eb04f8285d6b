"""A large past for measurements: many closed ramp requests and transfers from 2024 and 2025.

Each record is derived from the seed and its own number. Only the columns for lists are stored; the
long bodies are generated on demand by the usual steps, so that millions of records take a few
minutes to write and a few gigabytes on disk. The records are older than the story, so statements,
ledger and balances do not include them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Final
from uuid import UUID

import msgspec

from treasury.core.errors import InputError
from treasury.sandbox.state.ids import Ids
from treasury.sandbox.state.shapes import AccountTransfer, RampItem, Transfer, encode, number, zulu
from treasury.sandbox.state.store import Maker, Record, sortable
from treasury.sandbox.story.cast import USERS, Cast
from treasury.sandbox.story.request_life import Life, amounts_of, record_of
from treasury.sandbox.story.transfer_story import FAILURE, origin_of

_YEARS: Final = (2024, 2025)
# A year's payment references have six digits.
_MOST_REQUESTS: Final = 999_999 * len(_YEARS)
_MOST_TRANSFERS: Final = 20_000_000
_ENDS: Final = ("SUCCEEDED",) * 92 + ("CANCELLED",) * 3 + ("REJECTED",) * 3 + ("FAILED",) * 2
_MINUTES: Final = {"SUCCEEDED": 1500, "CANCELLED": 30, "REJECTED": 40, "FAILED": 1440}
"""Time from the creation of a request to its final status."""


class Volume(msgspec.Struct, frozen=True):
    """The number of ramp requests and of transfers."""

    requests: int = 0
    transfers: int = 0

    def __post_init__(self) -> None:
        for name, most in (("requests", _MOST_REQUESTS), ("transfers", _MOST_TRANSFERS)):
            if not 0 <= getattr(self, name) <= most:
                raise InputError(
                    f"{getattr(self, name)} {name} cannot be made", do=f"ask for 0 to {most}"
                )

    def __str__(self) -> str:
        return f"{self.requests},{self.transfers}"

    @classmethod
    def parse(cls, text: str) -> Volume:
        """Parse a volume such as `1000000,2000000` (requests, transfers)."""
        parts = text.replace(" ", "").split(",")
        if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts):
            raise InputError(
                f"{text[:40]} is not a volume", do="write REQUESTS,TRANSFERS like 1000000,2000000"
            )
        return cls(int(parts[0]), int(parts[1]))


NONE: Final = Volume()


class Past:
    """The extra records of the past, by position: first the requests, then the transfers."""

    def __init__(self, cast: Cast, seed: int, volume: Volume) -> None:
        self._cast = cast
        self._seed = str(seed).encode()
        self._volume = volume
        chains = {account.id: account.chain for account in cast.accounts}
        self._ends = [
            (sender.account_id, receiver.account_id, sender.target_cryptocurrency)
            for sender in cast.virtual_accounts
            for receiver in cast.virtual_accounts
            if sender is not receiver and chains[sender.account_id] == chains[receiver.account_id]
        ]
        """The sender, receiver and asset of each possible transfer."""
        self._inside = [ends for ends in self._ends if ends[2] == "USDC"]
        self._chains = chains
        self.makers: dict[str, Maker] = {
            "ramp_request": lambda position: self.request(position - 1).detail,
            "transfer": self._transfer_text,
            "account_transfer": self._transfer_text,
        }

    def _transfer_text(self, position: int) -> str:
        return encode(self.transfer(position - 1 - self._volume.requests))

    def records(self) -> Iterator[Record]:
        """Yield all records without their full bodies, ordered by position."""
        for count in range(self._volume.requests):
            yield self.brief_request(count)
        for count in range(self._volume.transfers):
            drawn = self._drawn(b"transfer", count)
            at = self._moment(count, self._volume.transfers)
            sender, receiver, _ = self._sides(drawn)
            inside = _is_inside(drawn)
            yield Record(
                kind="account_transfer" if inside else "transfer", id=_uuid(drawn), item="",
                detail="", owner=sender, peer=receiver, created_at=zulu(at),
                updated_at=zulu(at + timedelta(seconds=12)), status=_status(drawn),
                chain="" if inside else self._chains[sender],
                amount=sortable(_transferred_amount(drawn)),
            )  # fmt: skip

    def brief_request(self, count: int) -> Record:
        """Return a ramp request's record without its full body."""
        drawn = self._drawn(b"request", count)
        asset, chain = self._coin(drawn)
        ramp_type, reference = _ramp_type(drawn), self._reference(count)
        amounts = amounts_of(ramp_type, _requested_amount(drawn), _rate(drawn, asset), asset)
        at, end = self._moment(count, self._volume.requests), _ENDS[drawn[18] % 100]
        item = RampItem(
            id=_uuid(drawn), payment_reference=reference, ramp_type=ramp_type, status=end,
            fiat_amount=amounts["fiat_amount"], fiat_currency=self._cast.fiat[0].currency,
            crypto_amount=amounts["crypto_amount"], crypto_currency=asset, created_at=zulu(at),
            created_by=USERS["maker"].email,
        )  # fmt: skip
        return Record(
            kind="ramp_request", id=item.id, item=encode(item), detail="",
            created_at=item.created_at, updated_at=zulu(at + timedelta(minutes=_MINUTES[end])),
            status=end, type=ramp_type, chain=chain, reference=reference,
            amount=sortable(item.fiat_amount if ramp_type == "ON_RAMP" else item.crypto_amount),
            fiat_amount=sortable(item.fiat_amount), crypto_amount=sortable(item.crypto_amount),
        )  # fmt: skip

    def request(self, count: int) -> Record:
        """Return a ramp request's record with its full body."""
        drawn = self._drawn(b"request", count)
        at, end = self._moment(count, self._volume.requests), _ENDS[drawn[18] % 100]
        life = Life(self._cast, Ids(Random(drawn)))  # noqa: S311 - a story is told
        maker, checker = USERS["maker"], USERS["checker"]
        asset, _ = self._coin(drawn)
        request = life.create(
            _ramp_type(drawn), _requested_amount(drawn), _rate(drawn, asset), asset,
            reference=self._reference(count), user=maker, at=at, id=_uuid(drawn),
        )  # fmt: skip
        ended = at + timedelta(minutes=_MINUTES[end])
        if end == "CANCELLED":
            return record_of(life.cancel(request, maker, ended))
        if end == "REJECTED":
            return record_of(life.reject(request, checker, ended))
        request = life.approve(request, checker, at + timedelta(minutes=25))
        if end == "FAILED":
            return record_of(life.fail(request, ended))
        if request.ramp_type == "OFF_RAMP":
            tx_hash = f"0x{drawn.hex()[:64]}"
            request = life.add_hash(request, maker, tx_hash, at + timedelta(minutes=50))
        paid = request.fiat_amount if request.ramp_type == "ON_RAMP" else request.crypto_amount
        request = life.receive(request, paid, at + timedelta(minutes=1430))
        return record_of(life.complete(request, ended))

    def _reference(self, count: int) -> str:
        half = -(-self._volume.requests // len(_YEARS))
        return f"PAY-{_YEARS[count // half]}-{count % half + 1:06d}"

    def _coin(self, drawn: bytes) -> tuple[str, str]:
        coin = self._cast.crypto[0 if drawn[17] % 4 else 1]
        return coin.currency, coin.chain

    def transfer(self, count: int) -> Transfer | AccountTransfer:
        """Return the full body of a transfer of either kind."""
        drawn = self._drawn(b"transfer", count)
        sender, receiver, asset = self._sides(drawn)
        at, status = self._moment(count, self._volume.transfers), _status(drawn)
        amount = _transferred_amount(drawn)
        created, updated = zulu(at), zulu(at + timedelta(seconds=12))
        code, reason = FAILURE if status == "FAILED" else (None, None)
        if _is_inside(drawn):
            return AccountTransfer(
                id=_uuid(drawn), source_account_id=sender, destination_account_id=receiver,
                amount=f"{amount:.6f}", cryptocurrency=asset, status=status, created_at=created,
                updated_at=updated, failure_code=code, failure_reason=reason,
            )  # fmt: skip
        run = drawn[20] % 50 + 10
        return Transfer(
            id=_uuid(drawn), sender_account_id=sender, receiver_account_id=receiver,
            chain=self._chains[sender], asset=asset, amount=number(amount),
            description=f"Supplier run {run}", merchant_reference=f"run-{run}",
            idempotency_key=str(UUID(bytes=drawn[32:48], version=4)), status=status,
            created_at=created, updated_at=updated,
            fiat_origin=origin_of(asset, amount) if drawn[16] % 5 == 3 else None,
            transaction_hash=None if code else f"0x{drawn.hex()[:64]}",
            error_message=reason, failure_code=code, failure_reason=reason,
        )  # fmt: skip

    def _sides(self, drawn: bytes) -> tuple[str, str, str]:
        ends = self._inside if _is_inside(drawn) else self._ends
        return ends[drawn[17] % len(ends)]

    def _drawn(self, kind: bytes, count: int) -> bytes:
        """Return the 48 hash bytes that determine one record."""
        subject = kind + count.to_bytes(5, "big")
        return hashlib.blake2b(subject, digest_size=48, key=self._seed).digest()

    def _moment(self, count: int, of: int) -> datetime:
        """Return a record's time; the times are spread evenly over both years."""
        half = -(-of // len(_YEARS))
        year = _YEARS[count // half]
        seconds = (363 * 86_400 * (count % half)) // half
        return datetime(year, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def _uuid(drawn: bytes) -> str:
    return str(UUID(bytes=drawn[:16], version=4))


def _amount(drawn: bytes, below: int) -> int:
    return int.from_bytes(drawn[24:32], "big") % below


def _transferred_amount(drawn: bytes) -> Decimal:
    return Decimal(5_000 + _amount(drawn, 900_000)).scaleb(-2)


def _ramp_type(drawn: bytes) -> str:
    return "ON_RAMP" if drawn[16] % 2 else "OFF_RAMP"


def _requested_amount(drawn: bytes) -> Decimal:
    return Decimal(100_000 + _amount(drawn, 9_000_000)).scaleb(-2)


def _rate(drawn: bytes, asset: str) -> Decimal:
    return Decimal(1) if asset == "EURC" else Decimal(9231 + drawn[19] % 121 - 60).scaleb(-4)


def _is_inside(drawn: bytes) -> bool:
    return drawn[16] % 5 == 4


def _status(drawn: bytes) -> str:
    return "FAILED" if drawn[18] % 100 < 3 else "COMPLETED"
