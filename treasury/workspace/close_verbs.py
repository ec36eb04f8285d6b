"""The workspace's methods of the close: checklist, close pack, verification."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from treasury.core.calendar import Month
from treasury.core.errors import ActionRefused, InputError
from treasury.workspace.month_verbs import WorkspaceMonths

if TYPE_CHECKING:
    from treasury.close.checklist import Checklist
    from treasury.close.closing import Closing
    from treasury.report import ClosePack
    from treasury.report.pack.pack_verification import Verified


class WorkspaceClose(WorkspaceMonths):
    """A workspace with the methods that close months."""

    def checklist(self, month: str | Month | Closing | None = None) -> Checklist:
        """Return the checklist of a month's close: the conditions, and the items that block it.

        Parameters
        ----------
        month
            A month; or the result of `periods.month`, to include its comparison with the ledger.
            Default: the last month that ended.

        Returns
        -------
        Checklist
            The conditions, each with its blockers; `table` has them as rows.

        Raises
        ------
        NothingStored
            If nothing is stored about the month.

        Examples
        --------
        >>> t.checklist("2026-10")
        """
        from treasury.close.checklist import checklist
        from treasury.close.closing import Closing

        return checklist(month if isinstance(month, Closing) else self.periods.month(month))

    def close(
        self,
        month: str | Month | None = None,
        folder: str | Path | None = None,
        *,
        sign: bool = False,
        ledger: str | Path | None = None,
        books: str | Path | None = None,
        pdf: bool = False,
        notebook: bool = False,
    ) -> ClosePack:
        """Prepare a month's close or, with `sign`, sign and lock it; then write its pack of files.

        Parameters
        ----------
        month
            The month; default: the last one that ended.
        folder
            The pack's folder; default: `close/<month>`.
        sign
            Sign a colleague's preparation instead of preparing the month.
        ledger
            A CSV file of ledger balances to compare during preparation; default: the month's last
            one.
        books
            A CSV file of the ledger's postings on bank accounts, to reconcile with the bank lines
            during preparation; default: the month's last one.
        pdf, notebook
            True to also print the report to PDF with Chromium, or to also execute the close's
            notebook.

        Returns
        -------
        ClosePack
            The written files. If an item blocks the close, they are a draft, and `note` has the
            reason. The pack of a closed month is recomputed from its pinned data, without later
            facts.

        Raises
        ------
        ActionRefused
            If this person may not sign.
        InputError
            If a ledger or books are given together with `sign`, or for a closed month.
        NothingStored
            If nothing is stored about the month.

        Examples
        --------
        >>> t.close("2026-10", ledger="ledger.csv")
        """
        import msgspec

        from treasury.lake.store.disk import link_refused
        from treasury.report import write_close
        from treasury.report.pack.close_notebook import require_papermill
        from treasury.report.pack.pdf_printing import require_browser

        # A missing program raises its error here, before a month is locked.
        if pdf:
            require_browser()
        if notebook:
            require_papermill()
        month = self.month(month)
        packs = self.folder / "close"
        if folder is None and packs.is_symlink():
            raise link_refused(packs)
        target = packs / str(month) if folder is None else Path(folder)
        note = ""
        ledger_file = None if ledger is None else Path(ledger)
        books_file = None if books is None else Path(books)
        if sign and (ledger_file or books_file):
            raise InputError(
                "the ledger is given when a month is prepared, not when it is signed",
                do="omit it: the preparation is signed as it is",
            )
        if sign:
            closing = self.periods.sign(month)
        elif self.is_closed(month):
            closing = self.periods.month(month, ledger=ledger_file, books=books_file)
        # A view of an earlier instant cannot prepare a month, so the result is a draft.
        elif self.as_of is not None:
            month_then = self.periods.month(month, ledger=ledger_file, books=books_file)
            closing = msgspec.structs.replace(month_then, preparation=None)
        else:
            prepared = self.periods.prepare_or_show(month, ledger=ledger_file, books=books_file)
            closing = prepared.closing
            note = "" if prepared.refusal is None else str(prepared.refusal)
        workspace = self.folder if notebook else None
        return write_close(
            closing,
            target,
            pdf=pdf,
            notebook=workspace,
            note=note,
            content=self._attached,
        )

    def write_pack(self, closing: Closing) -> ClosePack:
        """Write the pack of a month into the folder `close/<month>`, without a decision.

        Parameters
        ----------
        closing
            The month, from `periods.at_close`, `periods.prepare` or `periods.sign`.

        Returns
        -------
        ClosePack
            The written files; `seal` is the hash of the pack, which a signature can name.

        Raises
        ------
        InputError
            If the folder holds files that do not belong to a pack.
        StorageError
            If the pack cannot be written.

        Examples
        --------
        >>> t.write_pack(t.periods.at_close("2026-10")).seal
        """
        from treasury.lake.store.disk import link_refused
        from treasury.report import write_close

        packs = self.folder / "close"
        if packs.is_symlink():
            raise link_refused(packs)
        return write_close(closing, packs / str(closing.r.month), content=self._attached)

    def _attached(self, sha256: str) -> bytes | None:
        """Return the bytes of an attached file, or None if two people removed them."""
        try:
            return self.items.file_content(sha256)
        except ActionRefused:
            return None

    def verify_pack(self, folder: str | Path) -> Verified:
        """Verify the pack of a close against this workspace's pinned commit and journal.

        Parameters
        ----------
        folder
            The pack's folder.

        Returns
        -------
        Verified
            `holds` is True if there is no difference. The table has one row per difference.

        Examples
        --------
        >>> t.verify_pack("close/2026-10").holds
        """
        from treasury.report.pack.pack_verification import verify_with

        return verify_with(Path(folder), self.journal, self.lake)
