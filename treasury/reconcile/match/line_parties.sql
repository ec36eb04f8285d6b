-- read through
-- Who is on the other side of each line: the account, else the name.
SELECT entry_id, coalesce(counterparty_account, upper(replace(counterparty_name, ' ', ''))) AS party,
    counterparty_account AS account
FROM lines
WHERE coalesce(counterparty_account, counterparty_name, '') <> ''
