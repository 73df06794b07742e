"""The normal form: names of the contract, without durations and times, and without what is empty."""

import re
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any

from toolbatch import (
    BatchEvent,
    BatchSummary,
    CallResult,
    DeadlineExceeded,
    Json,
    Options,
    Refused,
    Step,
    Unavailable,
    UsageRow,
)

_OPTIONS = ("mode", "max_concurrency", "serialize_on", "stop_on_error", "include_results", "in_doubt")
_STEP = ("args_json", "result_json", "result_bytes", "status", "attempts", "error")


def kind(event: BatchEvent) -> str:
    """Give the kind of an event: BatchStarted is batch_started."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(event).__name__).lower()


def event(value: BatchEvent) -> dict[str, Json]:
    """Give an event."""
    return {"kind": kind(value), **_members(value)}


def summary(value: BatchSummary) -> dict[str, Json]:
    """Give a summary."""
    return _members(value)


def step(value: Step) -> dict[str, Json]:
    """Give a step."""
    return {name: form(getattr(value, name)) for name in _STEP if form(getattr(value, name))}


def usage(row: UsageRow) -> dict[str, Json]:
    """Give a row of usage."""
    told = {name: form(getattr(row, name)) for name in ("tool", "unit", "quantity", "currency")}
    return {**told, "cost_nanos": str(row.cost_nanos)}


def error(raised: Exception) -> dict[str, Json]:
    """Give the end that an error of the library is."""
    match raised:
        case DeadlineExceeded():
            return {"deadline_exceeded": True}
        case Unavailable(message=message):
            return {"unavailable": {"message": message}}
        case Refused():
            violations = [_members(violation) for violation in raised.violations]
            told = {
                "status": raised.status,
                "reason": raised.reason,
                "message": raised.message,
                "violations": violations,
            }
            return {"refused": told}
        case _:
            raise raised


def form(value: Any) -> Json:
    """Give a member's form."""
    match value:
        case IntEnum():
            return "" if value == 0 else str(value)
        case Options():
            return {name: form(getattr(value, name)) for name in _OPTIONS if form(getattr(value, name))}
        case tuple():
            return [form(item) for item in value]
        case datetime() | timedelta():
            return None
        case float() if value.is_integer():
            return int(value)
        case _ if is_dataclass(value):
            return _members(value)
        case _:
            return value


def _members(value: Any) -> dict[str, Json]:
    given = {one.name: form(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, CallResult) and value.result_json:
        given["value"] = value.value
    return {name: member for name, member in given.items() if name == "value" or member or member == {}}
