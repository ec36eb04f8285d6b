-- read through
-- The lines, each with who is on its other side: the account, else the name; null where neither is given.
SELECT *, coalesce(counterparty_account, nullif(upper(replace(counterparty_name, ' ', '')), '')) AS party
FROM lines
