-- read through
-- One row per line, with the party on its other side: the account, else the name, else null.
SELECT *, coalesce(counterparty_account, nullif(upper(replace(counterparty_name, ' ', '')), '')) AS party
FROM lines
