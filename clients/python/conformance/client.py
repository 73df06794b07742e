"""Does what the conformance suite asks of a client, one request a line."""

import asyncio
import sys
from typing import Any

import normal

from toolbatch import (
    Batch,
    BatchFinished,
    BatchMode,
    BatchPlanned,
    Call,
    Client,
    EventStream,
    InDoubtPolicy,
    Json,
    Options,
    RawJson,
    RetryPolicy,
    ToolbatchError,
    dumps,
    loads,
)
from toolbatch.llm import anthropic, openai

_PLAIN_OPTIONS = ("max_concurrency", "serialize_on", "stop_on_error", "include_results")
_ENUM_OPTIONS = (("mode", BatchMode), ("in_doubt", InDoubtPolicy))
_FORMATS = {"anthropic": anthropic, "openai": openai}


async def main() -> None:
    """Do one request after another until the input ends."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        request = loads(line)
        async with client_of(request) as client:
            try:
                end = await do(client, request)
            except ToolbatchError as error:
                end = normal.error(error)
        write({"end": end})


def client_of(request: dict[str, Any]) -> Client:
    """Connect as a request says."""
    give_up_after = request["give_up_after_ms"] / 1000 if "give_up_after_ms" in request else 60.0
    return Client(request["server"], request.get("token"), ca=request.get("ca"), give_up_after=give_up_after)


async def do(client: Client, request: dict[str, Any]) -> dict[str, Json]:
    """Do a request and give its end."""
    timeout = request["deadline_ms"] / 1000 if "deadline_ms" in request else None
    match request["do"]:
        case "run":
            return await follow(client.run(batch_of(request["batch"]), timeout=timeout), request.get("stop"))
        case "watch":
            after = request.get("after_sequence", 0)
            stream = client.watch(request["batch_id"], after_sequence=after, timeout=timeout)
            return await follow(stream, request.get("stop")) or {"over": True}
        case "result":
            return {"finished": normal.summary(await client.result(batch_of(request["batch"]), timeout=timeout))}
        case "step_result":
            return {"raw": str(await client.step_result(request["step_id"], timeout=timeout))}
        case _:
            return {"value": await value(client, request, timeout)}


async def value(client: Client, request: dict[str, Any], timeout: float | None) -> Json:
    """Do a request that gives a value."""
    match request["do"]:
        case "cancel_batch":
            abort = request.get("abort_running", False)
            state = await client.cancel_batch(request["batch_id"], abort_running=abort, timeout=timeout)
            return normal.summary(state.summary)
        case "set_variable":
            stored = RawJson(request["value_json"])
            return await client.set_variable(request["task_id"], stored, name=request.get("name", ""), timeout=timeout)
        case "step":
            return normal.step(await client.get_step(request["step_id"], timeout=timeout))
        case "usage":
            return [normal.usage(row) async for row in client.usage(request["task_id"], timeout=timeout)]
        case "definitions":
            return await _FORMATS[request["format"]].definitions(client)
        case "tool_call":
            return await _FORMATS[request["format"]].tool_call(
                client, request["task_id"], request["call"], timeout=timeout
            )
        case other:
            raise ValueError(f"no such request: {other}")


async def follow(stream: EventStream, stop: dict[str, Any] | None) -> dict[str, Json]:
    """Show a stream's events until it ends, or until the request wants it to."""
    task = asyncio.current_task()
    end: dict[str, Json] = {}
    try:
        async for event in stream:
            shown = normal.event(event)
            write({"event": shown})
            if stop is not None and contains(shown, stop["after"]):
                if stop["how"] == "leave":
                    await stream.aclose()
                    return {"left": True}
                stop = None
                if task is not None:
                    task.cancel()
            match event:
                case BatchFinished(summary=summary):
                    end = {"finished": normal.summary(summary)}
                case BatchPlanned():
                    end = {"planned": True}
    except asyncio.CancelledError:
        if task is not None:
            task.uncancel()
        return {"cancelled": True}
    return end


def contains(shown: Json, wanted: Json) -> bool:
    """Tell whether all members of what is wanted are there; absent equals empty."""
    if isinstance(wanted, dict):
        return all(
            contains(shown.get(name) if isinstance(shown, dict) else None, member) for name, member in wanted.items()
        )
    return bool(shown == wanted or (not shown and not wanted))


def batch_of(asked: dict[str, Any]) -> Batch:
    """Give the batch that a request asks for, and set nothing that it leaves out."""
    given: dict[str, Any] = {name: asked[name] for name in _PLAIN_OPTIONS if name in asked}
    given |= {name: kind[asked[name].upper()] for name, kind in _ENUM_OPTIONS if name in asked}
    if "call_timeout_ms" in asked:
        given["call_timeout"] = asked["call_timeout_ms"] / 1000
    if "retry" in asked:
        given["retry"] = retry_of(asked["retry"])
    return Batch(
        task_id=asked.get("task_id", ""),
        batch_id=asked.get("batch_id", ""),
        agent_id=asked.get("agent_id", ""),
        calls=[call_of(call) for call in asked["calls"]] if "calls" in asked else None,
        calls_ref=asked.get("calls_ref"),
        options=Options(**given) if given else None,
        validate_only=asked.get("validate_only", False),
    )


def retry_of(asked: dict[str, Any]) -> RetryPolicy:
    """Give the retry policy that a request asks for."""
    given: dict[str, Any] = {name: asked[name] for name in ("max_attempts",) if name in asked}
    given |= {name: asked[f"{name}_ms"] / 1000 for name in ("initial_backoff", "max_backoff") if f"{name}_ms" in asked}
    if "backoff_multiplier" in asked:
        given["backoff_multiplier"] = float(asked["backoff_multiplier"])
    return RetryPolicy(**given)


def call_of(asked: dict[str, Any]) -> Call:
    """Give a call, with args as text or as a native value."""
    args = RawJson(asked["args_json"]) if "args_json" in asked else asked.get("args", {})
    return Call(asked.get("tool", ""), args, asked.get("key", ""))


def write(line: dict[str, Json]) -> None:
    """Write one line at once."""
    sys.stdout.write(dumps(line) + "\n")
    sys.stdout.flush()
