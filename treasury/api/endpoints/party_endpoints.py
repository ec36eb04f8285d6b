"""Operations on parties, their accounts, and their roles in an account."""

from __future__ import annotations

from treasury.api import bodies, models
from treasury.api.codec import Record
from treasury.api.created_records import FIND_FIRST
from treasury.api.resources import Collection, UnpagedList


class Parties(Collection[models.Party]):
    """Parties (natural persons and companies); the service checks the identity of each new one."""

    def create(self, body: bodies.NewParty) -> Record[models.Party]:
        """Create a party.

        The call is not retried automatically, because later generations of the service ignore
        the idempotency key.

        Parameters
        ----------
        body
            The party: a person or a company.

        Returns
        -------
        Record
            The created party.

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
        >>> body = bodies.NewParty(party_type="ORGANISATION", name="Quay Foods BV")
        >>> client.finance.parties.create(body).value.name
        'Quay Foods BV'
        """
        return self._write("POST", "/parties", body=body, look_up=FIND_FIRST)

    def update(self, party_id: str, body: bodies.PartyChanges) -> Record[models.Party]:
        """Change a party's names, VAT number or address.

        Parameters
        ----------
        party_id
            The id of the party.
        body
            The changed fields, and the version of the party on which the change is based.

        Returns
        -------
        Record
            The changed party.

        Raises
        ------
        VersionConflict
            The party changed after that version.
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> body = bodies.NewParty(party_type="ORGANISATION", name="Quay Food BV")
        >>> party = client.finance.parties.create(body).value
        >>> changes = bodies.PartyChanges(name="Quay Foods BV", version=party.version)
        >>> client.finance.parties.update(party.id, changes).value.name
        'Quay Foods BV'
        """
        return self._write("PATCH", "/parties/{id}", party_id, body=body)

    def delete(self, party_id: str) -> None:
        """Delete a party. Documented services refuse to delete a party that has accounts.

        Parameters
        ----------
        party_id
            The id of the party.

        Raises
        ------
        OutcomeUnknown
            The answer was lost, so the party may have been deleted.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> body = bodies.NewParty(party_type="ORGANISATION", name="Short Lived BV")
        >>> party = client.finance.parties.create(body).value
        >>> client.finance.parties.delete(party.id)
        """
        self._send("DELETE", "/parties/{id}", party_id, look_up=_deletion_check("party", party_id))


class Accounts(Collection[models.Account]):
    """Accounts, each on one blockchain network."""

    def create(self, body: bodies.NewAccount) -> Record[models.Account]:
        """Open an account.

        The call is not retried automatically, because later generations of the service ignore
        the idempotency key.

        Parameters
        ----------
        body
            The account, with the id of its party or with a new party.

        Returns
        -------
        Record
            The created account.

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
        >>> party = client.finance.parties.list(size=1).items[0].value
        >>> body = bodies.NewAccount(external_id="reserve-1", chain="BASE", party_id=party.id)
        >>> client.finance.accounts.create(body).value.chain
        'BASE'
        """
        return self._write("POST", "/accounts", body=body, look_up=FIND_FIRST)

    def update(self, account_id: str, body: bodies.AccountChanges) -> Record[models.Account]:
        """Change an account. Later generations of the service do not offer this operation.

        Parameters
        ----------
        account_id
            The id of the account.
        body
            The changed fields.

        Returns
        -------
        Record
            The changed account.

        Raises
        ------
        NotOffered
            The service does not have the operation.
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> party = client.finance.parties.list(size=1).items[0].value
        >>> body = bodies.NewAccount(external_id="reserve-2", chain="BASE", party_id=party.id)
        >>> account = client.finance.accounts.create(body).value
        >>> changes = bodies.AccountChanges(external_id="reserve-3")
        >>> client.finance.accounts.update(account.id, changes).value.external_id
        'reserve-3'
        """
        return self._write("PATCH", "/accounts/{id}", account_id, body=body)

    def delete(self, account_id: str) -> None:
        """Delete an account. Later generations of the service do not offer this operation.

        Parameters
        ----------
        account_id
            The id of the account.

        Raises
        ------
        NotOffered
            The service does not have the operation.
        OutcomeUnknown
            The answer was lost, so the account may have been deleted.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> party = client.finance.parties.list(size=1).items[0].value
        >>> body = bodies.NewAccount(external_id="reserve-4", chain="BASE", party_id=party.id)
        >>> account = client.finance.accounts.create(body).value
        >>> client.finance.accounts.delete(account.id)
        """
        self._send(
            "DELETE", "/accounts/{id}", account_id, look_up=_deletion_check("account", account_id)
        )

    def reactivate(self, account_id: str) -> Record[models.Account]:
        """Reactivate a suspended account.

        Later generations of the service do not offer this operation.

        Parameters
        ----------
        account_id
            The id of the account.

        Returns
        -------
        Record
            The account.

        Raises
        ------
        NotOffered
            The service does not have the operation.
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> for suspended in client.finance.accounts.iterate(status="SUSPENDED"):
        ...     reactivated = client.finance.accounts.reactivate(suspended.value.id)
        """
        route = "/accounts/{accountId}/reactivate"
        return self._write("POST", route, account_id)


def _deletion_check(kind: str, record_id: str) -> str:
    return f"read {kind} {record_id}: it is deleted if the service does not find it"


class PartyRoles(UnpagedList[models.PartyRole]):
    """The roles that parties have in an account."""

    def create(self, account_id: str, body: bodies.NewPartyRole) -> Record[models.PartyRole]:
        """Give a party a role in an account.

        The call is not retried automatically, because later generations of the service ignore
        the idempotency key.

        Parameters
        ----------
        account_id
            The id of the account.
        body
            The party and its role.

        Returns
        -------
        Record
            The created role.

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
        >>> account = client.finance.accounts.list(size=1, sort_order="DESC").items[0].value
        >>> new_party = bodies.NewParty(party_type="ORGANISATION", name="Lock Gate BV")
        >>> party = client.finance.parties.create(new_party).value
        >>> body = bodies.NewPartyRole(party_id=party.id, role_type="ACCOUNT_HOLDER")
        >>> client.finance.party_roles.create(account.id, body).value.role_type
        'ACCOUNT_HOLDER'
        """
        return self._write("POST", self.route, account_id, body=body, look_up=FIND_FIRST)
