"""Permits and allowances of wallets, which only the published generation has.

A permit, signed by a wallet's owner (EIP-712), allows the provider's wallet to spend one asset. The
sandbox checks only the form of the signature. Twelve seconds later the permit is confirmed, and the
allowance rises from zero to unlimited.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Final
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec.structs import replace

from treasury.sandbox.finance.finance_records import account_of, wallets_of
from treasury.sandbox.http.body_fields import JsonBody
from treasury.sandbox.http.exchange import Call, Reply, Route, invalid, missing, result
from treasury.sandbox.http.idempotency import write_route
from treasury.sandbox.state.shapes import Shape, Wallet, decode, encode
from treasury.sandbox.state.store import Record
from treasury.sandbox.story.world import World

_CONFIRMS: Final = "finance.permit.confirms"
_WAIT: Final = timedelta(seconds=12)
_SPENDER: Final = "0xaca1536cda0f5e2d986472218f105983f89afa4f"
"""Address of the provider's wallet, which spends the asset."""
_LIMITLESS: Final = str(2**256 - 1)
_DECIMALS: Final = 6
_CHAIN_IDS: Final = {"BASE": 84532, "AVALANCHE": 43113, "POLYGON": 80002}
_FIELDS: Final = {
    "owner": "address", "spender": "address", "value": "uint256", "nonce": "uint256",
    "deadline": "uint256",
}  # fmt: skip

_Hex = Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]{64}$")]


class Signature(JsonBody, frozen=True, kw_only=True):
    """The three parts of a signature."""

    v: str
    r: _Hex
    s: _Hex


class SubmittedPermit(JsonBody, frozen=True, kw_only=True):
    """A signed permit for one asset."""

    supported_asset_id: str
    signature: Signature


class Permit(Shape, frozen=True, kw_only=True):
    """The data to sign for an asset, and the permit's status."""

    supported_asset_id: str
    asset: str
    contract_address: str
    status: str
    typed_data: dict[str, Any]


class PermitResult(Shape, frozen=True, kw_only=True):
    """The result of submitting a permit; `skipped` is true if the wallet already had it."""

    id: str
    supported_asset_id: str
    asset: str
    contract_address: str
    status: str
    permit_tx_id: str
    skipped: bool = msgspec.field(default=False)


class SettlementAsset(Shape, frozen=True, kw_only=True):
    """An asset with which card payments are paid."""

    name: str
    contract_address: str
    decimals: int


class Allowance(Shape, frozen=True, kw_only=True):
    """The amount of an asset that the provider's wallet may spend, in its smallest units."""

    asset: SettlementAsset
    allowance: str
    orchestration_wallet: str


def list_permits(world: World, call: Call) -> Reply:
    """GET …/wallets/{walletId}/permits: return each asset's permit, with the data to sign."""
    wallet = _wallet(world, call)
    return result(encode([_permit(world, wallet, asset) for asset in world.cast.contracts]))


def submit_permit(world: World, call: Call) -> dict[str, Any]:
    """POST …/wallets/{walletId}/permits: submit a signed permit."""
    wallet, body = _wallet(world, call), call.read(SubmittedPermit)
    asset = next((a for a in world.cast.contracts if _asset_id(a) == body.supported_asset_id), None)
    if asset is None:
        raise invalid("supportedAssetId names no asset.")
    before = world.store.detail("permit", _name(wallet, asset))
    if before is not None:
        earlier = decode(before, PermitResult)
        return _whole(replace(earlier, skipped=True))
    world.clock.tick()
    permit = PermitResult(
        id=world.ids.uuid(), supported_asset_id=body.supported_asset_id, asset=asset,
        contract_address=world.cast.contracts[asset], status="SUBMITTED",
        permit_tx_id=world.ids.hash(),
    )  # fmt: skip
    _put(world, wallet.id, permit)
    world.agenda.add(world.clock.now + _WAIT, _CONFIRMS, _name(wallet, asset))
    return _whole(permit)


def list_allowances(world: World, call: Call) -> Reply:
    """GET …/wallets/{walletId}/allowances: return the allowances, optionally of one asset."""
    wallet, only_asset = _wallet(world, call), call.query_value("asset")
    if only_asset is not None and only_asset not in world.cast.contracts:
        raise invalid(f"asset must be one of {', '.join(world.cast.contracts)}.")
    allowances = [
        Allowance(
            asset=SettlementAsset(name=asset, contract_address=address, decimals=_DECIMALS),
            allowance=_LIMITLESS if _status(world, wallet, asset) == "CONFIRMED" else "0",
            orchestration_wallet=_SPENDER,
        )
        for asset, address in world.cast.contracts.items()
        if only_asset in {None, asset}
    ]
    return result(encode(allowances))


def schedule_permits(world: World) -> None:
    """Register the step that confirms a submitted permit on its chain."""

    def confirm(name: str) -> None:
        text = world.store.detail("permit", name)
        assert text is not None
        confirmed = replace(decode(text, PermitResult), status="CONFIRMED")
        _put(world, name.partition("/")[0], confirmed)

    world.agenda.on(_CONFIRMS, confirm)


def _wallet(world: World, call: Call) -> Wallet:
    account = account_of(world, call.path["accountId"])
    for wallet in wallets_of(world, account.id):
        if wallet.id == call.path["walletId"]:
            return wallet
    raise missing("wallet")


def _permit(world: World, wallet: Wallet, asset: str) -> Permit:
    contract = world.cast.contracts[asset]
    return Permit(
        supported_asset_id=_asset_id(asset),
        asset=asset,
        contract_address=contract,
        status=_status(world, wallet, asset),
        typed_data={
            "types": {"Permit": [{"name": n, "type": kind} for n, kind in _FIELDS.items()]},
            "primaryType": "Permit",
            "domain": {
                "name": asset, "version": "2", "chainId": _CHAIN_IDS[wallet.chain],
                "verifyingContract": contract,
            },
            "message": {
                "owner": wallet.address, "spender": _SPENDER, "value": _LIMITLESS, "nonce": 0,
                "deadline": "4102444800",
            },
        },
    )  # fmt: skip


def _asset_id(asset: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"https://sandbox.example.test/assets/{asset}"))


def _name(wallet: Wallet, asset: str) -> str:
    return f"{wallet.id}/{asset}"


def _status(world: World, wallet: Wallet, asset: str) -> str:
    text = world.store.detail("permit", _name(wallet, asset))
    return "PENDING" if text is None else decode(text, PermitResult).status


def _put(world: World, wallet_id: str, permit: PermitResult) -> None:
    text = encode(permit)
    name = f"{wallet_id}/{permit.asset}"
    world.store.put([Record(kind="permit", id=name, item=text, detail=text, owner=wallet_id)])


def _whole(permit: PermitResult) -> dict[str, Any]:
    """Return the answer as JSON, including `skipped` even if it is false."""
    return {**msgspec.to_builtins(permit), "skipped": permit.skipped}


_WALLET: Final = "/accounts/{accountId}/wallets/{walletId}"
PUBLISHED_PERMITS: Final = (
    Route(
        "GET", f"{_WALLET}/permits", list_permits,
        says="List the permits that may be signed for a wallet.", gives=list[Permit],
    ),
    write_route(
        f"POST {_WALLET}/permits", submit_permit, SubmittedPermit, PermitResult,
        "Submit a signed permit.",
    ),
    Route(
        "GET", f"{_WALLET}/allowances", list_allowances, gives=list[Allowance],
        says="List the allowances of a wallet.",
        query={"asset": {"type": "string"}},
    ),
)  # fmt: skip
