-- One row per pair of a return and an expectation that it is about (see `line_subjects`), with the facts that
-- the original line must have. Returns that may mean another code are excluded. `goes_by` is the way in which
-- the original line is searched:
-- - `code`: the return states no reference, or only a placeholder of banks.
-- - `code without reference`: the stated reference is the code itself, or a person accepted the return. The
--   original may have no reference.
-- - `reference`: all other returns.
SELECT DISTINCT
    marked.entry_id AS return_id, about.expectation_id, marked.account, marked.currency, marked.amount, marked.booking_date,
    CASE marked.direction WHEN 'CRDT' THEN 'DBIT' ELSE 'CRDT' END AS direction,
    marked.reference,
    CASE WHEN marked.reference = '' THEN 'code' WHEN named.entry_id IS NOT NULL OR accepted.entry_id IS NOT NULL THEN
        'code without reference'
        ELSE 'reference' END AS goes_by
FROM (
    SELECT entry_id, account, currency, direction, amount, booking_date, coalesce(reference, '') AS reference, reference_letters
    FROM marked_returns
) AS marked
JOIN line_subjects AS about ON about.entry_id = marked.entry_id
LEFT JOIN ambiguous_lines AS ambiguous ON ambiguous.entry_id = marked.entry_id
LEFT JOIN named_lines AS named ON named.entry_id = marked.entry_id AND named.code = marked.reference_letters
LEFT JOIN accepted_pairs AS accepted ON accepted.entry_id = marked.entry_id AND accepted.brings_back
WHERE ambiguous.entry_id IS NULL
