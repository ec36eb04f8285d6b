"""Operations on virtual bank accounts, hosted checkouts and payments tied to a card."""

from __future__ import annotations

from treasury.api import bodies, models
from treasury.api.codec import Record
from treasury.api.resources import Collection, Endpoint


class VirtualBankAccounts(Collection[models.VirtualBankAccount]):
    """Virtual bank accounts, which receive deposits from customers."""

    def create(
        self, account_id: str, body: bodies.NewVirtualBankAccount
    ) -> Record[models.VirtualBankAccount]:
        """Issue a virtual bank account.

        Later generations of the service require a verified account.

        Parameters
        ----------
        account_id
            The id of the account that receives the deposits.
        body
            The name, the currency of the deposits and the cryptocurrency they become.

        Returns
        -------
        Record
            The created virtual bank account.

        Raises
        ------
        OutcomeUnknown
            The answer was lost. Sending the same body again is safe: its key is executed once.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> account = client.finance.accounts.list(size=1).items[0].value
        >>> body = bodies.NewVirtualBankAccount(
        ...     name="Shop deposits", in_currency="EUR", target_cryptocurrency="USDC"
        ... )
        >>> client.finance.virtual_bank_accounts.create(account.id, body).value.currency
        'EUR'
        """
        return self._write("POST", self.route, account_id, body=body)


class PaymentSessions(Endpoint[models.PaymentSession]):
    """Hosted checkouts. No operation reads a checkout later, so keep the answer of `create`."""

    def create(
        self, account_id: str, body: bodies.NewPaymentSession
    ) -> Record[models.PaymentSession]:
        """Open a checkout, where a customer pays in fiat and the account receives crypto.

        Parameters
        ----------
        account_id
            The id of the account that receives the crypto.
        body
            The amount in `in_currency`, the cryptocurrency, and the callback addresses.

        Returns
        -------
        Record
            The checkout; the customer pays at its `payment_url`.

        Raises
        ------
        OutcomeUnknown
            The answer was lost. Sending the same body again is safe: its key is executed once.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> account = client.finance.accounts.list(size=1).items[0].value
        >>> body = bodies.NewPaymentSession(
        ...     in_amount="25.00",
        ...     in_currency="EUR",
        ...     out_cryptocurrency="USDC",
        ...     callback_url="https://shop.example/paid",
        ... )
        >>> client.finance.payment_sessions.create(account.id, body).value.payment_url is not None
        True
        """
        return self._write("POST", self.route, account_id, body=body)


class PaymentRequests(Endpoint[models.PaymentRequest]):
    """Payments tied to a card. No operation reads a payment, so keep the answer of `create`."""

    def create(self, body: bodies.NewPaymentRequest) -> Record[models.PaymentRequest]:
        """Request a payment that is tied to a card provider's reference.

        Parameters
        ----------
        body
            The reference, and the amount in `currency`.

        Returns
        -------
        Record
            The created payment request.

        Raises
        ------
        OutcomeUnknown
            The answer was lost. Sending the same body again is safe: its key is executed once.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> body = bodies.NewPaymentRequest(
        ...     type="paymentology", reference_id="ops-usd", amount="12.50", currency="EUR"
        ... )
        >>> client.finance.payment_requests.create(body).value.fiat_amount
        Decimal('12.5')
        """
        return self._write("POST", self.route, body=body)
