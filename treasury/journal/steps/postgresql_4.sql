-- Creates triggers on the table of attached files. They refuse changes, and the deletion of a file before the
-- entry with which a second person removes it.

CREATE OR REPLACE FUNCTION attached_files_stay() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' THEN
            IF EXISTS (SELECT 1 FROM entries WHERE kind = 'item.removal_accepted' AND subject = OLD.sha256) THEN
                RETURN OLD;
            END IF;
        END IF;
        RAISE EXCEPTION 'attached files are removed by two people';
    END $$

CREATE OR REPLACE TRIGGER attached_files_no_change BEFORE UPDATE OR DELETE ON attached_files
    FOR EACH ROW EXECUTE FUNCTION attached_files_stay()

CREATE OR REPLACE TRIGGER attached_files_no_truncate BEFORE TRUNCATE ON attached_files
    FOR EACH STATEMENT EXECUTE FUNCTION attached_files_stay()
