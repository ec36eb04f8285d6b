-- What all requests that name a hash state of a coin, one row. Not stored.
SELECT CAST(sum(crypto_amount) AS DECIMAL(38, 18)) AS due FROM ramp_requests
WHERE lower(blockchain_transaction_hash) = lower(?) AND crypto_currency = ?
