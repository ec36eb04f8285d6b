create table if not exists agenda (
    position integer primary key, due text not null, step text not null, subject text not null
);
create index if not exists by_due on agenda (due, position);
