"""A standalone Spark cluster of real processes on loopback, from the pyspark wheel.

It has one master and two workers, each with an executor of one core and a limited heap. All started
processes are ended by their ids.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

__all__ = ["HEAP", "Cluster", "connect_server", "processor_seconds"]

HEAP = "2560m"
"""Java heap of an executor; together with its other memory the process stays below 4 GB."""
WORKERS = 2
ENDED = 60
"""Seconds before a process that ignores SIGTERM is killed."""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the port is open; raise RuntimeError if the process ends first."""
    while True:
        if process.poll() is not None:
            raise RuntimeError(log.read_text("utf-8", "replace")[-2000:])
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)


def start(log: Path, script: str, *arguments: str, memory: str = "256m") -> subprocess.Popen[bytes]:
    """Start a script of Spark, which replaces itself with the Java process.

    `memory` is the heap of a server, except for Spark Connect. Spark is in SPARK_HOME, by default
    in the installed pyspark.
    """
    if "SPARK_HOME" in os.environ:
        home = Path(os.environ["SPARK_HOME"])
    else:
        import pyspark

        home = Path(pyspark.__file__).parent
    environment = {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": memory,
        "SPARK_SCALA_VERSION": "2.13",
    }
    with log.open("wb") as file:
        return subprocess.Popen(
            [home / "bin" / script, *arguments],
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(ENDED)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def children_of(pid: int) -> list[int]:
    """Return the running child processes of all threads of a process."""
    children = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            children += [int(child) for child in (thread / "children").read_text().split()]
    return children


def peak_mb(pid: int) -> int:
    """Return the peak memory of a living process; 0 if it has ended."""
    with suppress(OSError, IndexError):
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) // 1024
    return 0


def processor_seconds(pid: int) -> float:
    """Return the processor time of a living process and its threads; 0 if it has ended."""
    with suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


class Cluster:
    """A master and its workers, for the duration of the context."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = ""
        self.peaks: dict[int, int] = {}
        """Peak memory of each executor in MB, by process id."""
        self.seconds: dict[int, float] = {}
        """Processor time of each executor, by process id."""
        self._master: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes]] = []
        self._is_over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        port = free_port()
        log = self.folder / "master.log"
        self._master = start(
            log, "spark-class", "org.apache.spark.deploy.master.Master",
            "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port()),
        )  # fmt: skip
        try:
            wait_for(port, self._master, log)
            self.address = f"spark://127.0.0.1:{port}"
            for number in range(WORKERS):
                self._start_worker(number)
        except BaseException:
            self.__exit__()
            raise
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for process in (*self._workers, self._master):
            if process is not None and process.poll() is None:
                end(process)

    def _start_worker(self, number: int) -> None:
        port, log = free_port(), self.folder / f"worker{number}.log"
        worker = start(
            log, "spark-class", "org.apache.spark.deploy.worker.Worker",
            "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port()),
            "--cores", "1", "--memory", "4g", "--work-dir", str(self.folder / f"worker{number}"),
            self.address,
        )  # fmt: skip
        self._workers.append(worker)
        wait_for(port, worker, log)

    def executors(self) -> list[int]:
        """Return the living executor processes."""
        return [child for worker in self._workers for child in children_of(worker.pid)]

    def kill_worker(self) -> None:
        """Kill a worker and its executor at once, as if its machine were lost."""
        worker = self._workers[0]
        for pid in (worker.pid, *children_of(worker.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        worker.wait()
        del self._workers[0]

    def new_peaks(self) -> tuple[list[int], float]:
        """Return the executors' peaks in MB and their processor time since the last call."""
        peaks, seconds = self.peaks, self.seconds
        self.peaks, self.seconds = {}, {}
        return sorted(peaks.values()), sum(seconds.values())

    def _watch(self) -> None:
        while not self._is_over.wait(0.5):
            for pid in self.executors():
                held = peak_mb(pid)
                if held:
                    self.peaks[pid] = max(held, self.peaks.get(pid, 0))
                    self.seconds[pid] = max(processor_seconds(pid), self.seconds.get(pid, 0.0))


@contextmanager
def connect_server(folder: Path, memory: str) -> Iterator[str]:
    """Run a Spark Connect server of two threads in its own process; yield its address."""
    port, log = free_port(), folder / "connect.log"
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    server = start(
        log, "spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--master", "local[2]",
        *(word for pair in settings.items() for word in ("--conf", "=".join(pair))),
        "spark-internal", memory=memory,
    )  # fmt: skip
    try:
        wait_for(port, server, log)
        yield f"sc://127.0.0.1:{port}"
    finally:
        end(server)
