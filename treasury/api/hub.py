"""The notebook hub, asked whose server this is: the one question `GET {api}/user` of JupyterHub.

The hub gives its address to its servers, and its answer is about the owner of the token, so no
other variable of the environment decides who that is. One deadline holds for the exchange as a
whole, and an answer of more than a few kilobytes is not read to its end.
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
"""A user's answer holds a line for each group, role and server; this is thousands of them."""
_LONGEST_NAME: Final = 255


class _User(msgspec.Struct, frozen=True):
    """What is read of the hub's answer; a service's token is no person's."""

    name: str
    kind: str = "user"


def hub_user(api: str, token: Secret) -> str:
    """Return the name of the token's owner; JournalError if the hub names none."""
    require_https(api, f"{HUB_API}: ")
    redactor = Redactor()  # an answer may repeat the token in a header, which is logged
    redactor.hide(token.reveal())
    with ThreadPoolExecutor(1) as apart:  # a notebook's own loop runs in this thread already
        exchange = apart.submit(call_unseen, lambda: asyncio.run(_exchange(api, token)))
        name, problem = _name_in(exchange.result(), token)
    if problem:  # raised here, where no variable holds the answer: it may repeat the token
        raise JournalError(
            f"the hub at {urlsplit(api).hostname} does not say who is deciding: {problem};"
            " nothing was decided",
            do="restart this server from the hub",
        )
    return name


def _name_in(answer: bytes | str, token: Secret) -> tuple[str, str]:
    """Return the name in the hub's answer, or why there is none."""
    if isinstance(answer, str):
        return "", answer
    try:
        user = decode_json(answer, _User)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "", "its answer is no user of a hub"
    name = user.name.strip()
    if user.kind != "user" or not name or not name.isprintable() or len(name) > _LONGEST_NAME:
        return "", "the token of this server belongs to no person"
    if token.reveal() in name:
        return "", "it answers with the token in place of a name"
    return name, ""


async def _exchange(api: str, token: Secret) -> bytes | str:
    """Return the body of the hub's answer, or as text why there is none."""
    try:
        # Proxies and redirects are ignored. No variable holds the token, as tracebacks may
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
                    return "its answer does not end"
            return bytes(body)
    except TimeoutError:
        return f"no answer within {SECONDS} s"
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        return type(error).__name__
