-- One row per RF reference in `carried_codes` with valid check digits (ISO 7064, modulo 97-10). With the first
-- four characters moved to the end and each letter replaced by two digits (A by 10), the number modulo 97 must
-- be 1. The number is too long for an integer, so each character is multiplied by the remainder of its power of
-- ten modulo 97. The long text lists these remainders, two digits each, lowest power first.
SELECT form
FROM (
    SELECT
        form,
        CAST(CASE WHEN mark < 65 THEN mark - 48 ELSE mark - 55 END AS BIGINT) * CAST(substr(
            '01100330099027768134490550155345623889177351255675713119935785746128868464589577913779144342322996879467',
            2 * CAST(length(tail) + length(regexp_replace(tail, '[0-9]+', '', 'g')) AS INTEGER) + 1, 2
        ) AS BIGINT) AS share
    FROM (
        SELECT form, ascii(substr(arranged, i, 1)) AS mark, substr(arranged, i + 1) AS tail
        FROM (
            SELECT
                form,
                substr(form, 5) || substr(form, 1, 4) AS arranged,
                unnest(generate_series(1, length(form))) AS i
            FROM (SELECT DISTINCT form FROM carried_codes WHERE kind = 'RF') AS forms
        ) AS places
    ) AS characters
) AS shares
GROUP BY form
HAVING sum(share) % 97 = 1
