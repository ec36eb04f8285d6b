-- One row per line of `returning_lines`, with the reference and the name that it may share with the original
-- line. `reference` is the stated reference of the original line, or else the end-to-end id of the return. It is
-- empty if the return has neither, and null if this is only a placeholder such as NOTPROVIDED.
-- `reference_letters` and `name_letters` have only letters and digits.
SELECT
    entry_id, account, currency, direction, amount, booking_date, return_reason, counterparty_account,
    counterparty_name, charges,
    CASE WHEN is_reference THEN reference END AS reference,
    CASE WHEN is_reference THEN letters ELSE '' END AS reference_letters,
    regexp_replace(upper(counterparty_name), '[^\p{L}\p{N}]+', '', 'g') AS name_letters
FROM (
    SELECT *, letters NOT IN (SELECT placeholder FROM placeholders) AS is_reference
    FROM (
        SELECT *, regexp_replace(reference, '[^\p{L}\p{N}]+', '', 'g') AS letters
        FROM (
            SELECT *, upper(trim(coalesce(original_reference, end_to_end_id, ''))) AS reference
            FROM returning_lines
        ) AS stated
    ) AS lettered
) AS m
