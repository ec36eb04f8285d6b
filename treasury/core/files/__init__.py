"""Reads untrusted files safely, and writes files completely or not at all."""
