"""Entry point of `python -m treasury.cli`."""

from treasury.cli import main

main()
