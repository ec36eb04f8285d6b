-- One row: the sum of a coin in all requests with a given transaction hash.
SELECT CAST(sum(crypto_amount) AS DECIMAL(38, 18)) AS due FROM ramp_requests
WHERE lower(blockchain_transaction_hash) = lower(?) AND crypto_currency = ?
