"""All work of a desk that writes files, in one process that a test starts without a umask."""

from __future__ import annotations

import sys
from pathlib import Path

from treasury.cli.commands.practice import prepare
from treasury.core.files.access import keep_to_group, keep_to_user
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace


def main(folder: Path, shared: str) -> None:
    """Sync, add bank files, close the month and export it; `shared` is the setting of that name."""
    keep_to_user()
    folder.mkdir()
    if shared:
        keep_to_group(folder)
    company = Sandbox(7)
    with company.serve() as served:
        desk = prepare(folder, company, served)
        settings = folder / "treasury.toml"
        if shared:
            line = f'[workspace]\nshared = "{shared}"'
            settings.write_text(settings.read_text("utf-8").replace("[workspace]", line), "utf-8")
        desk = Workspace(folder)
        desk.sync()
        desk.close_clients()
    desk.statements.add(sorted((folder / "bank").glob("*.xml")))
    sys.path.append(str(Path(__file__).parents[1]))
    from signed import close_month

    close_month(desk, "2026-10")
    desk.close("2026-10")
    books = desk.accounting("2026-10")
    books.write_csv(folder / "journal.csv")
    books.write_beancount(folder / "month.beancount")
    desk.fees("2026-10").to_excel(folder / "fees.xlsx")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
