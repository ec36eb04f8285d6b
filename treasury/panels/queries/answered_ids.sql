-- One row per id of a payment file or batch that the bank has answered.
SELECT DISTINCT upper(trim(id)) AS id
FROM (
    SELECT unnest([original_message_id, original_batch_id]) AS id
    FROM payment_statuses WHERE vanished_at IS NULL
)
