"""Asks the notebook hub who owns this server, with JupyterHub's `GET {api}/user`.

The hub gives each server the hub's address and a token, and names the owner of that token. So no
other environment variable can change the name. One deadline limits the whole exchange, and an
answer over the size limit is not read to its end.
"""

from __future__ import annotations

import asyncio
import ssl
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from urllib.parse import urlsplit

import httpx
import msgspec

from treasury.api.exchange.response_body import Redactor
from treasury.core.decoding import decode_json
from treasury.core.errors import JournalError
from treasury.core.files.secret_places import call_unseen
from treasury.core.settings import Secret, require_https
from treasury.core.settings.secret_routes import HUB_API

SECONDS: Final = 10
_MOST_BYTES: Final = 256 * 1024
"""Maximum size of an answer in bytes; the answer lists the user's groups, roles and servers."""
_LONGEST_NAME: Final = 255


class _User(msgspec.Struct, frozen=True):
    """The fields used from the hub's answer; `kind` is `service` if a service owns the token."""

    name: str
    kind: str = "user"


def hub_user(api: str, token: Secret) -> str:
    """Return the name of the token's owner; raise JournalError if the hub does not give one."""
    require_https(api, f"{HUB_API}: ")
    # The answer may repeat the token in a header, and httpcore logs headers.
    redactor = Redactor()
    redactor.hide(token.reveal())
    # A new thread is needed, because a notebook already runs an event loop in this one.
    with ThreadPoolExecutor(1) as apart:
        exchange = apart.submit(call_unseen, lambda: asyncio.run(_exchange(api, token)))
        name, problem = _name_in(exchange.result(), token)
    # Raised here, where no variable holds the answer. The answer may repeat the token, and a
    # traceback may show variables.
    if problem:
        raise JournalError(
            f"the hub at {urlsplit(api).hostname} does not name the person who is deciding:"
            f" {problem}; nothing was decided",
            do="restart this server from the hub",
        )
    return name


def _name_in(answer: bytes | str, token: Secret) -> tuple[str, str]:
    """Return the name in the hub's answer, and the reason if there is none; one is ""."""
    if isinstance(answer, str):
        return "", answer
    try:
        user = decode_json(answer, _User)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "", "its answer does not describe a user"
    name = user.name.strip()
    if user.kind != "user" or not name or not name.isprintable() or len(name) > _LONGEST_NAME:
        return "", "the token of this server does not belong to a person"
    if token.reveal() in name:
        return "", "its answer has the token instead of a name"
    return name, ""


async def _exchange(api: str, token: Secret) -> bytes | str:
    """Return the body of the hub's answer, or a text that explains why there is none."""
    try:
        # Proxies and redirects are ignored. No variable shows the token, because tracebacks may
        # show variables.
        async with (
            asyncio.timeout(SECONDS),
            httpx.AsyncClient(
                trust_env=False, follow_redirects=False, verify=ssl.create_default_context()
            ) as client,
            client.stream(
                "GET",
                f"{api.rstrip('/')}/user",
                headers={
                    "Authorization": f"token {token.reveal()}",
                    "Accept-Encoding": "identity",
                },
            ) as answer,
        ):
            if answer.status_code != httpx.codes.OK:
                return f"it answers {answer.status_code}"
            body = bytearray()
            async for chunk in answer.aiter_raw():
                body += chunk
                if len(body) > _MOST_BYTES:
                    return "its answer is too long"
            return bytes(body)
    except TimeoutError:
        return f"no answer within {SECONDS} s"
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        return type(error).__name__
