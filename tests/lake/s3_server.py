"""An S3 server that refuses to create an object twice, as a process on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT / ".venv-s3" / "bin" / "moto_server"
BUCKET = "treasury-test"
KEY = "AKIATESTTESTTESTTEST"
SECRET = "s3cr3t/of+the/tests/never/to/be/shown"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(url: str, key: str = KEY, secret: str = SECRET) -> dict[str, str]:
    """Return the environment variables that let a desk use the server at `url`."""
    return {
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": url,
        "AWS_ALLOW_HTTP": "true",
    }


@contextmanager
def s3_server(variables: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run a server with a bucket and return its address."""
    if not SERVER.is_file():
        raise FileNotFoundError(f"{SERVER} is not there: run `make .venv-s3/s3.stamp`")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [str(SERVER), "-H", "127.0.0.1", "-p", str(port)],
        env={**os.environ, **(variables or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                make = urllib.request.Request(f"{url}/{BUCKET}", method="PUT")
                urllib.request.urlopen(make, timeout=5).close()
                break
            except OSError:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise
                time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(30)
