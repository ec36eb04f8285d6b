-- One row per statement that is not withdrawn. `proof_state` is `holds` or `fails`. It is `none` if the bank
-- does not state the balances that a proof needs, or states an interim balance of a day on which more may be
-- booked.
SELECT
    s.*,
    CASE
        WHEN s.proved THEN 'holds'
        WHEN regexp_matches(
            s.proof, '^(no balances|no opening balance|no closing balance|balances without a sign[^;]*|.* = interim [^;]*: more may be booked that day)$'
        ) THEN 'none'
        ELSE 'fails'
    END AS proof_state
FROM statements AS s
WHERE s.vanished_at IS NULL
