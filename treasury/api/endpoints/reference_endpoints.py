"""The fees, the chains and the bank account configuration of the ramp service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from treasury.api import bodies, models
from treasury.api.codec import Record, decode, split
from treasury.api.resources import Reference

if TYPE_CHECKING:
    from treasury.api.service_calls import Reply


class FeeTiers(Reference[models.Fee]):
    """Fee tiers, and the service's fee calculator."""

    def calculate(self, *, amount: bodies.Amount, ramp_type: str) -> Record[models.CalculatedFee]:
        """Have the service calculate the fee for an amount.

        Amount and fee are fiat for an on-ramp and crypto for an off-ramp. The call does not change
        anything, so it is retried like a read.

        Parameters
        ----------
        amount
            The gross amount.
        ramp_type
            `ON_RAMP` or `OFF_RAMP`.

        Returns
        -------
        Record
            The fee, its percentage, and its `unit`: `fiat` or `crypto`.

        Raises
        ------
        InputError
            The amount is not positive, or the type is unknown; nothing was sent.
        ServiceError
            The service refused the call or could not be reached.

        Examples
        --------
        >>> client.ramp.fees.calculate(amount="1000", ramp_type="ON_RAMP").value.unit
        'fiat'
        """
        question = bodies.FeeQuestion(amount=amount, type=ramp_type)
        reply = self.client.request("POST", "/fees/calculate", service=self.service, body=question)
        calculated = reply.record(models.CalculatedFee)
        unit: Literal["fiat", "crypto"] = "fiat" if ramp_type == "ON_RAMP" else "crypto"
        value = msgspec.structs.replace(calculated.value, unit=unit)
        return Record(value, calculated.raw, calculated.credential)


class Chains(Reference[models.Chain]):
    """Blockchain networks.

    The specification shows three shapes of the answer: an object, a list of names and a list of
    objects. All three are read.
    """

    def _records(self, reply: Reply) -> list[Record[models.Chain]]:
        raw = reply.result
        if raw.lstrip().startswith(b"{"):
            raw = bytes(decode(raw, _SupportedChains, self._listing).value.supported_chains)
        records = []
        for item in split(raw, self._listing):
            if item.lstrip().startswith(b'"'):
                name = decode(item, str, self._listing).value
            else:
                row = decode(item, _ChainRow, self._listing).value
                name = row.name or row.chain or row.id
            records.append(Record(models.Chain(name=name), item, reply.credential))
        return records


class _SupportedChains(msgspec.Struct, frozen=True, rename="camel"):
    supported_chains: msgspec.Raw


class _ChainRow(msgspec.Struct, frozen=True):
    name: str = ""
    chain: str = ""
    id: str = ""


class _ConfigRow(msgspec.Struct, frozen=True, rename="camel"):
    """One row of the bank account configuration, with the fields of all three lists."""

    type: str = ""
    description: str | None = None
    country_code: str = ""
    country_name: str | None = None
    code: str = ""
    name: str | None = None


class _Config(msgspec.Struct, frozen=True, rename="camel"):
    enabled_account_types: tuple[msgspec.Raw, ...] = ()
    supported_countries: tuple[msgspec.Raw, ...] = ()
    supported_currencies: tuple[msgspec.Raw, ...] = ()


class BankConfig(Reference[models.ConfigEntry]):
    """Allowed account types, countries and currencies of bank accounts, one record for each."""

    def _records(self, reply: Reply) -> list[Record[models.ConfigEntry]]:
        config = decode(reply.result, _Config, self._listing).value
        kinds = (
            ("account_type", config.enabled_account_types),
            ("country", config.supported_countries),
            ("currency", config.supported_currencies),
        )
        records = []
        for kind, raw in ((kind, bytes(raw)) for kind, rows in kinds for raw in rows):
            row = decode(raw, _ConfigRow, self._listing).value
            code = row.type or row.country_code or row.code
            name = row.description or row.country_name or row.name
            entry = models.ConfigEntry(kind=kind, code=code, name=name)
            records.append(Record(entry, raw, reply.credential))
        return records
