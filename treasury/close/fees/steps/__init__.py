"""The steps that say which request or transfer a payment of gas belongs to, an SQL file each."""
