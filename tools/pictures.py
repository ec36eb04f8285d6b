"""Take the screenshots of README.md and docs/ from the practice company of `make demo`.

They show the report and, in a JupyterLab, the panels. Chromium must be installed (Debian package
chromium); equal versions and fonts give equal pictures.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page

from treasury.cli.commands.practice import prepare
from treasury.cli.practised_payments import begin_payments, play_payments
from treasury.core.calendar import Month
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

ROOT: Final = Path(__file__).resolve().parents[1]
DOCS: Final = ROOT / "docs"
sys.path.insert(0, str(ROOT / "tests" / "panels"))

from panel_lab import Desk, running_browser, running_lab  # noqa: E402 - found by the line above

WIDTH: Final = 1100
REPORT_WIDTH: Final = 1280
REPORT_HEIGHT: Final = 1240
PANEL_HEIGHT: Final = 1400
"""Maximum height in pixels; a longer panel is cut off at the bottom."""
PANELS: Final[Mapping[str, str]] = {
    "approvals": "t.panels.approvals()",
    "close": "t.panels.close('{month}')",
    "funding": "t.panels.funding()",
    "matches": "t.panels.matches()",
}
ANALYST: Final = "ana.lyst"


def picture_report(browser: Browser, report: Path) -> None:
    """Take a screenshot of the top of the month's report."""
    page = browser.new_page(viewport={"width": REPORT_WIDTH, "height": REPORT_HEIGHT})
    page.goto(report.as_uri())
    page.screenshot(path=DOCS / "report.png")
    page.close()


def picture_panels(page: Page, desk: Desk, workspace: Workspace, month: Month) -> None:
    """Take a screenshot of each panel in a notebook."""
    desk.narrow()
    for name, call in PANELS.items():
        start = f"import treasury\nt = treasury.open({str(workspace.folder)!r})"
        notebook = desk.open(name, start, call.format(month=month)).run()
        panel = notebook.panel
        panel.get_by_role("button", name="Sync").first.wait_for()
        panel.scroll_into_view_if_needed()
        box = panel.bounding_box()
        assert box is not None  # it is on the page
        clip = {**box, "height": min(box["height"], PANEL_HEIGHT)}
        page.screenshot(path=DOCS / f"{name}.png", clip=clip)  # type: ignore[arg-type]
        notebook.close()


def main() -> None:
    """Write all screenshots."""
    os.environ["TREASURY_USER"] = ANALYST
    with tempfile.TemporaryDirectory() as name:
        folder, company = Path(name), Sandbox()
        os.environ["TREASURY_STATE"] = str(folder / "state")
        with company.serve() as served:
            workspace = prepare(folder / "practice", company, served)
            requests = begin_payments(workspace.folder, company)
            month = Month.of(company.now.astimezone(workspace.settings.zone).date()).previous
            workspace.sync()
            workspace.statements.add(sorted((workspace.folder / "bank").glob("*.xml")))
            play_payments(workspace, company, requests)
            pack = workspace.close(month)
            secrets = {key: os.environ[key] for key in os.environ if key.startswith("TREASURY_")}
            with running_lab(folder / "lab", secrets) as lab, running_browser() as browser:
                picture_report(browser, Path(pack.report))
                viewport = {"width": WIDTH + 120, "height": PANEL_HEIGHT + 200}
                page = browser.new_context(viewport=viewport).new_page()  # type: ignore[arg-type]
                picture_panels(page, Desk(lab, page), workspace, month)
            workspace.close_clients()


if __name__ == "__main__":
    main()
