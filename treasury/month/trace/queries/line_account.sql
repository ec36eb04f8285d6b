-- The virtual account of this id, else the one that has this IBAN, at most one row. Not stored.
SELECT v.*, a.name AS account_name FROM virtual_bank_accounts AS v
LEFT JOIN accounts AS a ON a.id = v.account_id
WHERE v.id = ? OR upper(replace(v.iban, ' ', '')) = ? ORDER BY v.id = ? DESC LIMIT 1
