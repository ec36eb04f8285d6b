"""Findings about what `treasury watch` needs: the inbox, and the places of the notices' secrets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from treasury.core.errors import SettingsError
from treasury.core.settings import Settings, find_secret
from treasury.core.settings.notice_terms import InboxTerms
from treasury.core.settings.secret_routes import secret_settings
from treasury.workspace.upkeep.health_finding import HealthFinding
from treasury.workspace.upkeep.inbox import inbox_folder


def watch_findings(folder: Path, settings: Settings) -> Iterator[HealthFinding]:
    """Yield findings about the inbox and the notices, if they are configured."""
    if settings.inbox is not None:
        yield _inbox_finding(folder, settings.inbox)
    terms = settings.notices
    if terms is None:
        return
    missing = []
    for setting in secret_settings(settings):
        if setting.role != "place" or not setting.key.startswith("notices."):
            continue
        try:
            secret, why = find_secret(setting.value, setting.key)
        except SettingsError as error:
            secret, why = None, error.what
        if secret is None:
            missing.append(f"{setting.key}: {why}")
    for problem in missing:
        yield HealthFinding(
            "notices", "missing", problem, "set it at the place that this setting names"
        )
    if not missing:
        told = [*terms.people, *(f"webhook {name}" for name in terms.webhooks)]
        who = ", ".join(told) or "nobody"
        yield HealthFinding("notices", "ok", f"`treasury watch` notifies {who}")


def _inbox_finding(workspace: Path, terms: InboxTerms) -> HealthFinding:
    try:
        place = inbox_folder(workspace, terms)
    except SettingsError as error:
        return HealthFinding("inbox", "missing", error.what, error.do or "")
    if not place.is_dir():
        return HealthFinding(
            "inbox", "missing", f"{place} is not a folder", "create it, or mount its disk"
        )
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        return HealthFinding(
            "inbox",
            "missing",
            f"files in {place} cannot be moved",
            "give this user write permission there",
        )
    return HealthFinding("inbox", "ok", f"{place}; `treasury watch` reads it")
