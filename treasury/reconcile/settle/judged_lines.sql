-- Lines that a person accepted or closed: whatever their texts say, they are that.
SELECT entry_id FROM accepted
UNION
SELECT entry_id FROM decisions WHERE verdict = 'ignore'
