from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from fake_service import Connect, refusal

from treasury.api import bodies
from treasury.api.finance_client import Finance
from treasury.api.service_errors import error_for, read_refusal
from treasury.core import errors

CASES = [
    (400, "VALIDATION_ERROR", errors.InvalidRequest),
    (400, "invalid-request", errors.InvalidRequest),
    (400, "kyc-not-verified", errors.NotReady),
    (400, "account-not-active", errors.NotReady),
    (400, "account-wallet-not-active", errors.NotReady),
    (401, "UNAUTHORIZED", errors.Unauthorized),
    (402, "insufficient-funds", errors.InsufficientFunds),
    (403, "FORBIDDEN", errors.Forbidden),
    (403, "KYB_NOT_VERIFIED", errors.NotReady),
    (404, "account-not-found", errors.NotFound),
    (405, "METHOD_NOT_SUPPORTED", errors.NotOffered),
    (409, "concurrent-modification", errors.VersionConflict),
    (409, "CONFLICT", errors.VersionConflict),
    (409, "idempotency-conflict", errors.KeySpent),
    (415, "INVALID_MEDIA_TYPE", errors.InvalidRequest),
    (422, "insufficient-funds", errors.InsufficientFunds),
    (422, "idempotency-conflict", errors.KeySpent),
    (422, "kyc-required", errors.NotReady),
    (422, "something-new", errors.InvalidRequest),
    (418, "TEAPOT", errors.InvalidRequest),
    (429, "RATE_LIMITED", errors.RateLimited),
    (500, "internal-error", errors.ServiceFault),
    (302, None, errors.UnexpectedResponse),
]


@pytest.mark.parametrize(("status", "code", "kind"), CASES)
def test_the_error_class_depends_on_status_then_code(
    status: int, code: str | None, kind: type
) -> None:
    error = error_for(refusal(status, code), "GET /accounts/{id}")
    assert type(error) is kind
    assert error.status == status
    assert error.code == (code and code.upper().replace("-", "_"))
    assert error.do
    assert str(error).startswith(f"GET /accounts/{{id}}: {status}")


def test_404_without_an_id_means_not_offered(connect: Connect) -> None:
    client, _ = connect(lambda _: refusal(404, "NOT_FOUND"))
    with pytest.raises(errors.NotOffered):
        client.ramp.company.get()
    with pytest.raises(errors.NotFound):
        client.ramp.requests.get("r1")


def test_a_404_not_from_the_service_means_not_offered(connect: Connect) -> None:
    client, _ = connect(lambda _: httpx.Response(404, content=b"<h1>nginx</h1>"))
    with pytest.raises(errors.NotOffered):
        client.ramp.requests.get("r1")


def test_404_of_a_record_that_the_body_names_is_not_found(connect: Connect) -> None:
    client, _ = connect(lambda _: refusal(404, "NOT_FOUND"))
    body = bodies.NewPaymentRequest(type="x", reference_id="r", amount=1, currency="EUR")
    with pytest.raises(errors.NotFound, match="check the ids in the request"):
        client.finance.payment_requests.create(body)


def test_a_404_without_the_error_shape_leaves_a_create_unknown(
    connect: Connect,
) -> None:
    client, _ = connect(lambda _: httpx.Response(404, html="<h1>proxy</h1>"))
    body = bodies.NewPaymentRequest(type="x", reference_id="r", amount=1, currency="EUR")
    with pytest.raises(errors.OutcomeUnknown):
        client.finance.payment_requests.create(body)


def test_a_404_about_operation_or_record_names_both(connect: Connect) -> None:
    client, _ = connect(lambda _: refusal(404, "NOT_FOUND"))
    with pytest.raises(errors.NotFound, match=r"check the id; .* do not have this operation"):
        client.finance.accounts.reactivate("a")


@pytest.mark.parametrize(
    "ask",
    [
        lambda finance: finance.accounts.reactivate("a1"),
        lambda finance: finance.wallets.permits("a1", "w1"),
        lambda finance: finance.wallets.allowances("a1", "w1", "USDC"),
    ],
)
def test_a_404_of_an_operation_whose_record_is_there_means_not_offered(
    connect: Connect, ask: Callable[[Finance], object]
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path.endswith("/accounts/a1"):
            return httpx.Response(200, json={"success": True, "result": {"id": "a1"}})
        if path.endswith("/accounts/a1/wallets"):
            return httpx.Response(200, json={"success": True, "result": [{"id": "w1"}]})
        return refusal(404, "NOT_FOUND")

    client, _ = connect(answer)
    with pytest.raises(errors.NotOffered, match="do without it") as caught:
        ask(client.finance)
    assert caught.value.by_service
    assert not caught.value.may_have_executed


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        ({"errors": [{"code": "a-b"}], "traceCode": "t1"}, {}, ("A_B", None, "t1")),
        ({"failures": [{"code": "X", "message": "m"}]}, {"X-Trace-Id": "t2"}, ("X", "m", "t2")),
        ({"error": "invalid_client", "error_description": "d"}, {}, ("INVALID_CLIENT", "d", None)),
        ({"errors": [], "failures": None}, {}, (None, None, None)),
        ({"errors": "odd", "message": 7}, {}, (None, None, None)),
        ([1, 2], {"X-Request-Id": "t3"}, (None, None, "t3")),
    ],
)
def test_refusals_of_every_shape_are_read(body: object, headers: dict, expected: tuple) -> None:
    found = read_refusal(httpx.Response(400, json=body, headers=headers))
    assert (found.code, found.message, found.trace) == expected


MANY = {
    "success": False,
    "errors": [
        {"code": "REQUIRED_FIELD", "field": "address.city", "message": "must be set"},
        {"code": "invalid-format", "field": "vatNumber", "message": "vatNumber is too long"},
        {"code": "REQUIRED_FIELD", "field": "lastName", "traceCode": "t-7"},
    ],
}


def test_every_error_of_a_refusal_is_shown_with_its_field_and_trace(connect: Connect) -> None:
    client, _ = connect(lambda _: httpx.Response(400, json=MANY))
    with pytest.raises(errors.InvalidRequest) as caught:
        client.finance.parties.get("p1")
    assert caught.value.what == (
        "GET /parties/{id}: 400 REQUIRED_FIELD: address.city must be set;"
        " INVALID_FORMAT: vatNumber is too long; REQUIRED_FIELD: lastName (id p1, trace t-7)"
    )
    assert (caught.value.code, caught.value.trace) == ("REQUIRED_FIELD", "t-7")


def test_the_error_kind_may_be_in_a_later_error_of_the_list() -> None:
    listed = [{"code": "VALIDATION_ERROR"}, {"code": "kyc-not-verified"}]
    answer = httpx.Response(400, json={"success": False, "errors": listed})
    assert isinstance(error_for(answer, "POST /transfers"), errors.NotReady)


def test_a_flood_of_errors_is_summarised_by_its_count() -> None:
    listed = [{"code": f"C{number}", "message": "x" * 400} for number in range(5000)]
    answer = httpx.Response(400, json={"success": False, "errors": listed})
    error = error_for(answer, "GET /parties")
    assert "C19: x" in error.what
    assert error.what.endswith("and 4980 more errors")
    assert len(error.what) < 8000


def test_a_message_is_one_bounded_line_without_controls() -> None:
    hostile = "first\r\nsecond\x1b[31m\u202eevil" + "x" * 1000
    found = read_refusal(httpx.Response(400, json={"errors": [{"code": "A", "message": hostile}]}))
    assert found.message is not None
    assert found.message.startswith("first second [31m evil")
    assert len(found.message) == 300
    assert found.message.isprintable()


def test_a_token_in_a_message_is_removed(connect: Connect) -> None:
    said = "token: eyJhbGciOi.eyJzdWIi.x was rejected; client_secret=hunter2hunter2"
    found = read_refusal(httpx.Response(401, json={"errors": [{"code": "A", "message": said}]}))
    assert found.message == "token: … was rejected; client_secret=…"
