"""What the APIs have in common."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from toolbatch._client import Client
from toolbatch._json import Json, RawJson
from toolbatch._records import Awaiting, Completed, Failed, ToolDefinition


async def listed(client: Client, names: Collection[str] | None) -> list[ToolDefinition]:
    """Give the agent's tools, or those of the given names."""
    return [tool async for tool in client.tools() if names is None or tool.name in names]


def schema(tool: ToolDefinition) -> dict[str, Any]:
    """Give a tool's JSON Schema as any JSON library writes it."""
    parsed: dict[str, Any] = json.loads(tool.input_schema_json or '{"type":"object"}')
    return parsed


def member(value: object, name: str) -> Any:
    """Read a member of a model's block, which is a mapping or an object of an SDK. ValueError where there is none."""
    found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    if found is None:
        raise ValueError(f"the tool call {value!r} has no {name!r}")
    return found


async def answer(
    client: Client, task_id: str, call_id: str, name: str, args: Mapping[str, Json] | RawJson, timeout: float | None
) -> tuple[str, bool]:
    """Run a model's call under its id; gives the text for the model, and whether it is an error."""
    call = await client.call_tool(task_id, name, args, key=call_id, timeout=timeout)
    match call.outcome:
        case Completed(result_omitted=True):
            return str(await client.step_result(call.step_id, timeout=timeout)), False
        case Completed(result_json):
            return result_json or "null", False
        case Failed(message):
            return message, True
        case Awaiting(await_id):
            return f"waits for review {await_id}", False
