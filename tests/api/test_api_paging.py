from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from fake_service import Connect, answer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treasury.api.bodies import NewCompanyWallet
from treasury.api.models import CompanyWallet
from treasury.core.errors import InputError, UnexpectedResponse

Rows = list[str]


def page_of(
    rows: Rows, request: httpx.Request, *, total: int | None = None, bare: bool = False
) -> httpx.Response:
    """Return the requested page of the rows; `bare` leaves out the pagination."""
    number, size = (int(request.url.params[name]) for name in ("page", "size"))
    chosen = rows[(number - 1) * size : number * size]
    items = [{"id": row} for row in chosen]
    if bare:
        return answer(items)
    count = len(rows) if total is None else total
    return answer(
        items,
        pagination={
            "pageNumber": number,
            "pageSize": size,
            "numberOfElements": count,
            "numberOfPages": -(-len(rows) // size),
            "hasNextPage": number * size < len(rows),
            "hasPreviousPage": number > 1,
        },
    )


def names(count: int) -> Rows:
    return [f"p{number:03}" for number in range(count)]


def walked(connect: Connect, handler: Callable, size: int = 10) -> list[str]:
    client, _ = connect(handler)
    return [record.value.id for record in client.finance.parties.iterate(size=size)]


@pytest.mark.acceptance
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(count=st.integers(0, 35), size=st.integers(1, 12), bare=st.booleans())
def test_every_record_is_returned_once(connect: Connect, count: int, size: int, bare: bool) -> None:
    rows = names(count)
    # Without page information in the answers, a list of full pages ends with an empty page.
    assert walked(connect, lambda r: page_of(rows, r, bare=bare), size) == rows


def test_all_four_paging_parameters_are_always_sent(connect: Connect) -> None:
    client, service = connect(lambda r: page_of(names(3), r))
    list(client.finance.parties.iterate())
    sent = dict(service.requests[0].url.params)
    assert sent == {"page": "1", "size": "100", "sortOn": "createdAt", "sortOrder": "ASC"}


def test_filters_are_sent_under_the_services_names(connect: Connect) -> None:
    client, service = connect(lambda r: page_of([], r))
    client.ramp.requests.list(from_date="2026-10-01", ramp_type="ON_RAMP", status=None)
    sent = dict(service.requests[0].url.params)
    assert (sent["fromDate"], sent["rampType"]) == ("2026-10-01", "ON_RAMP")
    assert "status" not in sent


def test_a_filter_ignored_by_the_service_is_applied_locally(connect: Connect) -> None:
    rows = [{"id": "w1", "address": "0xAB", "chain": "BASE"}, {"id": "w2", "address": "0xCD"}]
    client, _ = connect(lambda _: answer(rows))
    found = client.ramp.wallets.iterate(address="0xab", chain="BASE")
    assert [record.value.id for record in found] == ["w1"]


def test_only_hexadecimal_addresses_are_compared_without_their_case(connect: Connect) -> None:
    written = ["TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSE", "TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSe"]
    rows = [{"id": name, "address": name, "chain": "TRON"} for name in written]
    client, _ = connect(lambda _: answer(rows))
    found = client.ramp.wallets.iterate(address=written[0])
    assert [record.value.id for record in found] == written[:1]
    asked = NewCompanyWallet(address=written[0], chain="TRON")
    alike = [asked.is_like(CompanyWallet(id="w", address=name, chain="TRON")) for name in written]
    assert alike == [True, False]
    asked = NewCompanyWallet(address="0xaB", chain="BASE")
    assert asked.is_like(CompanyWallet(id="w", address="0xAb", chain="BASE"))


def test_unknown_filter_is_refused_with_the_known_ones(connect: Connect) -> None:
    client, _ = connect(lambda r: page_of([], r))
    with pytest.raises(InputError, match="from_date, to_date"):
        client.ramp.requests.list(since="2026-10-01")


def test_a_page_gives_the_next_one(connect: Connect) -> None:
    client, _ = connect(lambda r: page_of(names(5), r))
    page = client.finance.parties.list(size=2)
    seen = [len(page)]
    while (page := page.next()) is not None:
        seen.append(len(page))
    assert seen == [2, 2, 1]


def test_the_next_page_flag_takes_precedence_over_the_length(connect: Connect) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        number = int(request.url.params["page"])
        items = [{"id": row} for row in names(9)[(number - 1) * 3 : number * 3]]
        return answer(items, pagination={"hasNextPage": number < 3})

    assert walked(connect, handler, size=10) == names(9)


def test_a_page_count_in_place_of_the_total_is_ignored(connect: Connect) -> None:
    rows = names(25)
    assert walked(connect, lambda r: page_of(rows, r, total=10)) == rows


def test_a_list_that_ignores_paging_does_not_loop_forever(connect: Connect) -> None:
    with pytest.raises(UnexpectedResponse, match="page 2 has only records of earlier pages"):
        walked(connect, lambda _: answer([{"id": row} for row in names(10)]), size=10)


def test_a_repeated_page_is_an_error_if_records_may_be_missing(connect: Connect) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        shown = min(int(request.url.params["page"]), 2)
        items = [{"id": row} for row in names(30)[(shown - 1) * 10 : shown * 10]]
        return answer(items, pagination={"hasNextPage": True})

    with pytest.raises(UnexpectedResponse, match="page 3 has only records of earlier pages"):
        walked(connect, handler)


def test_empty_page_that_promises_more_is_an_error(connect: Connect) -> None:
    with pytest.raises(UnexpectedResponse, match="does not add up"):
        walked(connect, lambda _: answer([], pagination={"hasNextPage": True}))


def test_a_shrinking_list_is_reread_and_loses_nothing(connect: Connect) -> None:
    rows = names(30)

    def handler(request: httpx.Request) -> httpx.Response:
        response = page_of(rows, request)
        if "p000" in rows and request.url.params["page"] == "1":
            # The records after it move up by one.
            rows.remove("p000")
        return response

    found = walked(connect, handler)
    assert sorted(found) == names(30)


def test_a_list_growing_newest_first_gives_no_duplicates(connect: Connect) -> None:
    rows = list(reversed(names(30)))

    def handler(request: httpx.Request) -> httpx.Response:
        response = page_of(rows, request)
        if len(rows) < 33:
            rows.insert(0, f"q{len(rows)}")
        return response

    found = walked(connect, handler)
    assert len(found) == len(set(found)) == 33


def test_a_list_that_keeps_shrinking_is_an_error(connect: Connect) -> None:
    rows = names(200)

    def handler(request: httpx.Request) -> httpx.Response:
        response = page_of(rows, request)
        rows.pop(0)
        return response

    with pytest.raises(UnexpectedResponse, match="shrank from"):
        walked(connect, handler)


@pytest.mark.parametrize(
    "body",
    [
        b'{"success":true}',
        b'{"success":true,"result":{}}',
        b'{"success":false,"result":[]}',
        b"[]",
        b"",
        b'{"result":[{"id":1}]}',
        b'{"result":[{"id":"a","createdAt":"yesterday"}]}',
        b'{"result":[{"id":"\xff"}]}',
        b'{"result":[{"id":"a","unknown":"\xff"}]}',
    ],
)
def test_a_body_that_violates_the_contract_is_unexpected(connect: Connect, body: bytes) -> None:
    with pytest.raises(UnexpectedResponse, match="GET /parties"):
        walked(connect, lambda _: httpx.Response(200, content=body))


def test_a_table_that_turns_out_to_be_paged_is_read_completely(connect: Connect) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        number = int(request.url.params.get("page", 1))
        rows = [{"partyId": f"p{number}", "roleType": "ACCOUNT_HOLDER"}]
        return answer(rows, pagination={"hasNextPage": number < 3})

    client, _ = connect(handler)
    roles = client.finance.party_roles.all("a1")
    assert [role.value.party_id for role in roles] == ["p1", "p2", "p3"]
