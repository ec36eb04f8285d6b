-- One row per payout of a request that `provider_requests` lists.
SELECT p.*
FROM provider_payouts AS p
JOIN provider_requests AS r ON r.request_id = p.request_id
ORDER BY p.booking_date, p.entry_id, p.request_id
