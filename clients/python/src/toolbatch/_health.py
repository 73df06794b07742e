"""grpc.health.v1 of a tool backend."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

_SERVICES = {"", "toolbatch.v1.ToolService"}


class Health(health_pb2_grpc.HealthServicer):
    """SERVING until it is told to stop. Its streams end then, so that they do not hold the server up."""

    def __init__(self) -> None:
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Answer NOT_SERVING from now on."""
        self._stopping.set()

    async def Check(  # noqa: N802
        self,
        request: health_pb2.HealthCheckRequest,
        context: "aio.ServicerContext[Any, Any]",
    ) -> health_pb2.HealthCheckResponse:
        """Tell whether calls are taken."""
        if request.service not in _SERVICES:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no service {request.service!r} here")
        return self._now()

    async def Watch(  # noqa: N802
        self,
        request: health_pb2.HealthCheckRequest,
        context: "aio.ServicerContext[Any, Any]",  # noqa: ARG002
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """Tell whether calls are taken, and when that ends."""
        if request.service not in _SERVICES:
            yield health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
        else:
            yield self._now()
        if not self._stopping.is_set():
            await self._stopping.wait()
            yield self._now()

    def _now(self) -> health_pb2.HealthCheckResponse:
        serving = health_pb2.HealthCheckResponse.SERVING
        not_serving = health_pb2.HealthCheckResponse.NOT_SERVING
        return health_pb2.HealthCheckResponse(status=not_serving if self._stopping.is_set() else serving)
