"""The steps that assign payments of gas to requests and transfers, one SQL file each."""
