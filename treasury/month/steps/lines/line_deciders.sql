-- One row per line that a person accepted or ignored, with the last such person and the time.
SELECT entry_id, decided_by, decided_at
FROM decided
WHERE verdict IN ('accept', 'ignore') AND decided_by IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY entry_id ORDER BY decided_at DESC, decided_by) = 1
