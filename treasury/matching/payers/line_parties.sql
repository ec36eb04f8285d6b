-- This step is a view: its rows are not stored.
-- One row per line, with its counterparty (`party`): the account, or else the name in upper case and without
-- spaces, or else null.
SELECT *, coalesce(counterparty_account, nullif(upper(replace(counterparty_name, ' ', '')), '')) AS party
FROM lines
