"""Clients for addresses on loopback, without certificates."""

from __future__ import annotations

import ssl
from typing import Any, Final

import httpx

__all__ = ["plain_client"]

_NO_CERTIFICATES: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""A context that trusts no certificate: loading the usual ones takes longer than most tests."""


def plain_client(timeout: float = 10, **more: Any) -> httpx.Client:
    """Return a client for http addresses; https addresses fail."""
    return httpx.Client(timeout=timeout, verify=_NO_CERTIFICATES, **more)
