-- One row per booked line that a return may bring back, because the return states the line's reference or is
-- about the same expectation. Lines that differ only by their day form a group. Its `group_id` is the first id
-- of its lines. `expectation_id` is the expectation that the line is about, or the first by id of several. It is
-- empty if there is none, or if the line's text may mean two codes (`is_ambiguous`).
--
-- Lines that are returns themselves, ignored lines and lines with a class are excluded. A line of a statement
-- with a failed proof is excluded, unless a person accepted the line.
WITH named_by_returns AS (
    SELECT DISTINCT o.entry_id
    FROM line_subjects AS o
    JOIN (
        SELECT DISTINCT w.expectation_id FROM line_subjects AS w JOIN marked_returns AS m ON m.entry_id = w.entry_id
    ) AS x ON x.expectation_id = o.expectation_id
),
pointed_at AS (
    SELECT entry_id FROM named_by_returns
    UNION
    SELECT l.entry_id
    FROM lines AS l
    JOIN (SELECT DISTINCT reference FROM marked_returns WHERE reference <> '') AS s
        ON s.reference = upper(trim(l.end_to_end_id))
),
firsts AS (
    SELECT o.entry_id, min(o.expectation_id) AS expectation_id
    FROM line_subjects AS o
    JOIN pointed_at AS p ON p.entry_id = o.entry_id
    LEFT JOIN ambiguous_lines AS x ON x.entry_id = o.entry_id
    WHERE x.entry_id IS NULL
    GROUP BY o.entry_id
)
SELECT
    *,
    min(entry_id) OVER (
        PARTITION BY account, currency, direction, amount, payer_account, payer_name, reference, expectation_id,
            is_ambiguous
    ) AS group_id
FROM (
    SELECT
        line.entry_id, line.account, line.currency, line.direction, line.amount, line.booking_date,
        coalesce(line.counterparty_account, '') AS payer_account,
        upper(replace(coalesce(line.counterparty_name, ''), ' ', '')) AS payer_name,
        upper(trim(coalesce(line.end_to_end_id, ''))) AS reference,
        coalesce(first.expectation_id, '') AS expectation_id,
        ambiguous.entry_id IS NOT NULL AS is_ambiguous,
        coalesce(line.counterparty_name, '') AS counterparty_name
    FROM pointed_at AS pointed_at
    JOIN lines AS line ON line.entry_id = pointed_at.entry_id
    LEFT JOIN firsts AS first ON first.entry_id = pointed_at.entry_id
    LEFT JOIN ambiguous_lines AS ambiguous ON ambiguous.entry_id = pointed_at.entry_id
    WHERE line.line_class IS NULL AND coalesce(line.entry_status, 'BOOK') = 'BOOK'
        AND NOT coalesce(line.is_reversal, FALSE) AND line.return_reason IS NULL
        AND line.entry_id NOT IN (SELECT entry_id FROM ignored_lines)
        AND line.entry_id NOT IN (SELECT entry_id FROM marked_returns)
        AND (coalesce(line.proof, 'none') <> 'fails' OR line.entry_id IN (SELECT entry_id FROM accepted_pairs))
) AS candidates
