"""Run as `python -m treasury`."""

from treasury.cli import main

main()
