"""Run as `python -m treasury.cli`."""

from treasury.cli import main

main()
