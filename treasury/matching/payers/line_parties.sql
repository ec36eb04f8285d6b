-- This step is a view: its rows are not stored.
-- One row per line, with its counterparty (`party`): the account, or else the name, or else null.
SELECT *, coalesce(counterparty_account, nullif(upper(replace(counterparty_name, ' ', '')), '')) AS party
FROM lines
