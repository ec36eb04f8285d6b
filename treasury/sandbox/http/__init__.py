"""Shared code for the sandbox's handlers: requests, replies, lists, idempotency and rate limits."""
