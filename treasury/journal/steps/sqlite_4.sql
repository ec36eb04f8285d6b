-- Creates triggers on the table of attached files. They refuse changes, and the deletion of a file before the
-- entry with which a second person removes it.

CREATE TRIGGER IF NOT EXISTS attached_files_no_update BEFORE UPDATE ON attached_files
    BEGIN SELECT RAISE(ABORT, 'attached files are not changed'); END

CREATE TRIGGER IF NOT EXISTS attached_files_no_delete BEFORE DELETE ON attached_files
    WHEN NOT EXISTS (SELECT 1 FROM entries WHERE kind = 'item.removal_accepted' AND subject = OLD.sha256)
    BEGIN SELECT RAISE(ABORT, 'attached files are removed by two people'); END
