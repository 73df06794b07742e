import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import grpc
import pytest
from conftest import free_port
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tools import backend, held

from toolbatch import Backend, RunningBackend
from toolbatch.v1 import tool_pb2, tool_pb2_grpc

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
CHECK = health_pb2.HealthCheckRequest()


def health_of(channel: aio.Channel) -> Any:
    return health_pb2_grpc.HealthStub(channel)


def hold(channel: aio.Channel, gate: Path) -> "aio.UnaryUnaryCall[tool_pb2.CallToolRequest, tool_pb2.CallToolResponse]":
    request = tool_pb2.CallToolRequest(tool="hold", args_json=f'{{"gate":"{gate}"}}')
    return tool_pb2_grpc.ToolServiceStub(channel).CallTool(request)


async def test_a_stop_lets_running_calls_finish(gate: Path) -> None:
    running = await backend.start("127.0.0.1:0")
    async with aio.insecure_channel(running.address) as channel:
        health = health_of(channel)
        for service in ("", "toolbatch.v1.ToolService"):
            assert (await health.Check(health_pb2.HealthCheckRequest(service=service))).status == SERVING
        watch = health.Watch(CHECK)
        assert (await watch.read()).status == SERVING
        call = hold(channel, gate)
        await held(Path(f"{gate}.held"))
        stopping = asyncio.create_task(running.stop())
        assert (await watch.read()).status == NOT_SERVING
        async with aio.insecure_channel(running.address) as late:
            with pytest.raises(aio.AioRpcError) as raised:
                await hold(late, gate)
            assert raised.value.code() is grpc.StatusCode.UNAVAILABLE
        assert not stopping.done()
        gate.touch()
        assert (await call).result_json == '{"attempt":0,"in_doubt":false}'
        await stopping
        await running.wait()


async def test_the_grace_period_ends_running_calls(gate: Path) -> None:
    running = await backend.start("127.0.0.1:0")
    async with aio.insecure_channel(running.address) as channel:
        call = hold(channel, gate)
        await held(Path(f"{gate}.held"))
        await running.stop(grace=0.1)
        with pytest.raises(aio.AioRpcError):
            await call


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops(gate: Path, number: int) -> None:
    listening: asyncio.Future[RunningBackend] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(backend.serve("127.0.0.1:0", on_listening=listening.set_result))
    async with aio.insecure_channel((await listening).address) as channel:
        call = hold(channel, gate)
        await held(Path(f"{gate}.held"))
        os.kill(os.getpid(), number)
        gate.touch()
        assert (await call).result_json
        await serving


async def test_an_unknown_service_has_no_health() -> None:
    async with await backend.start("127.0.0.1:0") as running, aio.insecure_channel(running.address) as channel:
        unknown = health_pb2.HealthCheckRequest(service="nothing")
        with pytest.raises(aio.AioRpcError, match="NOT_FOUND"):
            await health_of(channel).Check(unknown)
        answer = await health_of(channel).Watch(unknown).read()
        assert answer.status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


async def test_where_nothing_can_listen_is_said(tmp_path: Path) -> None:
    some = Backend()
    for address in ("7001", ":7001", "http://127.0.0.1:7001", "127.0.0.1:x", "unix:rel"):
        with pytest.raises(ValueError, match="is none to listen on: expected HOST:PORT or unix:/PATH"):
            await some.start(address)
    with pytest.raises(ValueError, match="both cert and key"):
        await some.start("127.0.0.1:0", cert="c.pem")
    with pytest.raises(FileNotFoundError):
        await some.start("127.0.0.1:0", cert=tmp_path / "c.pem", key=tmp_path / "k.pem")
    address = f"127.0.0.1:{free_port()}"
    async with await some.start(address):
        with pytest.raises(OSError, match="cannot be listened on"):
            await Backend().start(address)
