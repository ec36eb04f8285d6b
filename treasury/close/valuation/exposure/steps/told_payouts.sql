-- One row per payout of the requests with separate spans.
SELECT p.*
FROM provider_payouts AS p
JOIN provider_requests AS r ON r.request_id = p.request_id
ORDER BY p.booking_date, p.entry_id, p.request_id
