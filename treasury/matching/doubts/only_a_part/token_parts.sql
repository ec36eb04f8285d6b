-- One row per combination of a line, a code that it names between slashes or dots, and a text with which a
-- longer code may begin. For `/RFB/PAY-2026-004417/INV`, these texts are `RFBPAY2026004417INV` and
-- `PAY2026004417INV`.
WITH parts AS (
    SELECT DISTINCT g.entry_id, g.code, replace(replace(replace(t.token, '-', ''), '/', ''), '.', '') AS form
    FROM token_segments AS g
    JOIN slashed_tokens AS t ON t.entry_id = g.entry_id
)
SELECT entry_id, code, form
FROM parts
WHERE contains(form, code)
UNION
SELECT entry_id, code, substr(form, strpos(form, code)) AS form
FROM parts
WHERE contains(form, code)
