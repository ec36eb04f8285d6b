"""The notebook hub, asked whose server this is: the one question `GET {api}/user` of JupyterHub.

The hub's address is given by the policy and its answer is about the owner of the token, so nothing
that stands in the environment beside it decides who that is. One deadline holds for the exchange as
a whole, and an answer of more than a few kilobytes is not read to its end.
"""

from __future__ import annotations

import asyncio
import ssl
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from urllib.parse import urlsplit

import httpx
import msgspec

from treasury.errors import JournalError
from treasury.ground.decoding import decode_json
from treasury.settings import Secret

SECONDS: Final = 10
_MOST_BYTES: Final = 256 * 1024
"""A user's answer holds a line for each group, role and server; this is thousands of them."""
_LONGEST_NAME: Final = 255


class _User(msgspec.Struct, frozen=True):
    """What is read of the hub's answer; a service's token is no person's."""

    name: str
    kind: str = "user"


def hub_user(api: str, token: Secret) -> str:
    """The name of the person whose token this is; JournalError where the hub does not say."""
    with ThreadPoolExecutor(1) as apart:  # a notebook's own loop runs in this thread already
        body = apart.submit(asyncio.run, _exchange(api, token)).result()
    try:
        user = decode_json(body, _User)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _unusable(api, "its answer is no user of a hub") from None
    name = user.name.strip()
    if user.kind != "user" or not name or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise _unusable(api, "the token of this server belongs to no person")
    if token.reveal() in name:
        raise _unusable(api, "it answers with the token in place of a name")
    return name


async def _exchange(api: str, token: Secret) -> bytes:
    headers = {"Authorization": f"token {token.reveal()}", "Accept-Encoding": "identity"}
    try:
        # Neither a proxy nor an address comes from the environment, for that is what is in doubt.
        async with (
            asyncio.timeout(SECONDS),
            httpx.AsyncClient(
                trust_env=False, follow_redirects=False, verify=ssl.create_default_context()
            ) as client,
            client.stream("GET", f"{api.rstrip('/')}/user", headers=headers) as answer,
        ):
            if answer.status_code != httpx.codes.OK:
                raise _unusable(api, f"it answers {answer.status_code}")
            body = bytearray()
            async for chunk in answer.aiter_raw():
                body += chunk
                if len(body) > _MOST_BYTES:
                    raise _unusable(api, "its answer does not end")
            return bytes(body)
    except TimeoutError:
        raise _unusable(api, f"no answer within {SECONDS} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        raise _unusable(api, type(error).__name__) from None


def _unusable(api: str, why: str) -> JournalError:
    return JournalError(
        f"the hub at {urlsplit(api).hostname} does not say who is deciding: {why}; nothing was"
        " decided",
        do="restart this server from the hub, or correct [hub] api in policy.toml",
    )
