import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from tools import backend

from toolbatch import Client

BIN = os.environ.get("TOOLBATCH_BIN", str(Path(__file__).parents[3] / "target/debug/toolbatch"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """`toolbatch serve` on a folder of its own."""

    def __init__(self, folder: Path, listen: str, config: str) -> None:
        self.folder = folder
        self.listen = listen
        self.config = folder / "toolbatch.toml"
        self.config.write_text(f'listen = "{listen}"\ndata_dir = "{folder}/data"\n{config}')
        self.process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return self.listen if self.listen.startswith("unix:") else f"http://{self.listen}"

    async def start(self) -> None:
        command = [BIN, "serve", "--config", str(self.config), "--log-format", "json"]
        self.process = await asyncio.create_subprocess_exec(*command, cwd=self.folder, stderr=subprocess.PIPE)
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            if b"serving" in line:
                self.reader = asyncio.create_task(self.process.stderr.read())
                return
        raise RuntimeError(f"{command} ended with {await self.process.wait()}")

    async def stop(self, number: int = signal.SIGTERM) -> None:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(number)
        await self.process.wait()

    async def restart(self, number: int = signal.SIGTERM) -> None:
        await self.stop(number)
        await self.start()


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLBATCH_SERVER", raising=False)
    monkeypatch.delenv("TOOLBATCH_TOKEN", raising=False)


@pytest_asyncio.fixture
async def backends() -> AsyncIterator[str]:
    async with await backend.start("127.0.0.1:0") as running:
        yield f'[[backends]]\nname = "py"\naddresses = ["http://{running.address}"]\n'


@pytest_asyncio.fixture
async def server(tmp_path: Path, backends: str) -> AsyncIterator[Server]:
    prices = '[prices]\ncurrency = "USD"\n[prices.tools]\nmeter = { tokens = "0.000000001" }\n'
    one = Server(tmp_path, f"127.0.0.1:{free_port()}", backends + prices)
    await one.start()
    yield one
    await one.stop()


@pytest_asyncio.fixture
async def client(server: Server) -> AsyncIterator[Client]:
    async with Client(server.url) as one:
        yield one


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "gate"
    yield path
    path.touch()
