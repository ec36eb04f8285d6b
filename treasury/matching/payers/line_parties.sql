-- read through as a view, not stored.
-- One row per line, with its counterparty: the account, else the name, else null.
SELECT *, coalesce(counterparty_account, nullif(upper(replace(counterparty_name, ' ', '')), '')) AS party
FROM lines
