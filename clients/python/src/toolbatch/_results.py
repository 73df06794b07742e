"""Reads results that are too large for one message."""

import asyncio

from grpc import aio

from toolbatch._status import trouble
from toolbatch._transport import Transport, closed, opened, was_cancelled
from toolbatch.v1 import task_pb2, task_pb2_grpc


async def whole_result(transport: Transport, step_id: str, timeout: float | None) -> str:
    """Read a step's whole result, going on where a lost connection cut it."""
    recovery = transport.recovery(timeout)
    text = bytearray()
    careful = False
    while True:
        request = task_pb2.ReadStepResultRequest(step_id=step_id, offset=len(text))
        tasks = task_pb2_grpc.TaskServiceStub(transport.channel_of(careful=careful))
        call = tasks.ReadStepResult(request, timeout=recovery.remaining(), metadata=transport.metadata)
        transport.track(call)
        is_open = False
        try:
            is_open = await opened(call, recovery)
            while isinstance(piece := await call.read(), task_pb2.ReadStepResultResponse):
                text += piece.chunk
                recovery.moved_on()
            return text.decode()
        except aio.AioRpcError as error:
            why = trouble(error)
            careful = len(text) == request.offset and transport.needs_care(careful=careful)
        except asyncio.CancelledError:
            if was_cancelled():
                raise
            raise closed() from None
        finally:
            call.cancel()
        if is_open:
            recovery.was_alive()
        await recovery.pause(why)
