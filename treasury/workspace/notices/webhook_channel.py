"""Webhooks: one POST with JSON, through the environment's proxy, without redirects.

A notice that did not reach the endpoint, or was refused, is resent later. After any other error or
answer, except success, the notice may have arrived, so a person settles it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import httpx
import msgspec

from treasury.api.exchange.network import Exchange, Network, exchanging
from treasury.api.exchange.response_body import Redactor
from treasury.core.errors import NoticeError, SettingsError
from treasury.core.files.secret_places import Secret, call_unseen, is_place, secret_at
from treasury.core.settings.addresses import in_the_clear
from treasury.core.settings.notice_terms import Webhook
from treasury.workspace.notices.digest import Digest

SECONDS: Final = 30.0
_MOST_BYTES: Final = 64 * 1024


@contextmanager
def opened_webhook(
    name: str, webhook: Webhook, seconds: float = SECONDS
) -> Iterator[Callable[[Digest], None]]:
    """Yield a function that posts a digest; raise SettingsError for a bad address or token."""
    holder, url, token = f"the webhook {name}", webhook.url, None
    if is_place(url.reveal()):
        url = secret_at(url.reveal(), holder, "url")
    problem = next((problem for problem, _ in in_the_clear(url.reveal())), "")
    try:
        call_unseen(lambda: httpx.URL(url.reveal()))
    except (httpx.InvalidURL, ValueError):
        problem = "it is invalid"
    if problem:
        raise SettingsError(
            f"the address of {holder} is not an https address", do="correct it where it is stored"
        )
    if webhook.token is not None:
        token = secret_at(webhook.token, holder, "token")
    network, redactor = Network(connections=1, trust_env=True), Redactor()
    for part in (url.reveal(), *re.split(r"[/?&=#]", url.reveal()), token and token.reveal()):
        redactor.hide(part or "")
    del part
    endpoint = _Endpoint(name, url, token, network, redactor)
    try:
        yield lambda digest: _post(endpoint, digest, seconds)
    finally:
        network.close()


class _Endpoint(msgspec.Struct, frozen=True):
    """A webhook's address and token, which are never printed."""

    name: str
    url: Secret
    token: Secret | None
    network: Network
    redactor: Redactor
    """Masks the address and the token in the network library's log, even if an answer contains
    them."""


def _answer(endpoint: _Endpoint, digest: Digest, seconds: float) -> int | Exception:
    """Post a digest; return the answer's status, or the error.

    An httpx client would log the address, so this uses the transport directly.
    """

    def status() -> int:
        request = httpx.Request(
            "POST",
            endpoint.url.reveal(),
            headers={
                "Accept": "*/*",
                "Accept-Encoding": "identity",
                "Content-Type": "application/json",
                "Idempotency-Key": digest.key,
                "User-Agent": "treasury",
            },
            content=msgspec.json.encode(digest.to_json()),
            extensions={"timeout": httpx.Timeout(seconds).as_dict()},
        )
        if endpoint.token is not None:
            request.headers["Authorization"] = f"Bearer {endpoint.token.reveal()}"
        answer = endpoint.network.handle_request(request)
        answer.close()
        return answer.status_code

    with exchanging(Exchange(time.monotonic() + seconds, _MOST_BYTES, time.monotonic)):
        try:
            return call_unseen(status)
        except (httpx.HTTPError, ValueError) as error:
            return error


def _post(endpoint: _Endpoint, digest: Digest, seconds: float) -> None:
    name, status = endpoint.name, _answer(endpoint, digest, seconds)
    if isinstance(status, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        raise NoticeError(
            f"the webhook {name} was not reached: {type(status).__name__}",
            do="check its address and the network; the next try sends it",
        )
    if isinstance(status, Exception):
        raise _in_doubt(name, type(status).__name__)
    if 200 <= status < 300:
        return
    if status >= 500 or status < 300:
        raise _in_doubt(name, f"it answered {status}")
    moved = "it redirects, which is not followed" if status < 400 else "it refused the notice"
    raise NoticeError(
        f"the webhook {name} answered {status}: {moved}",
        do="correct its address or token; the next try sends it",
    )


def _in_doubt(name: str, why: str) -> NoticeError:
    return NoticeError(
        f"it is unknown whether the webhook {name} accepted the notice: {why}",
        do="check whether it arrived, then run `treasury notices settle`",
        may_have_arrived=True,
    )
