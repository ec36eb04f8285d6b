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
