"""What the lake keeps of a bank's answers to payment files: one row for each status it states.

The columns carry ISO 20022's own terms, and each names the element it is read from, relative to
`CstmrPmtStsRpt`.
"""

from __future__ import annotations

from typing import Final

from treasury.lake import AMOUNT, DATE, INSTANT, TEXT, TEXTS, Column, Table

_ORDER: Final = "OrgnlPmtInfAndSts/TxInfAndSts"
PAYMENT_STATUSES: Final = Table(
    name="payment_statuses",
    key=("status_id",),
    title="What banks answered to payment files: a status of a file, a batch or a payment",
    columns=(
        Column("status_id", TEXT, "our id, the same when the report is read again"),
        Column("message_id", TEXT, "the bank's id of the report", "GrpHdr/MsgId"),
        Column("created_at", INSTANT, "when the bank wrote it", "GrpHdr/CreDtTm"),
        Column("level", TEXT, "file, batch or payment: what the status is of"),
        Column(
            "original_message_id", TEXT, "id of the payment file", "OrgnlGrpInfAndSts/OrgnlMsgId"
        ),
        Column("original_batch_id", TEXT, "id of the batch", "OrgnlPmtInfAndSts/OrgnlPmtInfId"),
        Column("original_end_to_end_id", TEXT, "id of the payment", f"{_ORDER}/OrgnlEndToEndId"),
        Column("original_instruction_id", TEXT, "its other id", f"{_ORDER}/OrgnlInstrId"),
        Column("status", TEXT, "the code", "GrpSts, PmtInfSts, TxSts"),
        Column("reasons", TEXTS, "codes of the reasons", "StsRsnInf/Rsn/Cd, Prtry"),
        Column("details", TEXTS, "the bank's words; of a close match, the name", "AddtlInf"),
        Column("amount", AMOUNT, "as ordered", f"{_ORDER}/OrgnlTxRef/Amt", unit="`currency`"),
        Column("currency", TEXT, "its currency", f"{_ORDER}/OrgnlTxRef/Amt/InstdAmt/@Ccy"),
        Column("execution_date", DATE, "as ordered", f"{_ORDER}/OrgnlTxRef/ReqdExctnDt"),
        Column("creditor_name", TEXT, "the payee as ordered", f"{_ORDER}/OrgnlTxRef/Cdtr"),
        Column("creditor_account", TEXT, "its account", f"{_ORDER}/OrgnlTxRef/CdtrAcct"),
        Column(
            "account_servicer_reference", TEXT, "the bank's own reference", f"{_ORDER}/AcctSvcrRef"
        ),
        Column("file_name", TEXT, "the file it was read from"),
        Column("file_sha256", TEXT, "SHA-256 of that file's bytes"),
    ),
)
STATUS_TABLES: Final = (PAYMENT_STATUSES,)
