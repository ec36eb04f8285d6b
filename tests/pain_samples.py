"""Payment status reports (pain.002) as banks write them, in a given version of the schema."""

from __future__ import annotations

from xml.sax.saxutils import escape

__all__ = ["payment", "report"]


def report(
    *payments: str,
    message_id: str = "BANK-1",
    original: str = "PAY-ABC",
    at: str = "2026-11-02T08:00:00+01:00",
    file_status: str = "",
    batch_status: str = "",
    reasons: tuple[str, ...] = (),
    version: str = "10",
) -> str:
    """Return a report on a payment file.

    `payments` are parts made by `payment`. `reasons` are the codes for `file_status`, and are left
    out without it.
    """
    why = "".join(f"<StsRsnInf><Rsn><Cd>{code}</Cd></Rsn></StsRsnInf>" for code in reasons)
    whole = f"<GrpSts>{file_status}</GrpSts>{why}" if file_status else ""
    batch = f"<PmtInfSts>{batch_status}</PmtInfSts>" if batch_status else ""
    inside = (
        f"<OrgnlPmtInfAndSts><OrgnlPmtInfId>{original}</OrgnlPmtInfId>{batch}"
        f"{''.join(payments)}</OrgnlPmtInfAndSts>"
        if payments or batch
        else ""
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.{version}"><CstmrPmtStsRpt>'
        f"<GrpHdr><MsgId>{message_id}</MsgId><CreDtTm>{at}</CreDtTm></GrpHdr>"
        f"<OrgnlGrpInfAndSts><OrgnlMsgId>{original}</OrgnlMsgId>"
        f"<OrgnlMsgNmId>pain.001.001.09</OrgnlMsgNmId>{whole}</OrgnlGrpInfAndSts>{inside}"
        f"</CstmrPmtStsRpt></Document>"
    )


def payment(
    reference: str,
    status: str,
    *reasons: str,
    text: str = "",
    amount: str = "25000.00",
    iban: str = "NL05TEST0417164300",
    proprietary: str = "",
) -> str:
    """Return the part of a report about one payment; an empty argument leaves out its element."""
    codes = "".join(f"<Rsn><Cd>{code}</Cd></Rsn>" for code in reasons)
    codes += f"<Rsn><Prtry>{escape(proprietary)}</Prtry></Rsn>" if proprietary else ""
    words = f"<AddtlInf>{escape(text)}</AddtlInf>" if text else ""
    why = f"<StsRsnInf>{codes}{words}</StsRsnInf>" if codes or words else ""
    return (
        f"<TxInfAndSts><OrgnlEndToEndId>{escape(reference)}</OrgnlEndToEndId>"
        f"{f'<TxSts>{status}</TxSts>' if status else ''}{why}<OrgnlTxRef><Amt>"
        f'<InstdAmt Ccy="EUR">{amount}</InstdAmt></Amt>'
        f"<ReqdExctnDt><Dt>2026-11-02</Dt></ReqdExctnDt><Cdtr><Pty><Nm>Ramp Operator BV</Nm></Pty>"
        f"</Cdtr><CdtrAcct><Id><IBAN>{iban}</IBAN></Id></CdtrAcct></OrgnlTxRef>"
        f"</TxInfAndSts>"
    )
