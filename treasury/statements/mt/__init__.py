"""Bank statements in MT940 and MT942, in the dialects that banks write."""
