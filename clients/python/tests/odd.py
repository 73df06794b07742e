"""A server that does what toolbatch never does, or does not do yet."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc import aio

from toolbatch.v1 import batch_pb2, batch_pb2_grpc

Context = aio.ServicerContext[Any, Any]
Answer = Callable[[Context], Awaitable[None]]


class Odd(batch_pb2_grpc.BatchServiceServicer):
    """Answers one request after another as its script says, and notes what was asked."""

    def __init__(self, script: list[Answer]) -> None:
        self.script = script
        self.asked: list[str] = []
        self.ended = asyncio.Event()
        self.url = ""

    async def ExecuteBatch(self, request: Any, context: Context) -> None:  # type: ignore[override]  # noqa: N802, ARG002
        self.asked.append("execute")
        await self._answer(context)

    async def WatchBatch(self, request: Any, context: Context) -> None:  # type: ignore[override]  # noqa: N802
        self.asked.append(f"watch {request.after_sequence}")
        await self._answer(context)

    async def GetBatch(self, request: Any, context: Context) -> Any:  # noqa: N802, ARG002
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "odd")

    CancelBatch = ListBatches = GetBatch

    async def _answer(self, context: Context) -> None:
        try:
            await self.script.pop(0)(context)
        finally:
            self.ended.set()


@contextlib.asynccontextmanager
async def odd(*script: Answer) -> AsyncIterator[Odd]:
    server = aio.server()
    one = Odd(list(script))
    batch_pb2_grpc.add_BatchServiceServicer_to_server(one, server)
    one.url = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield one
    finally:
        await server.stop(0)


def sent(sequence: int, kind: str = "call_started") -> bytes:
    message = batch_pb2.BatchEvent(batch_id="b", sequence=sequence)
    if kind == "unknown":
        return message.SerializeToString() + b"\xfa\x06\x00"  # field 111, which the contract does not have
    getattr(message, kind).SetInParent()
    return message.SerializeToString()


def events(*sequences: int | bytes, hang: bool = False) -> Answer:
    """Send events, 9 as the last one, then end with OK or go on without a word."""

    async def answer(context: Context) -> None:
        for one in sequences:
            data = one if isinstance(one, bytes) else sent(one, "batch_finished" if one == 9 else "call_started")
            inner = batch_pb2.BatchEvent.FromString(data)
            await context.write(batch_pb2.ExecuteBatchResponse(event=inner))
        if hang:
            await context.send_initial_metadata(())
            await asyncio.Event().wait()

    return answer


def status(code: grpc.StatusCode, *, reason: str = "", retry_after: float | None = None) -> Answer:
    """End with a status and its details."""

    async def answer(context: Context) -> None:
        details = Status(code=code.value[0], message="odd")
        packed = AnyMessage()
        if reason:
            packed.Pack(ErrorInfo(reason=reason, domain="toolbatch.v1"))
            details.details.append(packed)
        if retry_after is not None:
            delay = Duration()
            delay.FromMilliseconds(round(retry_after * 1000))
            packed = AnyMessage()
            packed.Pack(RetryInfo(retry_delay=delay))
            details.details.append(packed)
        context.set_trailing_metadata((("grpc-status-details-bin", details.SerializeToString()),))
        await context.abort(code, "odd")

    return answer
