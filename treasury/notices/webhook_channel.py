"""A webhook: plain JSON posted once, behind the proxy of the environment, redirects not followed.

An endpoint that was not reached, or answers that it did not accept, may be tried again. Anything
else that is no success may have been carried out, and is left to a person.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import httpx
import msgspec

from treasury.api.exchange.network import Exchange, Network, exchanging
from treasury.errors import NoticeError, SettingsError
from treasury.ground.notice_terms import Webhook
from treasury.ground.secret_places import Secret, call_unseen, is_place, secret_at
from treasury.notices.digest import Digest
from treasury.settings import require_https

SECONDS: Final = 30.0
_MOST_BYTES: Final = 64 * 1024


@contextmanager
def opened_webhook(
    name: str, webhook: Webhook, seconds: float = SECONDS
) -> Iterator[Callable[[Digest], None]]:
    """Yield what posts one digest; SettingsError if the address or the token is missing."""
    holder, url, token = f"the webhook {name}", webhook.url, None
    if is_place(url.reveal()):
        url = secret_at(url.reveal(), holder, "url")
    if not _is_usable(url):
        raise SettingsError(
            f"the address of {holder} is no https address", do="correct it where it is kept"
        )
    if webhook.token is not None:
        token = secret_at(webhook.token, holder, "token")
    network = Network(connections=1, trust_env=True)
    try:
        yield lambda digest: _post(_Endpoint(name, url, token, network), digest, seconds)
    finally:
        network.close()


class _Endpoint(msgspec.Struct, frozen=True):
    """One webhook: neither its address nor its token renders."""

    name: str
    url: Secret
    token: Secret | None
    network: Network


def _is_usable(url: Secret) -> bool:
    try:
        require_https(url.reveal())
        httpx.URL(url.reveal())
    except (SettingsError, httpx.InvalidURL, ValueError):
        return False
    return True


def _request(endpoint: _Endpoint, digest: Digest, seconds: float) -> httpx.Request:
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
    return request


def _answer(endpoint: _Endpoint, digest: Digest, seconds: float) -> int | Exception:
    """Post a digest; return the status of the answer, or the error in its place.

    A client of httpx would log the address, so the network is used without one.
    """

    def status() -> int:
        answer = endpoint.network.handle_request(_request(endpoint, digest, seconds))
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
    moved = "it sends elsewhere, which is not followed" if status < 400 else "it refused the notice"
    raise NoticeError(
        f"the webhook {name} answered {status}: {moved}",
        do="correct its address or token; the next try sends it",
    )


def _in_doubt(name: str, why: str) -> NoticeError:
    return NoticeError(
        f"whether the webhook {name} took the notice is not known: {why}",
        do="look there whether it arrived, then `treasury notices settle`",
        may_have_arrived=True,
    )
