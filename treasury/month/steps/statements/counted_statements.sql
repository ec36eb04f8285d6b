-- The statements that count, withdrawn ones left out. `proof_state`: the proof holds or fails, or there is none
-- because the balances that it takes are not stated.
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
