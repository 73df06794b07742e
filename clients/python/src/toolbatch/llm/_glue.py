"""What the APIs have in common."""

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from toolbatch._client import Client
from toolbatch._json import Json, RawJson
from toolbatch._records import Awaiting, Completed, Failed, ToolDefinition

_OF_ANY_OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


async def listed(
    client: Client, names: Collection[str] | None, longest: int, timeout: float | None
) -> list[ToolDefinition]:
    """Give the agent's tools, or those of the given names. ValueError where the API does not take a name."""
    tools = [tool async for tool in client.tools(timeout=timeout) if names is None or tool.name in names]
    if misfits := [tool.name for tool in tools if not re.fullmatch(f"[A-Za-z0-9_-]{{1,{longest}}}", tool.name)]:
        raise ValueError(
            f"the API takes names of 1 to {longest} letters, digits, _ and -, which {', '.join(map(repr, misfits))} are not: "
            "give these tools display names that fit, in the agent's list, or leave them out by names="
        )
    return tools


def schema(tool: ToolDefinition) -> dict[str, Any]:
    """Give a tool's JSON Schema, in values that any JSON library writes, with the type and properties that the APIs want to see."""
    parsed = json.loads(tool.input_schema_json or "{}")
    members: dict[str, Any] = parsed if isinstance(parsed, dict) else {}
    return {**members, **{name: value for name, value in _OF_ANY_OBJECT.items() if name not in members}}


def member(value: object, name: str) -> Any:
    """Read a member of a model's call, which is a mapping or an object of an SDK. ValueError where there is none."""
    found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    if found is None:
        raise ValueError(f"the tool call {value!r} has no {name!r}")
    return found


def text(value: object, name: str) -> str:
    """Read a member that is a text with something in it. ValueError where it is none."""
    found = member(value, name)
    if not isinstance(found, str) or not found:
        raise ValueError(f"the tool call {value!r} has the {name!r} {found!r}: expected a text that is not empty")
    return found


def expect_type(value: object, wanted: str) -> None:
    """Check the type that a model's call names. ValueError where it is another."""
    found = value.get("type", wanted) if isinstance(value, Mapping) else getattr(value, "type", wanted)
    if found != wanted:
        raise ValueError(f"the tool call {value!r} is of type {found!r}: expected {wanted!r}")


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
