"""Carries out an approved action at most once, and settles actions of unknown outcome."""
