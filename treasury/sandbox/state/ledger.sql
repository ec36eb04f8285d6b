-- Creates the tables of the sandbox's money: one row per movement, one row per posting of a movement to a place
-- (such as a wallet), and one row per place and asset with its balance.
create table if not exists movements (
    number integer primary key, kind text not null, reference text not null, at text not null
);
create index if not exists by_movement_reference on movements (reference);
create table if not exists postings (
    movement integer not null, place text not null, asset text not null, units integer not null
);
create index if not exists by_movement on postings (movement);
create table if not exists balances (
    place text not null, asset text not null, units integer not null,
    primary key (place, asset)
) without rowid;
