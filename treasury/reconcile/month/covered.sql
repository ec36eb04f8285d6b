-- For each declared account the unbroken run of proved statements that ends last: each opens with the
-- balance that the one before closed with.
SELECT account, min(opening_date) AS covered_from, max(closing_date) AS covered_to, count(*) AS statements
FROM (
    SELECT
        *,
        sum(CASE WHEN opening_balance = previous_closing THEN 0 ELSE 1 END) OVER (
            PARTITION BY account ORDER BY closing_date DESC, opening_date DESC, statement_id DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS breaks_after
    FROM (
        SELECT
            upper(replace(account, ' ', '')) AS account, statement_id, opening_date, closing_date, opening_balance,
            lag(closing_balance) OVER (
                PARTITION BY upper(replace(account, ' ', '')) ORDER BY closing_date, opening_date, statement_id
            ) AS previous_closing
        FROM statements
        WHERE proved
    ) AS ordered
) AS runs
WHERE coalesce(breaks_after, 0) = 0
GROUP BY account
