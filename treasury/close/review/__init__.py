"""The reviewer's view of a month: the acts of people, and the changes since earlier months."""
