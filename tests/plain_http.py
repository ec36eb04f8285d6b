"""Clients for addresses on loopback, which carry no certificates."""

from __future__ import annotations

import ssl
from typing import Any, Final

import httpx

__all__ = ["plain_client"]

_NO_CERTIFICATES: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""It trusts nobody: reading whom to trust takes longer than most tests that need a client."""


def plain_client(timeout: float = 10, **more: Any) -> httpx.Client:
    """A client for http addresses; https ones fail."""
    return httpx.Client(timeout=timeout, verify=_NO_CERTIFICATES, **more)
