-- One row per combination of a line, another expectation with a code that its text may mean, and the kind of
-- doubt, found by questions 1 to 3. These questions need only the text, so this step runs before payments are
-- summed. `is_damaged`: the text does not contain this code completely. Doubts that involve no other code are
-- in `question_doubts`.
SELECT entry_id, expectation_id, code, 1 AS question, is_cut AS is_damaged, 'cut off at the end' AS damage
FROM longer_codes
UNION
SELECT entry_id, expectation_id, code, 3 AS question, TRUE AS is_damaged, 'cut off at the end' AS damage
FROM part_codes
UNION
SELECT entry_id, expectation_id, code, 3 AS question, TRUE AS is_damaged, 'inside a longer word' AS damage
FROM codes_in_divided_tokens
UNION
SELECT entry_id, expectation_id, code, 2 AS question, is_damaged, 'one character off' AS damage
FROM second_codes
UNION
SELECT entry_id, expectation_id, code, 1 AS question, FALSE AS is_damaged, 'cut off at the end' AS damage
FROM longer_serials
