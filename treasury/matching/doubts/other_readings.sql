-- One row per combination of a line, another expectation with a code that the line's text may mean, and the kind
-- of doubt, found by questions 1 to 3. These questions do not need other payments, so this step runs before
-- payments are summed. Doubts that involve no other code are in `question_doubts`.
--
-- `is_damaged`: the reading counts as a damaged reference, otherwise as a split one. It is true for every row of
-- `codes_in_divided_tokens`, although the token contains the code. It is false for every row of
-- `longer_serials`, although the text may have been cut off before the end of the code. In the other rows, it is
-- true if the text contains the code only with damage or without its end.
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
