-- The ids of files and batches that the bank has answered, one row each. Not stored.
SELECT DISTINCT upper(trim(id)) AS id
FROM (
    SELECT unnest([original_message_id, original_batch_id]) AS id
    FROM payment_statuses WHERE vanished_at IS NULL
)
