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
from treasury.ground.notice_terms import Webhook, is_place
from treasury.notices.digest import Digest
from treasury.settings import require_https, secret_at

SECONDS: Final = 30.0
_MOST_BYTES: Final = 64 * 1024


@contextmanager
def opened_webhook(
    name: str, webhook: Webhook, seconds: float = SECONDS
) -> Iterator[Callable[[Digest], None]]:
    """What posts one digest; SettingsError where the address or the token is not there."""
    holder, url = f"the webhook {name}", webhook.url
    if is_place(url):
        url = secret_at(url, holder, "url").reveal()
    try:
        require_https(url)
        target = httpx.URL(url)
    except (SettingsError, httpx.InvalidURL, ValueError):
        raise SettingsError(
            f"the address of {holder} is no https address", do="correct it where it is kept"
        ) from None
    headers = {"Accept-Encoding": "identity"}
    if webhook.token is not None:
        token = secret_at(webhook.token, holder, "token").reveal()
        headers["Authorization"] = f"Bearer {token}"
    network = Network(connections=1, trust_env=True)
    with httpx.Client(transport=network, headers=headers, follow_redirects=False) as client:
        yield lambda digest: _post(client, target, name, digest, seconds)


def _post(
    client: httpx.Client, target: httpx.URL, name: str, digest: Digest, seconds: float
) -> None:
    exchange = Exchange(time.monotonic() + seconds, _MOST_BYTES, time.monotonic)
    try:
        with (
            exchanging(exchange),
            client.stream(
                "POST",
                target,
                content=msgspec.json.encode(digest.to_json()),
                headers={"Content-Type": "application/json", "Idempotency-Key": digest.key},
                timeout=seconds,
            ) as answer,
        ):
            status = answer.status_code
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
        raise NoticeError(
            f"the webhook {name} was not reached: {type(error).__name__}",
            do="check its address and the network; the next try sends it",
        ) from None
    except (httpx.HTTPError, ValueError) as error:
        raise _in_doubt(name, type(error).__name__) from None
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
