-- Creates the tables of the sandbox's idempotency keys: one row per key with its answer, and one row per write
-- that took effect.
create table if not exists idempotency_keys (
    key text primary key, digest text not null,
    status integer not null default 0, answer text not null default ''
) without rowid;
create table if not exists effects (
    number integer primary key, client text not null, operation text not null, key text not null,
    digest text not null, record text not null
);
