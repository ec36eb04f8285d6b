-- Lines that name an expectation in full, with the first and the last of the codes that they name.
SELECT entry_id, min(code) AS code, max(code) AS other_code
FROM written
GROUP BY entry_id
