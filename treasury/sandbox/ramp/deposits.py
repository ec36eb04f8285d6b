"""Where the provider wants to be paid: its deposit details, which a driver may change.

Details are given to a request when it is made, and those of that moment when it is approved. A
change reaches the requests that still wait for their funds and, where it is the provider's own
account for euros, those that are made or approved afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from treasury.errors import InputError
from treasury.sandbox.state.ids import is_iban
from treasury.sandbox.state.shapes import DepositBankAccount, RampRequest, decode, encode
from treasury.sandbox.story.world import DEPOSIT_BANK, World

__all__ = ["DepositDrivers"]

_WAITS = "AWAITING_FUNDS"


def _is_in_euros(request: RampRequest) -> bool:
    return request.ramp_type == "ON_RAMP" and request.fiat_currency.currency == "EUR"


class DepositDrivers:
    """The provider's deposit details: changed for one request, or for all."""

    def __init__(self, world: World) -> None:
        self._world = world

    def change_deposit(
        self,
        request_id: str | None = None,
        iban: str | None = None,
        beneficiary: str | None = None,
        address: str | None = None,
        *,
        intermediary_bic: str | None = None,
        active: bool = True,
    ) -> list[RampRequest]:
        """Other deposit details: of one request that waits for its funds, or of the provider.

        Without an `iban` (on-ramp) or an `address` (off-ramp) it is one that nobody has seen; an
        intermediary bank or details that are not `active` change nothing else.
        """
        world = self._world
        with world.act():
            chosen = list(self._waiting(request_id))
            if any(request.ramp_type == "ON_RAMP" for request in chosen) or request_id is None:
                details = self._bank(iban, beneficiary, intermediary_bic, active=active)
            if request_id is None:
                world.store.remember(**{DEPOSIT_BANK: encode(details)})
                world.after(lambda: setattr(world.life, "deposit_bank", details))
                chosen = [request for request in chosen if _is_in_euros(request)]
            changed = []
            for request in chosen:
                if _is_in_euros(request):
                    new = msgspec.structs.replace(request, deposit_bank_account=details)
                elif request.deposit_bank_account is not None:
                    raise InputError(
                        f"{request.payment_reference} is not paid in euros",
                        do="name a request in EUR, or an off-ramp",
                    )
                else:
                    assert request.deposit_wallet is not None
                    before = request.deposit_wallet
                    new_one = address or (world.ids.address() if active else before.address)
                    wallet = msgspec.structs.replace(
                        before, address=new_one, is_active=active, version=before.version + 1
                    )
                    new = msgspec.structs.replace(request, deposit_wallet=wallet)
                changed.append(world.change(new))
            return changed

    def _bank(
        self,
        iban: str | None,
        beneficiary: str | None,
        intermediary_bic: str | None,
        *,
        active: bool,
    ) -> DepositBankAccount:
        """The provider's bank details with another account or name."""
        if iban is not None and not is_iban(iban):
            raise InputError(f"{iban[:40]} is no IBAN", do="give one whose check digits hold")
        before = self._world.life.deposit_bank
        is_other = active and intermediary_bic is None
        another = self._world.ids.iban("LT") if is_other and iban is None else before.iban
        return msgspec.structs.replace(
            before, iban="".join(iban.split()) if iban else another,
            intermediary_bic=intermediary_bic or before.intermediary_bic, is_active=active,
            beneficiary=beneficiary or before.beneficiary, version=before.version + 1,
        )  # fmt: skip

    def _waiting(self, request_id: str | None) -> Iterator[RampRequest]:
        """The request, or every one that waits for its funds."""
        if request_id is not None:
            yield self._in_status(request_id, _WAITS)
            return
        for text in self._world.store.page("ramp_request", {"status": [_WAITS]}).items:
            yield self._request(decode(text, dict)["id"])

    def _request(self, request_id: str) -> RampRequest:
        text = self._world.store.detail("ramp_request", request_id)
        if text is None:
            raise InputError(
                f"there is no ramp request {request_id}",
                do="take an id that GET /ramp-requests lists",
            )
        return decode(text, RampRequest)

    def _in_status(self, request_id: str, *statuses: str) -> RampRequest:
        request = self._request(request_id)
        if request.status not in statuses:
            raise InputError(
                f"{request.payment_reference} is {request.status}",
                do=f"name a request that is {' or '.join(statuses)}",
            )
        return request
