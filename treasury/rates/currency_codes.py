"""The codes that a rate may be of: ISO 4217, the currencies that the euro took in, the coins.

A code outside this list is refused where a file is read: a slip in a code would be a rate that no
question ever asks for.
"""

from __future__ import annotations

from typing import Final

from treasury.money import EXPONENTS

_CURRENCIES: Final = (
    # ISO 4217, list one; funds, metals and testing codes left out.
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN"
    " BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL"
    " GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF"
    " KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN"
    " MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD"
    " SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH"
    " UGX USD UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG"
    # Of earlier days in the ECB's history.
    " CYP EEK HRK LTL LVL MTL ROL SIT SKK TRL"
)
CURRENCIES: Final = frozenset(_CURRENCIES.split())
CODES: Final = CURRENCIES | EXPONENTS.keys()
"""Currencies, and the coins that the services name."""
