"""What the lake keeps of bank statements: one row per statement, one per movement on an account.

The columns carry ISO 20022's own terms, and each names the element it is read from, relative to
`Stmt` (or `Rpt`, `Ntfctn`), `Ntry` or `TxDtls`. A reader of another format fills the same columns.
"""

from __future__ import annotations

from typing import Final

from treasury.lake import AMOUNT, BOOL, DATE, INSTANT, INTEGER, TEXT, TEXTS, Column, Table

COUNTING: Final = "vanished_at IS NULL"
"""Which stored statements and movements count, in SQL: those of withdrawn statements do not."""

STATEMENTS: Final = Table(
    name="statements",
    key=("statement_id",),
    title="Bank statements, each with the proof of its balances",
    columns=(
        Column("statement_id", TEXT, "our id: a hash of account, the bank's ids, days, opening"),
        Column("file_name", TEXT, "the file it was read from"),
        Column("file_sha256", TEXT, "SHA-256 of that file's bytes"),
        Column("format", TEXT,
               "camt.052 to .054, MT940, MT942, CODA, CFONB 120, CSV and its profile"),
        Column("message_id", TEXT, "the bank's id of the message", "GrpHdr/MsgId"),
        Column("bank_statement_id", TEXT, "the bank's id of the statement", "Stmt/Id"),
        Column("sequence_number", INTEGER, "the bank's counter", "Stmt/ElctrncSeqNb, LglSeqNb"),
        Column("account", TEXT, "IBAN, else the bank's account number", "Stmt/Acct/Id"),
        Column("account_name", TEXT, "name of the account or its owner", "Stmt/Acct/Nm, Ownr/Nm"),
        Column("servicer_bic", TEXT, "BIC of the bank", "Stmt/Acct/Svcr/FinInstnId/BIC, BICFI"),
        Column("currency", TEXT, "currency of the account", "Stmt/Acct/Ccy, Bal/Amt/@Ccy"),
        Column("from_date", DATE, "first day covered, as the bank says", "Stmt/FrToDt/FrDtTm"),
        Column("to_date", DATE, "last day covered, as the bank says", "Stmt/FrToDt/ToDtTm"),
        Column("created_at", INSTANT, "when the bank wrote it", "Stmt/CreDtTm"),
        Column("opening_balance", AMOUNT, "debit negative", "Stmt/Bal OPBD, PRCD, ITBD",
               unit="`currency`"),
        Column("opening_date", DATE, "date of that balance", "Stmt/Bal/Dt"),
        Column(
            "closing_balance", AMOUNT, "debit negative", "Stmt/Bal CLBD, ITBD", unit="`currency`"
        ),
        Column("closing_date", DATE, "date of that balance", "Stmt/Bal/Dt"),
        Column("balances", TEXTS, "every balance: code, day, currency and amount", "Stmt/Bal"),
        Column("entry_count", INTEGER, "movements read: rows of statement_entries"),
        Column(
            "credit_total", AMOUNT, "booked credits, in the statement's currency", unit="`currency`"
        ),
        Column("debit_total", AMOUNT, "booked debits, positive, in the statement's currency",
               unit="`currency`"),
        Column("proved", BOOL, "whether opening + booked entries = closing, and nothing was lost"),
        Column("proof", TEXT, "the sum that holds, or what fails"),
        Column("doubt", TEXT, "what its account or another statement contradicts; in `proof` too"),
        Column("added_at", INSTANT, "when it was first added"),
        Column("movements_hash", TEXT, "of its movements as the bank sent them, spaces apart"),
        Column("rivals", TEXTS,
               "versions that nothing shows to be older or newer: SHA-256 and name of each file"),
    ),
)  # fmt: skip

STATEMENT_ENTRIES: Final = Table(
    name="statement_entries",
    key=("entry_id",),
    title="Movements on bank accounts, one row per transaction detail",
    columns=(
        Column("entry_id", TEXT, "our id, the same when the movement is read again"),
        Column("statement_id", TEXT, "the statement it is in"),
        Column("ordinal", INTEGER, "its place among the rows of the statement, from 1"),
        Column("position", TEXT, "its place in the file: Stmt[1]/Ntry[3]/TxDtls[2]"),
        Column("account", TEXT, "the account that moved", "Stmt/Acct/Id"),
        Column("entry_reference", TEXT, "reference of the entry", "Ntry/NtryRef"),
        Column("account_servicer_reference", TEXT, "the bank's own reference",
               "Ntry/AcctSvcrRef, TxDtls/Refs/AcctSvcrRef"),
        Column("message_id", TEXT, "id of the order's message", "TxDtls/Refs/MsgId, Btch/MsgId"),
        Column(
            "payment_information_id", TEXT, "the batch's id", "TxDtls/Refs/PmtInfId, Btch/PmtInfId"
        ),
        Column("instruction_id", TEXT, "the sender's id towards its bank", "TxDtls/Refs/InstrId"),
        Column("end_to_end_id", TEXT, "the payer's id; null if none", "TxDtls/Refs/EndToEndId"),
        Column("transaction_id", TEXT, "the first bank's id", "TxDtls/Refs/TxId"),
        Column("uetr", TEXT, "universal end-to-end transaction reference", "TxDtls/Refs/UETR"),
        Column("mandate_id", TEXT, "the direct debit's mandate", "TxDtls/Refs/MndtId"),
        Column("amount", AMOUNT, "never negative; null where not stated", "Ntry/Amt, TxDtls/Amt",
               unit="`currency`"),
        Column("currency", TEXT, "currency of the amount", "Ntry/Amt/@Ccy"),
        Column("direction", TEXT, "CRDT into the account, DBIT out of it", "Ntry/CdtDbtInd"),
        Column(
            "entry_status",
            TEXT,
            "BOOK, PDNG or INFO, else as sent; SUPERSEDED once a proved statement has not got it",
            "Ntry/Sts",
        ),
        Column("is_reversal", BOOL, "the bank's mark; the direction already says", "Ntry/RvslInd"),
        Column(
            "is_twin", BOOL, "another movement is alike in all that tells them apart: for people"
        ),
        Column("booking_date", DATE, "the bank's day, in its own zone", "Ntry/BookgDt"),
        Column("value_date", DATE, "when it bears interest", "Ntry/ValDt"),
        Column("remittance", TEXTS, "unstructured text, piece by piece",
               "TxDtls/RmtInf/Ustrd, Strd/AddtlRmtInf"),
        Column("structured_references", TEXTS,
               "creditor references, document numbers, the bank's own kinds",
               "TxDtls/RmtInf/Strd/CdtrRefInf/Ref, RfrdDocInf/Nb, Refs/Prtry/Ref"),
        Column("additional_information", TEXT, "the bank's free text",
               "TxDtls/AddtlTxInf, Ntry/AddtlNtryInf"),
        Column("counterparty_name", TEXT, "the party that is not us"),
        Column("counterparty_account", TEXT, "its account"),
        Column("counterparty_agent", TEXT, "its bank"),
        Column("debtor_name", TEXT, "who pays", "TxDtls/RltdPties/Dbtr/Nm, Dbtr/Pty/Nm"),
        Column("debtor_account", TEXT, "IBAN or number", "TxDtls/RltdPties/DbtrAcct/Id"),
        Column("debtor_agent", TEXT, "BIC, else clearing id, else name", "TxDtls/RltdAgts/DbtrAgt"),
        Column("creditor_name", TEXT, "who is paid", "TxDtls/RltdPties/Cdtr/Nm, Cdtr/Pty/Nm"),
        Column("creditor_account", TEXT, "IBAN or number", "TxDtls/RltdPties/CdtrAcct/Id"),
        Column(
            "creditor_agent", TEXT, "BIC, else clearing id, else name", "TxDtls/RltdAgts/CdtrAgt"
        ),
        Column("ultimate_debtor_name", TEXT, "for whom it is paid", "TxDtls/RltdPties/UltmtDbtr"),
        Column("ultimate_creditor_name", TEXT, "for whom it is", "TxDtls/RltdPties/UltmtCdtr"),
        Column("bank_transaction_code", TEXT, "PMNT/RCDT/ESCT", "TxDtls/BkTxCd/Domn"),
        Column("proprietary_code", TEXT, "the bank's own code", "TxDtls/BkTxCd/Prtry/Cd"),
        Column("return_reason", TEXT, "AC04 and others", "TxDtls/RtrInf/Rsn"),
        Column("original_end_to_end_id", TEXT, "of a return: the id of the payment that comes back",
               "TxDtls/Refs/EndToEndId"),
        Column("charges_amount", AMOUNT, "the bank's charges", "Chrgs/TtlChrgsAndTaxAmt, Rcrd/Amt",
               unit="`charges_currency`"),
        Column("charges_currency", TEXT, "their currency", "Chrgs/TtlChrgsAndTaxAmt/@Ccy"),
        Column("instructed_amount", AMOUNT, "as ordered", "AmtDtls/InstdAmt/Amt",
               unit="`instructed_currency`"),
        Column("instructed_currency", TEXT, "its currency", "AmtDtls/InstdAmt/Amt/@Ccy"),
        Column("source_currency", TEXT, "converted from", "AmtDtls/*/CcyXchg/SrcCcy"),
        Column("target_currency", TEXT, "converted to", "AmtDtls/*/CcyXchg/TrgtCcy"),
        Column("exchange_rate", AMOUNT, "as the bank states it", "AmtDtls/*/CcyXchg/XchgRate",
               unit="as the bank states it"),
        Column("inferred", TEXTS, "columns whose value the bank did not state"),
        Column("file_name", TEXT, "the file it was read from"),
    ),
)  # fmt: skip

BALANCE_CONFIRMATIONS: Final = Table(
    name="balance_confirmations",
    key=("confirmation_id",),
    title="Balances of bank accounts that a person read where no statement is written",
    columns=(
        Column("confirmation_id", TEXT, "our id, the same when the day is confirmed again"),
        Column("account", TEXT, "the account, without spaces"),
        Column("currency", TEXT, "currency of the balance"),
        Column("balance", AMOUNT, "what it held, debit negative", unit="`currency`"),
        Column("balance_date", DATE, "the day at whose end it held that"),
        Column("source", TEXT, "where it was read, as whoever stated it says"),
        Column("stated_by", TEXT, "who stated it"),
        Column("stated_at", INSTANT, "when"),
    ),
)

TABLES: Final = (STATEMENTS, STATEMENT_ENTRIES, BALANCE_CONFIRMATIONS)
