"""The client against the sandbox: every operation is executed, and faults double nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from test_api_operations import FINANCE, RAMP

from treasury.api import Client, Clock, bodies
from treasury.api.models import Account, RampRequest
from treasury.core import errors
from treasury.core.settings import Credential, Service, Services
from treasury.sandbox import Sandbox, Served


class Practice:
    """A running sandbox, with a client for each of its credentials."""

    def __init__(self, sandbox: Sandbox, served: Served, patch: pytest.MonkeyPatch) -> None:
        self.sandbox = sandbox
        self.served = served
        services = Services(
            token_url=served.token_url,
            finance=Service(served.finance_url),
            ramp=Service(served.ramp_url),
        )
        self.clients = {}
        for name, (client_id, secret) in sandbox.credentials.items():
            patch.setenv(f"PRACTICE_{name}", secret)
            credential = Credential(client_id, f"env:PRACTICE_{name}")
            clock = Clock(sleep=lambda _: None)
            self.clients[name] = Client(services, credential, clock=clock)
        self.maker, self.checker = self.clients["maker"], self.clients["checker"]

    def accounts(self) -> list[Account]:
        """Return the verified accounts; transfers go from the first to the second."""
        records = self.maker.finance.accounts.iterate()
        return [record.value for record in records if record.value.kyc_status == "VERIFIED"]

    def crypto(self) -> tuple[str, bodies.NewCryptoTransfer]:
        sender, receiver, *_ = self.accounts()
        (wallet, *_) = self.maker.finance.wallets.iterate(sender.id)
        asset = wallet.value.balances[0].holding().asset
        assert asset is not None
        assert wallet.value.chain is not None
        return sender.id, bodies.NewCryptoTransfer(
            chain=wallet.value.chain, asset=asset, amount="1.5", receiver_account_id=receiver.id
        )

    def on_ramp(self, amount: str = "1234.56") -> bodies.NewRampRequest:
        ramp = self.maker.ramp
        (wallet, *_) = ramp.wallets.iterate(verification_status="VERIFIED")
        pairs = (record.value for record in ramp.on_ramp_pairs.recent())
        pair = next(pair for pair in pairs if pair.target.chain == wallet.value.chain)
        return bodies.NewRampRequest(
            ramp_type="ON_RAMP",
            amount=amount,
            fiat_currency_id=pair.source.id,
            crypto_currency_id=pair.target.id,
            company_wallet_id=wallet.value.id,
        )

    def off_ramp(self) -> bodies.NewRampRequest:
        ramp = self.maker.ramp
        pair = ramp.off_ramp_pairs.recent()[0].value
        accounts = ramp.bank_accounts.iterate(
            verification_status="VERIFIED", supported_ramp_types=("OFF_RAMP", "ON_AND_OFF_RAMP")
        )
        return bodies.NewRampRequest(
            ramp_type="OFF_RAMP",
            amount="100",
            fiat_currency_id=pair.target.id,
            crypto_currency_id=pair.source.id,
            company_bank_account_id=next(accounts).value.id,
        )


@contextmanager
def practising(profile: str, patch: pytest.MonkeyPatch) -> Iterator[Practice]:
    sandbox = Sandbox(profile=profile)
    with sandbox.serve() as served:
        running = Practice(sandbox, served, patch)
        yield running
        for client in running.clients.values():
            client.close()


@pytest.fixture
def practice(monkeypatch: pytest.MonkeyPatch) -> Iterator[Practice]:
    with practising("spec", monkeypatch) as running:
        yield running


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[Practice]:
    """Yield services of the generation after the specification's."""
    with practising("b", monkeypatch) as running:
        yield running


ADDRESS = bodies.PostalAddress(
    address_line1="Kade 14", city="Ghent", postal_code="9000", country="BE"
)


def work_finance(practice: Practice) -> None:
    """Call every operation of the finance service that moves no money."""
    finance = practice.maker.finance
    person = bodies.NewParty(
        party_type="INDIVIDUAL", first_name="Mira", last_name="Okafor", address=ADDRESS
    )
    party = finance.parties.create(person).value
    changed = bodies.PartyChanges(version=party.version, first_name="Miriam")
    assert finance.parties.update(party.id, changed).value.first_name == "Miriam"
    assert finance.parties.get(party.id).value.kyc_status == "PENDING"
    lonely = finance.parties.create(
        bodies.NewParty(party_type="ORGANISATION", name="Quay NV", address=ADDRESS)
    ).value
    finance.parties.delete(lonely.id)
    with pytest.raises(errors.NotFound):
        finance.parties.get(lonely.id)

    account = finance.accounts.create(
        bodies.NewAccount(external_id="quay-1", chain="BASE", party_id=party.id)
    ).value
    assert finance.accounts.get(account.id).value.external_id == "quay-1"
    renamed = finance.accounts.update(account.id, bodies.AccountChanges(external_id="quay-2"))
    assert renamed.value.external_id == "quay-2"
    with pytest.raises(errors.VersionConflict, match="ACTIVE"):
        finance.accounts.reactivate(account.id)
    another = finance.parties.create(
        bodies.NewParty(party_type="ORGANISATION", name="Kade NV", address=ADDRESS)
    ).value
    role = bodies.NewPartyRole(party_id=another.id, role_type="ACCOUNT_HOLDER")
    finance.party_roles.create(account.id, role)
    assert {r.value.party_id for r in finance.party_roles.all(account.id)} == {
        party.id,
        another.id,
    }
    wallet = finance.wallets.create(account.id, bodies.NewWallet(chain="BASE")).value
    assert wallet.id in {record.value.id for record in finance.wallets.iterate(account.id)}
    virtual = finance.virtual_bank_accounts.create(
        account.id,
        bodies.NewVirtualBankAccount(name="EUR", in_currency="EUR", target_cryptocurrency="USDC"),
    ).value
    assert finance.virtual_bank_accounts.get(account.id, virtual.id).value.reference_code
    assert len(finance.virtual_bank_accounts.list(account.id)) == 1
    session = bodies.NewPaymentSession(
        in_amount="10.00",
        in_currency="EUR",
        out_cryptocurrency="USDC",
        callback_url="http://127.0.0.1:9/paid",
        success_redirect_url="https://shop.example.test/thanks",
        failure_redirect_url="https://shop.example.test/sorry",
    )
    assert finance.payment_sessions.create(account.id, session).value.payment_url
    empty = finance.accounts.create(
        bodies.NewAccount(external_id="quay-3", chain="BASE", party_id=party.id)
    ).value
    finance.accounts.delete(empty.id)


def work_transfers(practice: Practice) -> None:
    """Move money in every way of the finance service, and read the transfers."""
    finance = practice.maker.finance
    sender, crypto = practice.crypto()
    receiver = crypto.receiver_account_id
    assert receiver is not None
    sent = finance.transfers.crypto(sender, crypto).value
    assert finance.transfers.get(sender, sent.id).value.amount == crypto.amount
    # The same key gives the same transfer.
    assert finance.transfers.crypto(sender, crypto).value.id == sent.id
    fiat = bodies.NewFiatTransfer(currency="EUR", amount="5.00", receiver_account_id=receiver)
    finance.transfers.fiat(sender, fiat)
    other = bodies.NewFiatTransfer(currency="EUR", amount="6.00", receiver_account_id=receiver)
    finance.transfers.create(sender, other)
    newest = finance.transfers.list(sender, account_role="SENDER", sort_order="DESC", size=5)
    assert sent.id in {record.value.id for record in newest}
    between = bodies.NewAccountToAccountTransfer(
        source_account_id=sender,
        destination_account_id=receiver,
        amount="1.25",
        cryptocurrency="USDC",
    )
    moved = finance.account_to_account_transfers.create(between).value
    every = finance.account_to_account_transfers.iterate(source_account_id=sender)
    assert moved.id in {record.value.id for record in every}
    card = bodies.NewPaymentRequest(
        type="paymentology", reference_id="ops-usd", amount="3.00", currency="EUR"
    )
    assert finance.payment_requests.create(card).value.fiat_amount == 3


def work_company(practice: Practice) -> None:
    """Call every write operation on the company's own records, and read the reference data."""
    ramp = practice.checker.ramp
    ramp.users.invite(
        bodies.Invitation(
            email="new@harbourlane.test", role="COMPANY_VIEWER", first_name="A", last_name="B"
        )
    )
    assert "new@harbourlane.test" in {record.value.email for record in ramp.users.all()}
    account = ramp.bank_accounts.create(
        bodies.NewBankAccount(
            bank_account_type="EUR_SEPA",
            supported_ramp_type="ON_RAMP",
            name="Second",
            bank_name="Test Bank",
            company_name="Harbour Lane Trading NV",
            bank_country="BE",
            beneficiary_address_line1="Kade 14",
            beneficiary_city="Ghent",
            beneficiary_postal_code="9000",
            beneficiary_country="BE",
            iban="BE68539007547034",
            bic="TESTBEBB",
        )
    ).value
    version = ramp.bank_accounts.get(account.id).value.version
    assert version is not None
    renamed = ramp.bank_accounts.update(account.id, name="Third", version=version)
    assert renamed.value.name == "Third"
    with pytest.raises(errors.VersionConflict):
        ramp.bank_accounts.update(account.id, name="Fourth", version=version)
    wallet = ramp.wallets.create(
        bodies.NewCompanyWallet(address="0x" + "a1" * 20, chain="BASE")
    ).value
    version = ramp.wallets.get(wallet.id).value.version
    assert version is not None
    ramp.wallets.update(wallet.id, description="new", version=version)
    for reference in (
        ramp.fees,
        ramp.fiat_currencies,
        ramp.crypto_currencies,
        ramp.chains,
        ramp.bank_config,
    ):
        assert reference.recent()
    assert ramp.fees.calculate(amount=25000, ramp_type="ON_RAMP").value.unit == "fiat"


def made(practice: Practice, body: bodies.NewRampRequest) -> RampRequest:
    request = practice.maker.ramp.requests.create(body).value
    assert body.differences(request) == ()
    assert request.maker == "maker@harbourlane.test"
    return request


def version_of(request: RampRequest) -> int:
    assert request.version is not None
    return request.version


def work_requests(practice: Practice) -> None:
    """Call every operation that creates or changes a ramp request."""
    maker, checker = practice.maker.ramp.requests, practice.checker.ramp.requests
    first = made(practice, practice.on_ramp())
    raised = maker.change_amount(first.id, amount="2000", version=version_of(first)).value
    with pytest.raises(errors.ServiceError):
        maker.approve(first.id, version=version_of(raised))
    approved = checker.approve(first.id, version=version_of(raised)).value
    assert approved.status == "AWAITING_FUNDS"
    second = made(practice, practice.on_ramp())
    assert maker.cancel(second.id, version=version_of(second)).value.status == "CANCELLED"
    third = made(practice, practice.on_ramp())
    assert checker.reject(third.id, version=version_of(third)).value.status == "REJECTED"
    fourth = made(practice, practice.off_ramp())
    approved = checker.approve(fourth.id, version=version_of(fourth)).value
    hashed = maker.add_transaction_hash(
        fourth.id, transaction_hash="0x" + "ab" * 32, version=version_of(approved)
    )
    assert hashed.value.blockchain_transaction_hash == "0x" + "ab" * 32
    assert maker.get(fourth.id).value.doubts() == ()


def route_of(method: str, path: str) -> str | None:
    """Return the operation of a request; None if there is none."""
    for base, table in (("/finance/v1", FINANCE), ("/ramp/v1", RAMP)):
        for operation in sorted(table, key=lambda name: name.count("{")):
            verb, route = operation.split(" ")
            form = re.sub(r"\{\w+\}", "[^/]+", base + route)
            if verb == method and re.fullmatch(form, path):
                return operation
    return None


@pytest.mark.acceptance
def test_every_operation_of_both_specifications_works(practice: Practice) -> None:
    work_finance(practice)
    work_transfers(practice)
    work_company(practice)
    work_requests(practice)
    practice.maker.ramp.requests.list()
    list(practice.maker.finance.parties.iterate())
    called = {route_of(method, path) for method, path, _ in practice.served.requests}
    assert {*FINANCE, *RAMP} - called == set()


def test_a_transfer_with_a_lost_response_is_created_once(practice: Practice) -> None:
    sender, body = practice.crypto()
    before = {r.value.id for r in practice.maker.finance.transfers.iterate(sender)}
    practice.sandbox.faults.add(
        f"/finance/v1/accounts/{sender}/transfers/crypto", drop="after", times=2
    )
    sent = practice.maker.finance.transfers.crypto(sender, body).value
    after = {r.value.id for r in practice.maker.finance.transfers.iterate(sender)}
    assert after - before == {sent.id}


@pytest.mark.parametrize(("drop", "count"), [("after", 1), ("before", 0)])
def test_a_ramp_request_with_a_lost_response_is_looked_up(
    practice: Practice, drop: str, count: int
) -> None:
    requests = practice.maker.ramp.requests
    body = practice.on_ramp("4321.09")
    since = practice.sandbox.now
    known = {record.value.id for record in requests.iterate(created_from=since.date())}
    practice.sandbox.faults.add("/ramp/v1/ramp-requests", method="POST", drop=drop)
    with pytest.raises(errors.OutcomeUnknown):
        requests.create(body)
    listed = {record.value.id for record in requests.iterate(created_from=since.date())}
    assert len(listed - known) == count
    if count:
        found = requests.find(
            body=body, since=since, earlier_ids=known, created_by="maker@harbourlane.test"
        )
        assert {found.value.id} == listed - known
    else:
        with pytest.raises(errors.OutcomeUnknown, match="no matching record"):
            requests.find(body=body, since=since, earlier_ids=known)


def test_the_later_generation_is_supported(later: Practice) -> None:
    finance = later.maker.finance
    body = bodies.NewParty(party_type="ORGANISATION", name="Quay NV", address=ADDRESS)
    party = finance.parties.create(body).value
    changes = bodies.PartyChanges(version=party.version, name="Kade NV")
    assert finance.parties.update(party.id, changes).value.name == "Kade NV"
    account = finance.accounts.create(
        bodies.NewAccount(external_id="quay-1", chain="BASE", party_id=party.id)
    ).value
    assert account.may_send is False
    virtual = bodies.NewVirtualBankAccount(
        name="EUR", in_currency="EUR", target_cryptocurrency="USDC"
    )
    with pytest.raises(errors.NotReady):
        finance.virtual_bank_accounts.create(account.id, virtual)
    sender, crypto = later.crypto()
    sent = finance.transfers.crypto(sender, crypto).value
    assert finance.transfers.crypto(sender, crypto).value.id == sent.id
    assert {wallet.value.type for wallet in finance.wallets.iterate(sender)} != {None}
    work_requests(later)


def test_operations_dropped_by_the_later_generation_are_not_offered(later: Practice) -> None:
    finance = later.maker.finance
    sender, *_ = later.accounts()
    with pytest.raises(errors.NotOffered):
        finance.wallets.create(sender.id, bodies.NewWallet(chain="BASE"))
    with pytest.raises(errors.NotOffered):
        finance.accounts.update(sender.id, bodies.AccountChanges(external_id="x"))
    with pytest.raises(errors.NotOffered):
        list(finance.account_to_account_transfers.iterate())


def test_a_party_with_a_lost_response_is_found_although_its_key_is_ignored(
    later: Practice,
) -> None:
    parties = later.maker.finance.parties
    body = bodies.NewParty(
        party_type="ORGANISATION", name="Quay NV", external_id="quay", address=ADDRESS
    )
    since = later.sandbox.now
    later.sandbox.faults.add("/finance/v1/parties", method="POST", drop="after")
    with pytest.raises(errors.OutcomeUnknown, match="look it up with `find`"):
        parties.create(body)
    found = parties.find(body=body, since=since).value
    named = [record.value.id for record in parties.iterate(external_id="quay")]
    assert named == [found.id]
