-- Creates the table of the sandbox's future steps: one row per step, with the time at which it is due.
create table if not exists agenda (
    position integer primary key, due text not null, step text not null, subject text not null
);
create index if not exists by_due on agenda (due, position);
