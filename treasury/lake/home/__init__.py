"""The lake's home: a bucket or folder where desks (copies of the lake) share commits."""
