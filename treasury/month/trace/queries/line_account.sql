-- At most one row: the virtual account with a given id, or else the one with a given IBAN.
SELECT v.*, a.name AS account_name FROM virtual_bank_accounts AS v
LEFT JOIN accounts AS a ON a.id = v.account_id
WHERE v.id = ? OR upper(replace(v.iban, ' ', '')) = ? ORDER BY v.id = ? DESC LIMIT 1
