"""The workspace: the object that an analyst works with; every operation is a method."""

from treasury.workspace.stores import RULES_FILE
from treasury.workspace.workspace import Workspace, find_workspace, open_workspace

__all__ = ["RULES_FILE", "Workspace", "find_workspace", "open_workspace"]
