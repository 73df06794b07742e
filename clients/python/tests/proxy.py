"""A proxy that cuts connections, as bad networks do."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Proxy:
    """Passes bytes between a client and a server, and cuts what it is told to."""

    def __init__(self, host: str, port: int, limit: int | None) -> None:
        self._to = (host, port)
        self._limit = limit
        self._open: set[asyncio.StreamWriter] = set()
        self.connections = 0
        self.address = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        limit = None if self._limit is None else self._limit * self.connections
        try:
            up_reader, up_writer = await asyncio.open_connection(*self._to)
        except OSError:
            writer.close()
            return
        self._open |= {writer, up_writer}
        await asyncio.wait(
            [
                asyncio.ensure_future(self._pass(reader, up_writer, None)),
                asyncio.ensure_future(self._pass(up_reader, writer, limit)),
            ],
            return_when=asyncio.FIRST_COMPLETED,
        )
        for one in (writer, up_writer):
            one.transport.abort()
            self._open.discard(one)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int | None) -> None:
        with contextlib.suppress(ConnectionError):
            while limit is None or limit > 0:
                data = await reader.read(65536 if limit is None else min(limit, 65536))
                if not data:
                    return
                limit = None if limit is None else limit - len(data)
                writer.write(data)
                await writer.drain()

    def cut(self) -> None:
        """Cut every connection that is open."""
        for one in self._open:
            one.transport.abort()


@contextlib.asynccontextmanager
async def proxy(to: str, *, limit: int | None = None) -> AsyncIterator[Proxy]:
    """A proxy to `HOST:PORT`; with a limit the n-th connection is cut after n times so many bytes of the server."""
    host, _, port = to.rpartition(":")
    one = Proxy(host, int(port), limit)
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0)
    one.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield one
    finally:
        server.close()
        one.cut()
