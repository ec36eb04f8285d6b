"""The control plane over a real socket: access, functions and a practised month end."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from lxml import etree

from treasury.core.errors import InputError
from treasury.sandbox import Sandbox, Served

PAYOUT = "NL05TEST0417164300"


@pytest.fixture
def running(own_sandbox: Sandbox) -> Iterator[Served]:
    with own_sandbox.serve() as served:
        yield served


def result(answer: httpx.Response) -> Any:
    body = answer.json()
    assert answer.status_code == 200, body
    assert "no part of either service" in body["sandbox"]
    return body["result"]


def awaiting(sandbox: Sandbox) -> dict[str, Any]:
    return next(f for f in sandbox.truth_requests() if f["state"] == "PAY")


# Access


def test_only_requests_to_this_machine_are_answered(running: Served, http: httpx.Client) -> None:
    for host in ("evil.test", "evil.test:8000", "127.0.0.1.evil.test", "10.0.0.1"):
        answer = http.get(f"{running.base_url}/sandbox", headers={"Host": host})
        assert answer.status_code == 403
    for host in ("localhost", "127.0.0.1:8000", "[::1]:8000"):
        assert http.get(f"{running.base_url}/sandbox", headers={"Host": host}).status_code == 200


def test_the_control_plane_describes_its_state_and_features(
    own_sandbox: Sandbox, running: Served, http: httpx.Client
) -> None:
    state = result(http.get(f"{running.base_url}/sandbox"))
    assert state["now"] == "2026-11-02T08:00:00Z"
    assert state["drivers"]["fund"] == ["requestId", "amount", "text", "instant"]
    assert {"kyc", "sepa_credit", "bank_line", "complete"} <= set(state["drivers"])
    own_sandbox.ramp.fund(awaiting(own_sandbox)["id"])
    (entry,) = result(http.get(f"{running.base_url}/sandbox"))["agenda"]
    assert entry["due"] == "2026-11-03T09:30:00Z"


# Clock and drivers


def test_the_clock_moves_by_a_span_or_to_an_instant(running: Served, http: httpx.Client) -> None:
    clock = f"{running.base_url}/sandbox/clock"
    moved = result(http.post(clock, json={"days": 1, "hours": 2, "minutes": 3}))
    assert moved == {"now": "2026-11-03T10:03:00Z", "happened": 0}
    moved = result(http.post(clock, json={"to": "2026-11-04T09:00:00+01:00"}))
    assert moved["now"] == "2026-11-04T08:00:00Z"
    for wrong in ({"to": "2026-11-04T09:00:00"}, {"hours": -1}, {"weeks": 1}, {"days": "1"}):
        answer = http.post(clock, json=wrong)
        assert answer.status_code == 400
        assert answer.json()["do"]


@pytest.mark.parametrize(
    ("driver", "body", "said"),
    [
        ("nothing", {}, "no driver"),
        ("fund", {}, "requestId"),
        ("fund", {"requestId": "x"}, "no ramp request x"),
        ("fund", {"requestId": "x", "extra": 1}, "extra"),
        ("kyb", {"status": "MAYBE"}, "MAYBE"),
        ("verify_wallet", {"walletId": "x"}, "No such wallet"),
    ],
)
def test_an_impossible_driver_call_is_400_with_a_reason(
    running: Served, http: httpx.Client, driver: str, body: dict[str, Any], said: str
) -> None:
    answer = http.post(f"{running.base_url}/sandbox/drive/{driver}", json=body)
    assert answer.status_code == 400
    assert said in answer.json()["error"]


def test_a_driver_expires_tokens(
    own_sandbox: Sandbox, callers: dict[str, Any], http: httpx.Client
) -> None:
    base = callers["maker"].served.base_url
    result(http.post(f"{base}/sandbox/drive/expire_tokens"))
    assert callers["maker"].ramp("/fees").status_code == 401


def test_amounts_given_as_numbers_or_text_keep_their_digits(
    own_sandbox: Sandbox, running: Served, http: httpx.Client
) -> None:
    url, its_id = f"{running.base_url}/sandbox/drive/fund", awaiting(own_sandbox)["id"]
    for amount in (1000.55, "1000.55"):
        result(http.post(url, json={"requestId": its_id, "amount": amount}))
    lines = own_sandbox._world.bank.lines[-2:]
    assert [line.amount for line in lines] == [Decimal("1000.55")] * 2


# A month end


@pytest.mark.acceptance
def test_a_month_end_can_be_practised_from_outside(
    own_sandbox: Sandbox, running: Served, http: httpx.Client
) -> None:
    def drive(driver: str, **body: object) -> Any:
        return result(http.post(f"{running.base_url}/sandbox/drive/{driver}", json=body))

    virtual = own_sandbox._world.cast.virtual_accounts[0]
    drive("fund", requestId=awaiting(own_sandbox)["id"])
    drive("sepa_credit", iban=virtual.iban, amount="640.00", text=f"INV 9 {virtual.reference_code}")
    drive("bank_line", account=PAYOUT, amount=12.5, direction="DBIT", name="Bank", text="Charges")
    result(http.post(f"{running.base_url}/sandbox/clock", json={"to": "2026-12-01T08:00:00Z"}))

    october = balances(own_sandbox.bank_files())
    archive = http.get(f"{running.base_url}/sandbox/bank-files")
    assert archive.headers["content-type"] == "application/zip"
    months = unpacked(archive.content)
    assert months == dict(own_sandbox.bank_files())
    assert len(months) == 3 * 7
    for account, moved in (
        (own_sandbox._world.cast.master_iban, Decimal("640.00")),
        (PAYOUT, Decimal("-12.50")),
    ):
        closing = october[account, "2026-10"][1]
        assert balances(list(months.items()))[account, "2026-11"] == (closing, closing + moved)


def test_past_days_have_one_statement_per_account(
    own_sandbox: Sandbox, running: Served, http: httpx.Client
) -> None:
    url = f"{running.base_url}/sandbox/bank-files"
    line = own_sandbox.ramp.fund(awaiting(own_sandbox)["id"])
    today = {"first": "2026-11-02", "last": "2026-11-02"}
    answer = http.get(url, params=today)
    assert answer.status_code == 400
    assert "ask for days from" in answer.json()["do"]
    own_sandbox.clock.advance(days=1)
    files = unpacked(http.get(url, params=today).content)
    assert set(files) == {
        f"camt053_{account[0]}_2026-11-02_2026-11-02.xml" for account in own_sandbox.bank_accounts
    }
    assert any(line.servicer_reference.encode() in content for content in files.values())
    yesterday = unpacked(http.get(url, params={"last": "2026-11-02"}).content)
    assert yesterday == files
    assert http.get(url, params={"first": "soon"}).status_code == 400
    with pytest.raises(InputError, match="no statement from 2026-11-02 to 2026-11-01"):
        own_sandbox.bank_files(date(2026, 11, 2), date(2026, 11, 1))


def unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def balances(files: list[tuple[str, bytes]]) -> dict[tuple[str, str], tuple[Decimal, Decimal]]:
    """Return the opening and closing balance by account and period."""
    found = {}
    for name, content in files:
        _, account, period = name.removesuffix(".xml").split("_", 2)
        amounts = [
            Decimal(node.findtext("{*}Amt") or "")
            for node in etree.fromstring(content).iter("{*}Bal")
        ]
        found[account, period] = (amounts[0], amounts[1])
    return found


# Faults over HTTP


def test_faults_are_queued_listed_and_cleared_and_never_affect_the_control_plane(
    running: Served, http: httpx.Client
) -> None:
    url = f"{running.base_url}/sandbox/faults"
    queued = result(http.post(url, json={"add": [{"name": "broken", "times": 2}]}))
    assert [fault["status"] for fault in queued["waiting"]] == [500]
    assert http.get(f"{running.ramp_url}/fees").status_code == 500
    seen = result(http.get(url))
    assert seen["struck"] == [["GET", "/ramp/v1/fees", "broken"]]
    assert seen["waiting"][0]["times"] == 1
    assert result(http.delete(url))["waiting"] == []
    assert http.get(f"{running.ramp_url}/fees").status_code == 401
    result(http.post(url, json={"mix": {"seed": 1, "rate": 1, "names": ["broken"], "atMost": 1}}))
    statuses = [http.get(f"{running.ramp_url}/fees").status_code for _ in range(2)]
    assert statuses == [500, 401]
    for wrong in ({"add": [{"drop": "never"}]}, {"mix": {"seed": 1, "rate": 2}}, {"mixed": 1}):
        assert http.post(url, json=wrong).status_code == 400


# Limits and reset


def test_the_rate_limit_is_set_and_removed_over_http(running: Served, http: httpx.Client) -> None:
    url = f"{running.base_url}/sandbox/limits"
    assert result(http.get(url))["rateLimit"] is None
    limit = {"calls": 2, "seconds": 3600.0}
    assert result(http.post(url, json={"rateLimit": limit}))["rateLimit"] == limit
    statuses = [http.get(f"{running.ramp_url}/fees").status_code for _ in range(3)]
    assert statuses == [401, 401, 429]
    result(http.post(url, json={"rateLimit": None}))
    assert http.get(f"{running.ramp_url}/fees").status_code == 401
    for wrong in (
        {"rateLimit": {"calls": 0, "seconds": 1}},
        {"rampBounds": {"least": 2}},
        {"x": 1},
    ):
        assert http.post(url, json=wrong).status_code == 400


def test_the_amount_limits_of_ramp_requests_are_set_over_http(
    own_sandbox: Sandbox, running: Served, http: httpx.Client, caller_of: type
) -> None:
    url = f"{running.base_url}/sandbox/limits"
    bounds = {"rampBounds": {"least": "100", "most": 1000}}
    bounds_in_force = {"rampBounds": {"least": 100, "most": 1000}}
    assert result(http.post(url, json=bounds)) == {"rateLimit": None, **bounds_in_force}
    for least, most in ((2, 1), ("NaN", 1), (1, "Infinity")):
        # If one limit is refused, the other does not change either.
        refused_bounds = {"rampBounds": {"least": least, "most": most}}
        both = {"rateLimit": {"calls": 1, "seconds": 1}, **refused_bounds}
        assert http.post(url, json=both).status_code == 400
        assert result(http.get(url)) == {"rateLimit": None, **bounds_in_force}
    maker = caller_of(own_sandbox, running, http, "maker")
    wallet = maker.ramp("/company-wallets").json()["result"][0]["id"]
    fiat = maker.ramp("/fiat-currencies").json()["result"][0]["id"]
    crypto = maker.ramp("/crypto-currencies").json()["result"][0]["id"]
    body = {
        "rampType": "ON_RAMP", "amount": 1001, "fiatCurrencyId": fiat,
        "cryptoCurrencyId": crypto, "companyWalletId": wallet,
    }  # fmt: skip
    refused = maker.ramp_write("POST", "/ramp-requests", body)
    assert refused.json()["errors"][0]["code"] == "AMOUNT_ABOVE_MAXIMUM"


def test_a_reset_restores_the_initial_state(
    own_sandbox: Sandbox, running: Served, http: httpx.Client, caller_of: type
) -> None:
    maker = caller_of(own_sandbox, running, http, "maker")
    before = result(http.get(f"{running.base_url}/sandbox"))
    parties = maker.finance("/parties").json()
    own_sandbox.clock.advance(days=3)
    own_sandbox.faults.add("/ramp/v1", status=500)
    own_sandbox.webhooks.register("http://127.0.0.1:9/")
    person = {"partyType": "ORGANISATION", "name": "New BV"}
    assert maker.write("POST", "/parties", person).status_code == 201
    answer = result(http.post(f"{running.base_url}/sandbox/reset"))
    assert answer == {"now": before["now"]}
    assert result(http.get(f"{running.base_url}/sandbox")) == before
    assert result(http.get(f"{running.base_url}/sandbox/webhooks")) == []
    assert maker.finance("/parties").status_code == 401
    again = caller_of(own_sandbox, running, http, "maker")
    assert again.finance("/parties").json() == parties


def test_a_reset_deletes_a_stored_state(tmp_path: Path, http: httpx.Client) -> None:
    sandbox = Sandbox(7, state=tmp_path / "state")
    sandbox.clock.advance(days=3)
    with sandbox.serve() as served:
        result(http.post(f"{served.base_url}/sandbox/reset"))
    began = sandbox.now
    sandbox.close()
    again = Sandbox(7, state=tmp_path / "state")
    assert again.now == began < Sandbox(7).now + timedelta(minutes=1)
    again.close()
