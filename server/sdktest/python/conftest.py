"""Starts the real server for the tests."""

import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

BINARY = os.environ.get(
    "PARLEY_BIN", str(pathlib.Path(__file__).parents[3] / "bin" / "parley")
)


class Server:
    """A server process that can be killed and started again on its data."""

    def __init__(self, *args: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://localhost:{self.port}"
        self.args = args
        self.process: subprocess.Popen | None = None

    def start(self) -> "Server":
        self.process = subprocess.Popen(
            [BINARY, "serve", "--port", str(self.port), *self.args]
        )
        deadline = time.monotonic() + 10
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/ok")
                return self
            except (urllib.error.URLError, ConnectionError):
                assert self.process.poll() is None, "the server ended"
                assert time.monotonic() < deadline, "the server does not answer"
                time.sleep(0.01)

    def kill(self, sig: int = signal.SIGKILL) -> None:
        self.process.send_signal(sig)
        self.process.wait()


@pytest.fixture(scope="session")
def server():
    s = Server("--agents", "conformance", "--ephemeral").start()
    yield s
    s.kill(signal.SIGTERM)


@pytest.fixture
def durable(tmp_path):
    s = Server("--agents", "conformance,demo", "--data", str(tmp_path)).start()
    yield s
    s.kill(signal.SIGTERM)
