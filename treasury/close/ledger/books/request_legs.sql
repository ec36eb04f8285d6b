-- This step is a view: its rows are not stored.
-- One row per leg (posting) of a completed request's journal entry. Fiat becomes coins, or coins become fiat
-- that is owed to us. The fiat and the coins are each posted against the role `conversion`. The fee has its
-- own role, and so has the amount that lines paid less than the gross amount of an on-ramp.
SELECT
    entry_no, 1 AS part, 0 AS place, 'on-ramp in transit' AS role, '' AS account, fiat AS currency, -sent AS amount,
    request_id AS subject_id
FROM request_amounts WHERE is_on_ramp
UNION ALL
SELECT entry_no, 2, 0, 'payment differences', '', fiat, CAST(sent - gross AS DECIMAL(38, 18)), request_id
FROM request_amounts WHERE is_on_ramp
UNION ALL
SELECT entry_no, 3, 0, 'ramp fees', '', fiat, fee, request_id
FROM request_amounts WHERE is_on_ramp
UNION ALL
SELECT entry_no, 4, 0, 'conversion', '', fiat, CAST(gross - fee AS DECIMAL(38, 18)), request_id
FROM request_amounts WHERE is_on_ramp
UNION ALL
SELECT entry_no, 5, 0, 'conversion', '', asset, -crypto, request_id
FROM request_amounts WHERE is_on_ramp
UNION ALL
SELECT entry_no, 6, 0, 'wallet', asset, asset, crypto, request_id
FROM request_amounts WHERE is_on_ramp
UNION ALL
SELECT entry_no, 1, 0, 'wallet', asset, asset, -crypto, request_id
FROM request_amounts WHERE NOT is_on_ramp
UNION ALL
SELECT entry_no, 2, 0, 'conversion', '', asset, crypto, request_id
FROM request_amounts WHERE NOT is_on_ramp
UNION ALL
SELECT entry_no, 3, 0, 'conversion', '', fiat, -gross, request_id
FROM request_amounts WHERE NOT is_on_ramp
UNION ALL
SELECT entry_no, 4, 0, 'ramp fees', '', fiat, fee, request_id
FROM request_amounts WHERE NOT is_on_ramp
UNION ALL
SELECT entry_no, 5, 0, 'off-ramp in transit', '', fiat, CAST(gross - fee AS DECIMAL(38, 18)), request_id
FROM request_amounts WHERE NOT is_on_ramp
