"""The tools that the conformance suite calls."""

import asyncio
from pathlib import Path
from typing import Any

from toolbatch import Await, Backend, Context, Landed, NotLanded, RawJson, ToolFailure

backend = Backend()
noted: dict[str, str] = {}
ANY = {"type": "object"}


def members(required: list[str], **properties: str) -> dict[str, Any]:
    """Give the schema of an object with members of simple types."""
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": required,
    }


async def gate(path: str) -> None:
    """Show that a call waits at a gate, then wait until it is open."""
    Path(f"{path}.held").touch()
    while not Path(path).exists():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


@backend.tool("echo", "Gives its args back as they are", input_schema=ANY)
async def echo(args: RawJson) -> RawJson:
    return args


@backend.tool("native", "Gives its args back through native values", input_schema=ANY)
async def native(args: dict[str, Any]) -> dict[str, Any]:
    return args


@backend.tool(
    "post_order",
    "Posts an order",
    input_schema={
        "type": "object",
        "properties": {"contract": {"type": "string"}, "quantity": {"type": "integer", "minimum": 1}},
        "required": ["contract"],
        "additionalProperties": False,
    },
)
async def post_order(args: dict[str, Any]) -> dict[str, Any]:
    return {"posted": args["contract"], "quantity": args.get("quantity", 1)}


@backend.tool(
    "fail",
    "Fails as it is told",
    input_schema=members(["message"], message="string", code="string", retryable="boolean", times="integer"),
)
async def fail(args: dict[str, Any], context: Context) -> dict[str, Any]:
    if "times" not in args or context.attempt <= args["times"]:
        raise ToolFailure(args["message"], code=args.get("code", ""), retryable=args.get("retryable", False))
    return {"attempt": context.attempt}


@backend.tool("crash", "Fails without saying how", input_schema=ANY)
async def crash(args: dict[str, Any]) -> None:
    raise RuntimeError(f"crashed with {args}")


@backend.tool("review", "Waits for a review", input_schema=members([], await_id="string"))
async def review(args: dict[str, Any]) -> Await:
    return Await(args.get("await_id", ""), {"draft": True})


@backend.tool("count", "Counts", input_schema=members([], to="integer"), reports_progress=True)
async def count(args: dict[str, Any], context: Context) -> dict[str, Any]:
    to = args.get("to", 0)
    for number in range(1, to + 1):
        context.progress(number, to, f"{number} of {to}")
    return {"counted": to}


@backend.tool("meter", "Reports usage", input_schema=members([], unit="string", quantity="number"))
async def meter(args: dict[str, Any], context: Context) -> None:
    context.usage(args["unit"], float(args["quantity"]))


@backend.tool("large", "Gives a large result", input_schema=members([], bytes="integer"))
async def large(args: dict[str, Any]) -> str:
    return "x" * int(args.get("bytes", 0))


@backend.tool("context", "Tells of its context", input_schema=ANY)
async def context_of(_args: dict[str, Any], context: Context) -> dict[str, Any]:
    return {
        "task_id": context.task_id,
        "agent_id": context.agent_id,
        "key": context.key,
        "batch_id": context.batch_id,
        "step_id": context.step_id,
        "index": context.index,
        "attempt": context.attempt,
        "idempotency_key": context.idempotency_key,
        "in_doubt": context.in_doubt,
    }


@backend.tool("hold", "Waits at a gate", input_schema=members([], gate="string"))
async def hold(args: dict[str, Any], context: Context) -> dict[str, Any]:
    await gate(args["gate"])
    return {"attempt": context.attempt, "in_doubt": context.in_doubt}


@backend.tool("ledger", "Notes an entry", input_schema=members(["entry"], entry="string", gate="string"))
async def ledger(args: dict[str, Any], context: Context) -> dict[str, Any]:
    noted[context.idempotency_key] = args["entry"]
    if "gate" in args:
        await gate(args["gate"])
    return {"entry": args["entry"]}


@ledger.lookup
async def ledger_lookup(_args: dict[str, Any], context: Context) -> Landed | NotLanded:
    entry = noted.get(context.idempotency_key)
    return NotLanded() if entry is None else Landed({"entry": entry, "looked_up": True})


@backend.tool("wait", "Waits at a gate, and no batch may call it", input_schema=members([], gate="string"), pauses=True)
async def wait(args: dict[str, Any], context: Context) -> dict[str, Any]:
    return await hold(args, context)


async def main(address: str) -> None:
    """Serve until SIGTERM."""
    await backend.serve(address, on_listening=lambda _: print("listening", flush=True))
