-- One row per payout in `provider_payouts` of a request in `provider_requests`.
SELECT p.*
FROM provider_payouts AS p
JOIN provider_requests AS r ON r.request_id = p.request_id
ORDER BY p.booking_date, p.entry_id, p.request_id
