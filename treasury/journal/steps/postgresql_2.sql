-- Creates triggers on the journal's table `entries`. They refuse changes to its rows, and a row with a number
-- that does not follow the last one.

CREATE OR REPLACE FUNCTION entries_stay() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'the journal is append-only'; END $$

CREATE OR REPLACE FUNCTION entries_follow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM entries) THEN
            RAISE EXCEPTION 'the journal is append-only';
        END IF;
        RETURN NEW;
    END $$

CREATE OR REPLACE TRIGGER entries_no_change BEFORE UPDATE OR DELETE ON entries
    FOR EACH ROW EXECUTE FUNCTION entries_stay()

CREATE OR REPLACE TRIGGER entries_no_truncate BEFORE TRUNCATE ON entries
    FOR EACH STATEMENT EXECUTE FUNCTION entries_stay()

CREATE OR REPLACE TRIGGER entries_in_order BEFORE INSERT ON entries
    FOR EACH ROW EXECUTE FUNCTION entries_follow()
