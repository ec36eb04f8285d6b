"""The operations of both services, by kind of record; the clients offer them."""
