-- This step is a view: its rows are not stored.
-- One row per line in `received_shares`, with the reason in words why its expectation receives the money, or
-- why the line is a duplicate.
SELECT
    share.entry_id,
    share.expectation_id,
    share.tier,
    share.rivals,
    share.matched_amount,
    share.is_duplicate,
    CASE
        WHEN share.is_duplicate THEN 'paid twice: the whole amount was received before'
        ELSE tier.words
            || CASE
                WHEN share.amount > share.matched_amount THEN '; more than what remained'
                WHEN share.before + share.amount < share.expected THEN '; less than what remained'
                ELSE ''
            END
            || coalesce('; a part of it came back on ' || CAST(back.booking_date AS VARCHAR), '')
    END AS reason
FROM received_shares AS share
LEFT JOIN tiers AS tier ON tier.name = share.tier
LEFT JOIN returned_amounts AS back ON back.entry_id = share.entry_id
