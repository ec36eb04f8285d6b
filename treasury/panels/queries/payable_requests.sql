-- One row per request in the list of requests that wait for funds, with deposit details if it may be paid.
-- `payable`: it is not marked, its state allows the payment, and the service does not call its details
-- inactive. `differs` describes how these details differ from the request's first details, and from those of
-- the latest paid request with the same direction and `line` (chain or currency). `first_time`: it may be
-- paid, and there is no such paid request.
SELECT w.* EXCLUDE (number, payable), {details}, o.asset, w.payable,
    coalesce(c.words, '') AS differs,
    w.payable AND p.ramp_type IS NULL AS first_time,
    w.number
FROM (
    SELECT *, marked = '' AND request IN (SELECT id FROM open)
        AND state IN (SELECT state FROM payable_states) AS payable
    FROM waiting
) AS w
LEFT JOIN open AS o ON o.id = w.request
LEFT JOIN paid AS p ON p.ramp_type = o.ramp_type AND p.line = o.line
LEFT JOIN worded AS c ON c.id = w.request
ORDER BY w.number
