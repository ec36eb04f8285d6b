-- One row per group of requests in `funding` that get the same sentences. The sentences are written for one
-- request of the group, `spoken_for`; `requests` are all requests of the group.
SELECT * EXCLUDE (request_id), min(request_id) AS spoken_for, list_sort(list(request_id)) AS requests
FROM (
    SELECT
        f.* EXCLUDE (
            payment_reference, fiat_gross, fiat_net, crypto, remaining, deposit_bic, deposit_iban,
            deposit_wallet_address, blockchain_transaction_hash, approved_at
        ),
        right(f.deposit_iban, 4) AS iban_end,
        right(f.deposit_wallet_address, 4) AS address_end,
        CASE WHEN f.received <> 0 THEN f.fiat_gross END AS expected,
        CASE WHEN f.received <> 0 THEN f.remaining END AS short_by,
        m.request_id AS marked
    FROM funding AS f LEFT JOIN funding_marked AS m ON m.request_id = f.request_id
)
GROUP BY ALL
