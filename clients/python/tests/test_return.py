import asyncio
import signal
import socket
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from conftest import Server, free_port
from odd import Context, events, odd, sent, status
from proxy import proxy
from tools import held

from toolbatch import (
    Batch,
    BatchFinished,
    BatchPlanned,
    BatchResumed,
    Call,
    CallStarted,
    Client,
    DeadlineExceeded,
    Refused,
    Unavailable,
)

BATCH = Batch(task_id="T", batch_id="b", calls=[Call("echo")])


async def sequences(client: Client) -> list[int]:
    return [event.sequence async for event in client.run(BATCH)]


async def test_a_connection_that_is_cut_again_and_again(server: Server) -> None:
    calls = [Call("echo", {"n": n}) for n in range(100)]
    async with proxy(server.listen, limit=2000) as bad, Client(bad.address) as client:
        events = [event async for event in client.run(Batch(task_id="T", calls=calls))]
    assert bad.connections > 3
    assert [event.sequence for event in events] == list(range(1, 203))
    assert isinstance(events[-1], BatchFinished)


async def test_a_result_whose_connection_is_cut(client: Client, server: Server) -> None:
    summary = await client.result(Batch(task_id="T", calls=[Call("large", {"bytes": 5_000_000})]))
    async with proxy(server.listen, limit=1_500_000) as bad, Client(bad.address) as other:
        assert len(await other.step_result(summary.results[0].step_id)) == 5_000_002
    assert bad.connections > 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_server_that_comes_back(client: Client, server: Server, gate: Path, number: int) -> None:
    events = []
    async for event in client.run(Batch(task_id="T", calls=[Call("hold", {"gate": str(gate)}), Call("echo")])):
        events.append(event)
        if isinstance(event, CallStarted) and event.index == 0 and event.attempt == 1:
            await held(Path(f"{gate}.held"))
            if number == signal.SIGTERM:
                stopping = asyncio.create_task(server.restart(number))
                await asyncio.sleep(0)
                gate.touch()
                await stopping
            else:
                await server.restart(number)
                gate.touch()
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    finished = events[-1]
    assert isinstance(finished, BatchFinished)
    assert finished.summary.succeeded == 2
    in_doubt = [event.in_doubt for event in events if isinstance(event, BatchResumed)]
    assert in_doubt == ([(0,)] if number == signal.SIGKILL else [()])


async def test_a_server_that_starts_late(tmp_path: Path, backends: str) -> None:
    server = Server(tmp_path, f"127.0.0.1:{free_port()}", backends)
    async with Client(server.url) as client:
        running = asyncio.create_task(client.result(BATCH))
        reading = asyncio.create_task(client.get_batch("nothing"))
        await server.start()
        assert (await running).succeeded == 1
        with pytest.raises(Refused, match="NOT_FOUND"):
            await reading
    await server.stop()


async def test_giving_up_names_the_batch() -> None:
    async with Client(f"http://127.0.0.1:{free_port()}", give_up_after=0.3) as client:
        with pytest.raises(Unavailable, match="batch b may be running") as raised:
            await client.result(BATCH)
        assert (raised.value.batch_id, raised.value.last_sequence) == ("b", 0)
        with pytest.raises(Unavailable) as raised:
            await client.get_step("s")
        with pytest.raises(Unavailable, match="may have been carried out"):
            await client.set_variable("T", 1)


async def test_giving_up_on_a_server_that_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the system accepts, and nobody answers
        port = silent.getsockname()[1]
        async with Client(f"http://127.0.0.1:{port}", give_up_after=0.3) as quiet:
            with pytest.raises(Unavailable, match="no answer came"):
                await quiet.result(BATCH)
            with pytest.raises(Unavailable, match="no answer came"):
                await quiet.get_batch("b")


async def test_a_deadline_is_over_all_attempts(client: Client, gate: Path) -> None:
    batch = Batch(task_id="T", batch_id="b", calls=[Call("hold", {"gate": str(gate)})])
    with pytest.raises(DeadlineExceeded) as raised:
        await client.result(batch, timeout=0.5)
    assert isinstance(raised.value, TimeoutError)
    assert (raised.value.batch_id, raised.value.last_sequence) == ("b", 2)
    gate.touch()
    assert (await client.result(batch)).succeeded == 1
    async with Client(f"http://127.0.0.1:{free_port()}") as nobody:
        with pytest.raises(DeadlineExceeded):
            await nobody.result(BATCH, timeout=0.3)


async def test_events_are_given_out_once_and_none_is_left_out() -> None:
    script = [
        events(1, 2),
        events(2, 3, 3),
        events(5),
        events(4, sent(5, "unknown"), 6),
        events(7, sent(0, "call_progress"), 8, 9),
    ]
    async with odd(*script) as server, Client(server.url) as client:
        assert await sequences(client) == [1, 2, 3, 4, 6, 7, 0, 8, 9]
    assert server.asked == ["execute", "watch 2", "watch 3", "watch 3", "watch 6"]


async def test_a_watch_that_ends_before_the_batch_does_is_asked_for_again() -> None:
    async with (
        odd(events(sent(0, "call_progress")), events(), events(*range(1, 10))) as server,
        Client(server.url) as client,
    ):
        assert [one.sequence async for one in client.watch("b")] == [0, *range(1, 10)]
    assert server.asked == ["watch 0"] * 3


async def test_a_stream_without_events_is_asked_for_again() -> None:
    script = [events(), events(sent(0, "call_progress")), events(2), events(1, 9)]
    async with odd(*script) as server, Client(server.url, give_up_after=5) as client:
        seen = []
        with pytest.raises(Unavailable):
            async for one in client.run(BATCH):
                seen.append(one.sequence)
                if len(server.script) == 0:
                    server.script += [events()] * 1000
    assert seen == [0, 1]
    assert server.asked[:5] == ["execute", "execute", "execute", "execute", "watch 1"]


@pytest.mark.parametrize(
    "first",
    [
        status(grpc.StatusCode.UNAVAILABLE, reason="STOPPING", retry_after=0.05),
        status(grpc.StatusCode.RESOURCE_EXHAUSTED, reason="BUSY", retry_after=0.05),
        status(grpc.StatusCode.CANCELLED),
        status(grpc.StatusCode.INTERNAL),
        status(grpc.StatusCode.UNKNOWN),
    ],
)
async def test_what_is_repeated(first: object) -> None:
    last = [events(*range(1, 10))]
    async with odd(first, *last) as server, Client(server.url) as client:  # type: ignore[arg-type]
        assert await sequences(client) == list(range(1, 10))
    assert server.asked == ["execute", "execute"]


@pytest.mark.parametrize(
    ("first", "name"),
    [
        (status(grpc.StatusCode.RESOURCE_EXHAUSTED, reason="TOO_LARGE"), "RESOURCE_EXHAUSTED"),
        (status(grpc.StatusCode.INTERNAL, reason="INTERNAL"), "INTERNAL"),
        (status(grpc.StatusCode.DATA_LOSS), "DATA_LOSS"),
        (status(grpc.StatusCode.DEADLINE_EXCEEDED), "DEADLINE_EXCEEDED"),
    ],
)
async def test_what_is_an_error(first: object, name: str) -> None:
    async with odd(first) as server, Client(server.url) as client:  # type: ignore[arg-type]
        with pytest.raises(Refused) as raised:
            await sequences(client)
    assert (raised.value.status, server.asked) == (name, ["execute"])


async def test_the_server_says_the_least_to_wait() -> None:
    script = [status(grpc.StatusCode.UNAVAILABLE, reason="STOPPING", retry_after=0.6), events(*range(1, 10))]
    async with odd(*script) as server, Client(server.url) as client:
        began = asyncio.get_running_loop().time()
        await sequences(client)
        assert asyncio.get_running_loop().time() - began >= 0.6
        assert server.asked == ["execute", "execute"]


async def test_a_plan_whose_connection_is_lost_behind_it_is_given_out_once() -> None:
    async def answer(context: Context) -> None:
        await events(sent(0, "batch_planned"))(context)
        await context.abort(grpc.StatusCode.UNAVAILABLE, "odd")

    async with odd(answer) as server, Client(server.url) as client:
        planned = [type(event) async for event in client.run(replace(BATCH, validate_only=True))]
    assert (planned, server.asked) == ([BatchPlanned], ["execute"])
