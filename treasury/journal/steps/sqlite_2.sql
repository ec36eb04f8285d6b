-- Creates a trigger on the journal's table `entries`, which refuses a row if its number does not follow the
-- last one, or if its nonce is stored already. The second condition is needed because INSERT OR REPLACE deletes
-- a row without firing the trigger on DELETE.

CREATE TRIGGER IF NOT EXISTS entries_in_order BEFORE INSERT ON entries
    WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM entries)
        OR EXISTS (SELECT 1 FROM entries WHERE nonce = NEW.nonce)
    BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END
