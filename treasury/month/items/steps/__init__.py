"""The SQL selections of records that open items are made of."""
