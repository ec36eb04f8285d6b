-- One row per line that its whole or structured references cannot settle. Either it names different codes, and
-- `joint_shares` does not settle it; or every reference is contradicted. The reason has the codes as the
-- services write them.
SELECT
    named.entry_id,
    named.tier,
    CASE WHEN named.code = named.other_code THEN named.any_id END AS expectation_id,
    CASE
        WHEN named.code = named.other_code THEN named.contradiction
        ELSE 'different codes in one text: ' || written_codes.code || ', ' || written_codes.other_code || coalesce('; ' || nearest.nearest, '')
    END || CASE WHEN line.is_reversal OR line.return_reason IS NOT NULL THEN '; marked as a return' ELSE '' END AS reason
FROM named_lines AS named
JOIN lines AS line ON line.entry_id = named.entry_id
LEFT JOIN (
    SELECT
        p.entry_id,
        min(CASE WHEN p.code = c.code THEN e.code END) AS code,
        min(CASE WHEN p.code = c.other_code THEN e.code END) AS other_code
    FROM (
        SELECT *
        FROM reference_pairs AS p
        SEMI JOIN (SELECT entry_id FROM several_reference_lines WHERE code <> other_code) AS m ON m.entry_id = p.entry_id
        WHERE is_whole
    ) AS p
    JOIN several_reference_lines AS c ON c.entry_id = p.entry_id
    JOIN expectations AS e ON e.expectation_id = p.expectation_id
    GROUP BY p.entry_id
) AS written_codes ON written_codes.entry_id = named.entry_id
LEFT JOIN nearest_sums AS nearest ON nearest.entry_id = named.entry_id
LEFT JOIN (SELECT DISTINCT entry_id FROM joint_shares) AS joint_line ON joint_line.entry_id = named.entry_id
WHERE joint_line.entry_id IS NULL AND (named.code <> named.other_code OR named.viable = 0)
