"""`treasury journal`: what people decided, who signed it, and whether it is whole."""

from treasury.cli.commands.actions import journal
from treasury.cli.commands.signing import head, key, verify

__all__ = ["journal"]

for command in (verify, head, key):
    journal.add_command(command)
