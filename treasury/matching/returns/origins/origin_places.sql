-- One row per pair of a group of lines (see `origin_groups`) and a key by which a return is joined to the group.
-- `strength` is 1 for reference and code, 2 for the reference alone, 3 for the code alone. A group that may mean
-- another code has no key of strength 1.
--
-- With strength 3, `reference` is `any`. A group without a reference, or with a placeholder of banks as its
-- reference, has a second such key with `none`.
SELECT group_id, 1 AS strength, account, currency, direction, reference, named_id AS expectation_id, amount, first_on
FROM origin_codes
WHERE reference <> '' AND NOT is_ambiguous
UNION ALL
SELECT group_id, 2 AS strength, account, currency, direction, reference, '' AS expectation_id, amount, first_on
FROM origin_groups
WHERE reference <> ''
UNION ALL
SELECT group_id, 3 AS strength, account, currency, direction, 'any' AS reference, named_id AS expectation_id, amount, first_on
FROM origin_codes
UNION ALL
SELECT group_id, 3 AS strength, account, currency, direction, 'none' AS reference, named_id AS expectation_id, amount, first_on
FROM origin_codes
WHERE reference = ''
    OR regexp_replace(reference, '[^\p{L}\p{N}]+', '', 'g') IN (SELECT placeholder FROM placeholders)
