"""The SQL steps that assign gas payments to requests and transfers."""
