"""Operations on the company's bank accounts, wallets and users."""

from __future__ import annotations

from typing import Any

from treasury.api import bodies, models
from treasury.api.codec import Record
from treasury.api.created_records import FIND_FIRST
from treasury.api.resources import Collection, Filter, UnpagedList
from treasury.core.identifiers import plain_address


class BankAccounts(Collection[models.CompanyBankAccount]):
    """The company's own bank accounts.

    A list item lacks the version and the IBAN; `get` returns them.
    """

    def create(self, body: bodies.NewBankAccount) -> Record[models.CompanyBankAccount]:
        """Register a bank account. The provider reviews it before it can be used.

        Parameters
        ----------
        body
            The bank account.

        Returns
        -------
        Record
            The registered bank account.

        Raises
        ------
        OutcomeUnknown
            The answer was lost; look the record up with `find` before sending it again.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> body = bodies.NewBankAccount(
        ...     bank_account_type="EUR_SEPA",
        ...     supported_ramp_type="OFF_RAMP",
        ...     name="EUR reserve",
        ...     bank_name="Test Bank",
        ...     company_name="Harbour Lane Trading NV",
        ...     bank_country="BE",
        ...     beneficiary_address_line1="Kade 14",
        ...     beneficiary_city="Ghent",
        ...     beneficiary_postal_code="9000",
        ...     beneficiary_country="BE",
        ...     iban="BE68539007547034",
        ...     bic="TESTBEBBXXX",
        ... )
        >>> checker.ramp.bank_accounts.create(body).value.name
        'EUR reserve'
        """
        return self._write("POST", self.route, body=body, look_up=FIND_FIRST)

    def update(
        self, account_id: str, *, name: str, version: int
    ) -> Record[models.CompanyBankAccount]:
        """Rename a bank account.

        Parameters
        ----------
        account_id
            The id of the bank account.
        name
            The new name.
        version
            The version of the bank account on which the change is based.

        Returns
        -------
        Record
            The changed bank account.

        Raises
        ------
        InputError
            The name is blank; nothing was sent.
        VersionConflict
            The bank account changed after that version.
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> account_id = client.ramp.bank_accounts.list(size=1).items[0].value.id
        >>> account = client.ramp.bank_accounts.get(account_id).value
        >>> checker.ramp.bank_accounts.update(
        ...     account.id, name="EUR payouts", version=account.version
        ... ).value.name
        'EUR payouts'
        """
        body = bodies.BankAccountChanges(name=name, version=version)
        return self._write("PATCH", "/company-bank-accounts/{id}", account_id, body=body)

    def _passes(self, value: Any, name: str, condition: Filter, parents: tuple[str, ...]) -> bool:
        if name != "supported_ramp_types":
            return super()._passes(value, name, condition, parents)
        ramp_type = value.supported_ramp_type
        return ramp_type is None or ramp_type in (
            condition if isinstance(condition, tuple) else (condition,)
        )


class CompanyWallets(Collection[models.CompanyWallet]):
    """The company's own wallets. A list item lacks the version; `get` returns it."""

    def create(self, body: bodies.NewCompanyWallet) -> Record[models.CompanyWallet]:
        """Register a wallet.

        To verify the wallet, send 1 USDC from it to one of the provider's deposit wallets.

        Parameters
        ----------
        body
            The address and chain of the wallet.

        Returns
        -------
        Record
            The registered wallet.

        Raises
        ------
        OutcomeUnknown
            The answer was lost; look the record up with `find` before sending it again.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> body = bodies.NewCompanyWallet(address="0x" + "7c" * 20, chain="BASE")
        >>> checker.ramp.wallets.create(body).value.chain
        'BASE'
        """
        return self._write("POST", self.route, body=body, look_up=FIND_FIRST)

    def update(
        self, wallet_id: str, *, description: str, version: int
    ) -> Record[models.CompanyWallet]:
        """Change the description of a wallet.

        Parameters
        ----------
        wallet_id
            The id of the wallet.
        description
            The new description.
        version
            The version of the wallet on which the change is based.

        Returns
        -------
        Record
            The changed wallet.

        Raises
        ------
        InputError
            The description is too long; nothing was sent.
        VersionConflict
            The wallet changed after that version.
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> wallet_id = client.ramp.wallets.list(size=1).items[0].value.id
        >>> wallet = client.ramp.wallets.get(wallet_id).value
        >>> checker.ramp.wallets.update(
        ...     wallet.id, description="Cold wallet", version=wallet.version
        ... ).value.description
        'Cold wallet'
        """
        body = bodies.CompanyWalletChanges(description=description, version=version)
        return self._write("PATCH", "/company-wallets/{id}", wallet_id, body=body)

    def _passes(self, value: Any, name: str, condition: Filter, parents: tuple[str, ...]) -> bool:
        if name != "address":
            return super()._passes(value, name, condition, parents)
        address: str | None = value.address
        return address is None or plain_address(address) == plain_address(str(condition))


class Users(UnpagedList[models.CompanyUser]):
    """The company's users."""

    def invite(self, body: bodies.Invitation) -> Record[models.CompanyUser]:
        """Invite a user to the company.

        The invitation link is removed from the answer, because it gives access to the company.

        Parameters
        ----------
        body
            The name, e-mail address and role of the user.

        Returns
        -------
        Record
            The invited user.

        Raises
        ------
        OutcomeUnknown
            The answer was lost; look the record up with `find` before sending it again.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> body = bodies.Invitation(
        ...     email="ana@harbour.example",
        ...     role="COMPANY_MANAGER",
        ...     first_name="Ana",
        ...     last_name="Reis",
        ... )
        >>> checker.ramp.users.invite(body).value.email
        'ana@harbour.example'
        """
        return self._write("POST", "/company/users/invite", body=body, look_up=FIND_FIRST)
