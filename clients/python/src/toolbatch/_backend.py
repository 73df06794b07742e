"""A tool backend: functions that toolbatch calls."""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

import grpc
from grpc import aio
from grpc_health.v1 import health_pb2_grpc

from toolbatch._health import Health
from toolbatch._json import Json, RawJson, loads, text_of
from toolbatch._servicer import Servicer
from toolbatch._tool import Tool
from toolbatch.v1 import tool_pb2_grpc

Args = ParamSpec("Args")
Result = TypeVar("Result")
_MIB = 1024 * 1024
_NAME = re.compile(r"[!-~]+( [!-~]+)*")
_OPTIONS = (
    ("grpc.max_receive_message_length", 5 * _MIB),  # args of 1 MiB, and what is around them
    ("grpc.max_send_message_length", -1),  # toolbatch says which results are too large
    ("grpc.so_reuseport", 0),  # a second backend on the port is an error, and takes no calls from the first
    # Toolbatch asks now and then whether the backend is there; that is no attack.
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.keepalive_permit_without_calls", 1),
)


class RunningBackend:
    """A backend that takes calls. As a context manager it stops at the end."""

    def __init__(self, server: aio.Server, health: Health, threads: ThreadPoolExecutor, address: str) -> None:
        self._server = server
        self._health = health
        self._threads = threads
        self.address = address
        """Where it listens; for port 0 with the port that it got."""

    def __repr__(self) -> str:
        return f"<RunningBackend at {self.address}>"

    async def stop(self, grace: float = 30.0) -> None:
        """Say NOT_SERVING, take no new calls, let running ones finish for `grace` seconds, then cancel them."""
        self._health.stop()
        await self._server.stop(grace)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def wait(self) -> None:
        """Wait until it has stopped."""
        await self._server.wait_for_termination()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()


class Backend:
    """A set of tools.

    ```python
    backend = Backend()

    @backend.tool("greet", "Greets someone by name", input_schema={"type": "object", "properties": {"name": {"type": "string"}}})
    async def greet(args, context):
        return {"greeting": f"Hello, {args['name']}"}

    asyncio.run(backend.serve("127.0.0.1:7001"))
    ```
    """

    def __init__(self, *, threads: int = 64) -> None:
        """Make a backend without tools; `threads` bounds how many functions that are not async run at once."""
        self._tools: dict[str, Tool[..., Any]] = {}
        self._max_threads = threads

    def __repr__(self) -> str:
        return f"<Backend of {', '.join(self._tools) or 'no tools'}>"

    def tool(
        self,
        name: str,
        description: str,
        *,
        input_schema: Mapping[str, Json] | RawJson | None = None,
        pauses: bool = False,
        reports_progress: bool = False,
        timeout: float | None = None,
    ) -> Callable[[Callable[Args, Result]], Tool[Args, Result]]:
        """Declare a function as a tool.

        The function takes `(args)` or `(args, context)`: `args` a dict as `loads` gives it, or the raw text where the parameter is
        annotated `RawJson`; `context` a `Context`. It returns the result as a native value, `RawJson` for text that is kept byte for
        byte, or `Await`; it raises `ToolFailure` for a definite failure. Any other exception says nothing certain: it is logged, and the
        call's outcome is unknown. A function that is not async runs in a thread.

        Args:
            name: 1 to 256 printable ASCII characters, single blanks inside at most; one backend serves a name.
            description: For models and people.
            input_schema: JSON Schema of the arguments, which toolbatch checks before it calls; None: any object.
            pauses: It can stop an agent or wait for somebody, so no batch may call it.
            reports_progress: `context.progress` is passed on.
            timeout: Seconds for one attempt, above 0, where a batch sets none; None: the server's.

        Raises:
            ValueError: A value breaks its rule, or the name is taken.
            TypeError: The function's parameters are others.
        """
        if len(name) > 256 or not _NAME.fullmatch(name):
            raise ValueError(
                f"tool name {name!r}: expected 1 to 256 printable ASCII characters, single blanks inside at most"
            )
        if name in self._tools:
            raise ValueError(f"tool {name!r} is declared already")
        if timeout is not None and not 0 < timeout <= 86_400:
            raise ValueError(f"timeout of tool {name!r}: expected seconds above 0, at most 86400, got {timeout!r}")
        schema = "" if input_schema is None else text_of(input_schema, f"input_schema of {name}")
        if schema and not isinstance(loads(schema), dict):
            raise ValueError(f"input_schema of {name}: expected a JSON object, got {schema[:80]}")

        def declare(function: Callable[Args, Result]) -> Tool[Args, Result]:
            tool = Tool(
                function,
                name=name,
                description=description,
                input_schema_json=schema,
                pauses=pauses,
                reports_progress=reports_progress,
                timeout=timeout,
            )
            self._tools[name] = tool
            return tool

        return declare

    async def start(
        self,
        address: str,
        *,
        cert: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        client_ca: str | os.PathLike[str] | None = None,
    ) -> RunningBackend:
        """Begin to take calls.

        Args:
            address: `HOST:PORT` (port 0 takes a free one) or `unix:/PATH`.
            cert: PEM file of the certificate chain, for TLS; with `key`.
            key: PEM file of the certificate's private key.
            client_ca: PEM file of the authority whose certificates clients have to show.

        Raises:
            ValueError: The address is none, or the files do not go together.
            OSError: The address cannot be listened on, or a file cannot be read.
        """
        credentials = _credentials(cert, key, client_ca)
        host, colon, port = address.rpartition(":")
        if not address.startswith("unix:/") and not (host and colon and port.isdigit() and "/" not in address):
            raise ValueError(f"the address {address!r} is none to listen on: expected HOST:PORT or unix:/PATH")
        threads = ThreadPoolExecutor(self._max_threads, thread_name_prefix="toolbatch-tool")
        server = aio.server(options=_OPTIONS)
        health = Health()
        tool_pb2_grpc.add_ToolServiceServicer_to_server(Servicer(self._tools, threads), server)
        health_pb2_grpc.add_HealthServicer_to_server(health, server)
        try:
            bound = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
        except RuntimeError as error:
            raise OSError(f"{address} cannot be listened on: {error}") from None
        await server.start()
        return RunningBackend(server, health, threads, address if address.startswith("unix:") else f"{host}:{bound}")

    async def serve(
        self,
        address: str,
        *,
        grace: float = 30.0,
        cert: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        client_ca: str | os.PathLike[str] | None = None,
        on_listening: Callable[[RunningBackend], object] | None = None,
    ) -> None:
        """Take calls until SIGTERM or Ctrl-C, then stop gracefully: running calls have `grace` seconds. A second signal ends at once.

        The other arguments and errors are those of `start`; `on_listening` is called once calls are taken.
        """
        stopping = asyncio.Event()
        with _signals(stopping):
            running = await self.start(address, cert=cert, key=key, client_ca=client_ca)
            try:
                if on_listening is not None:
                    on_listening(running)
                await stopping.wait()
            except BaseException:
                await running.stop(grace)
                raise
        await running.stop(grace)


@contextlib.contextmanager
def _signals(stopping: asyncio.Event) -> Any:
    """Set the event at SIGTERM and SIGINT, where this thread and system have signals."""
    loop = asyncio.get_running_loop()
    handled = []
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stopping.set)
            handled.append(number)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


def _credentials(
    cert: str | os.PathLike[str] | None, key: str | os.PathLike[str] | None, client_ca: str | os.PathLike[str] | None
) -> grpc.ServerCredentials | None:
    if (cert is None) != (key is None) or (cert is None and client_ca is not None):
        raise ValueError("TLS needs both cert and key; client_ca goes with them")
    if cert is None or key is None:
        return None
    return grpc.ssl_server_credentials(
        [(Path(key).read_bytes(), Path(cert).read_bytes())],
        root_certificates=Path(client_ca).read_bytes() if client_ca is not None else None,
        require_client_auth=client_ca is not None,
    )
