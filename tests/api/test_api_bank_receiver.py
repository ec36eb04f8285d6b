"""A fiat transfer to a bank account: sent only if the settings have the names of its fields."""

from __future__ import annotations

import pytest

from treasury.api import Client, bodies
from treasury.core.errors import InputError
from treasury.core.settings import BankReceiverFields, Credential, Service, Services
from treasury.sandbox import Sandbox

ACCOUNT = "f5520527-134b-49e6-ac6e-833cf327cb46"
BANK = bodies.BankReceiver(iban="NL05TEST0417164300", name="Noordzee Vis BV")
NAMES = BankReceiverFields(
    object="bankAccount", iban="iban", name="beneficiaryName", bic="bic"
)  # fmt: skip


def services(base_url: str, names: BankReceiverFields | None) -> Services:
    return Services(
        token_url=f"{base_url}/oauth/token",
        finance=Service(f"{base_url}/finance/v1"),
        ramp=Service(f"{base_url}/ramp/v1"),
        bank_receiver=names,
    )


@pytest.fixture
def sandbox(monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    sandbox = Sandbox(7)
    monkeypatch.setenv("TREASURY_SECRET", sandbox.credentials["maker"][1])
    return sandbox


def payout() -> bodies.NewFiatTransfer:
    return bodies.NewFiatTransfer(currency="EUR", amount="500", bank_receiver=BANK)


@pytest.mark.parametrize("by", ["fiat", "create"])
def test_a_payout_reaches_a_bank_under_the_configured_names(sandbox: Sandbox, by: str) -> None:
    credential = Credential(sandbox.credentials["maker"][0], "env:TREASURY_SECRET")
    with (
        sandbox.serve() as served,
        Client(services(served.base_url, NAMES), credential) as client,
    ):
        transfer = getattr(client.finance.transfers, by)(ACCOUNT, payout())
        assert b'"beneficiaryName":"Noordzee Vis BV"' in transfer.raw
        assert b"receiverAccountId" not in transfer.raw


@pytest.mark.parametrize("by", ["fiat", "create"])
def test_without_the_names_a_payout_is_not_sent(sandbox: Sandbox, by: str) -> None:
    credential = Credential(sandbox.credentials["maker"][0], "env:TREASURY_SECRET")
    with (
        sandbox.serve() as served,
        Client(services(served.base_url, None), credential) as client,
    ):
        with pytest.raises(InputError, match=r"services\.bank_receiver"):
            getattr(client.finance.transfers, by)(ACCOUNT, payout())
        assert not [path for method, path, _ in served.requests if method == "POST"]


@pytest.mark.parametrize(
    ("iban", "name", "bic", "problem"),
    [
        ("NL05TEST0417164301", "N", None, "iban"),
        ("NL05TEST0417164300", " ", None, "name"),
        ("NL05TEST0417164300", "N", "X", "bic"),
    ],
)
def test_a_wrong_bank_receiver_is_refused(
    iban: str, name: str, bic: str | None, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        bodies.NewFiatTransfer(
            currency="EUR", amount="1", bank_receiver=bodies.BankReceiver(iban, name, bic)
        )
