-- One row per company wallet, with the time up to which evidence covers it, or null if there is no evidence.
SELECT w.address, w.chain, max(coalesce(e.covers_to, e.observed_at)) AS reaches
FROM company_wallets AS w
LEFT JOIN wallet_evidence AS e
    ON e.chain = w.chain AND lower(e.address) = lower(w.address) AND e.vanished_at IS NULL
WHERE w.vanished_at IS NULL
GROUP BY w.address, w.chain
ORDER BY w.address, w.chain
