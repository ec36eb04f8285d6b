"""Shared parts of the sandbox's handlers: requests, replies, lists, idempotency and rate limits."""
