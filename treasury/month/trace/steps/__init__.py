"""The steps that find a payment, on top of the steps of a month."""
