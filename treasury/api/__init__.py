"""The typed client of both services. It knows HTTP and nothing of storage."""

from treasury.api import bodies, models
from treasury.api.client import Client, Reply
from treasury.api.codec import Record
from treasury.api.paging import Page
from treasury.api.transport import Clock, Limits

__all__ = ["Client", "Clock", "Limits", "Page", "Record", "Reply", "bodies", "models"]
