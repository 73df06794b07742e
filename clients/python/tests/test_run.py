import hashlib
from pathlib import Path
from typing import Any

import pytest
from tools import held

from toolbatch import (
    Batch,
    BatchFinished,
    BatchMode,
    BatchPlanned,
    BatchStarted,
    BatchStatus,
    Call,
    CallErrorReason,
    CallFinished,
    CallProgress,
    CallStarted,
    CallStatus,
    Client,
    Options,
    RawJson,
    Refused,
    StopReason,
)

DIGITS = '{"z":1,"a":12345678901234567890123,"b":9007199254740993,"c":117.63331139400017,"d":1e400,"e":1.10,"f":-0}'
FAIL = Call("fail", {"message": "no", "code": "NO"})


async def test_a_batch_is_a_stream_of_events(client: Client) -> None:
    seen: list[str] = []
    async for event in client.run(Batch(task_id="T", calls=[Call("count", {"to": 2}), FAIL])):
        match event:
            case BatchStarted(total=total, options=options):
                seen.append(f"started {total} {options.mode}")
                assert options.stop_on_error
            case CallStarted(index=index, attempt=attempt):
                seen.append(f"call {index} attempt {attempt}")
            case CallProgress(message=message):
                seen.append(message)
            case CallFinished(result=result) if result.error is None:
                seen.append(f"{result.status} {result.value}")
            case CallFinished(result=result):
                assert result.error is not None
                seen.append(f"{result.error.reason} {result.error.code}")
            case BatchFinished(summary=summary):
                seen.append(f"{summary.status}")
                assert event.time is not None
    counted = ["call 0 attempt 1", "1 of 2", "2 of 2", "completed {'counted': 2}"]
    assert seen == ["started 2 sequential", *counted, "call 1 attempt 1", "tool_failed NO", "partial"]


async def test_digits_stay_as_text_and_as_values(client: Client) -> None:
    calls = [Call("echo", RawJson(DIGITS)), Call("native", RawJson(DIGITS))]
    summary = await client.result(Batch(task_id="T", calls=calls))
    assert [result.result_json for result in summary.results] == [DIGITS, DIGITS]
    step = await client.get_step(summary.results[0].step_id)
    assert (step.args_json, step.result_json) == (DIGITS, DIGITS)
    assert await client.step_result(step.step_id) == DIGITS
    assert step.value["b"] == 9007199254740993


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (None, CallStatus.NOT_RUN),
        (Options(mode=BatchMode.SEQUENTIAL), CallStatus.NOT_RUN),
        (Options(stop_on_error=False), CallStatus.COMPLETED),
    ],
)
async def test_defaults_are_the_servers(client: Client, options: Options | None, status: CallStatus) -> None:
    summary = await client.result(Batch(task_id="T", calls=[FAIL, Call("echo")], options=options))
    assert summary.results[1].status is status
    stopped = status is CallStatus.NOT_RUN
    assert summary.stop_reason is (StopReason.CALL_FAILED if stopped else StopReason.UNSPECIFIED)
    assert summary.status is (BatchStatus.FAILED if stopped else BatchStatus.PARTIAL)


async def test_results_can_be_left_out(client: Client) -> None:
    summary = await client.result(Batch(task_id="T", calls=[Call("echo")], options=Options(include_results=False)))
    assert summary.results[0].result_omitted
    with pytest.raises(ValueError, match="read from its step"):
        _ = summary.results[0].value


async def test_a_plan_runs_nothing(client: Client) -> None:
    batch = Batch(task_id="T", calls=[Call("echo"), Call("wait")], validate_only=True)
    events = [event async for event in client.run(batch)]
    assert [type(event) for event in events] == [BatchPlanned]
    plan = await client.plan(batch)
    assert plan.calls[1].error is not None
    assert plan.calls[1].error.reason is CallErrorReason.TOOL_NOT_BATCHABLE
    with pytest.raises(ValueError, match="plan"):
        await client.result(batch)


async def test_a_refusal_names_every_violation(client: Client) -> None:
    with pytest.raises(Refused) as raised:
        await client.result(Batch(task_id="", calls=[Call("")]))
    error = raised.value
    assert (error.status, error.reason) == ("INVALID_ARGUMENT", "INVALID_REQUEST")
    assert [one.field for one in error.violations] == ["task_id", "call_list.calls[0].tool"]
    assert "call_list.calls[0].tool" in str(error)
    with pytest.raises(Refused) as raised:
        await client.get_batch("nothing")
    assert raised.value.status == "NOT_FOUND"


async def test_an_id_with_other_content_is_refused(client: Client) -> None:
    await client.result(Batch(task_id="T", batch_id="b", calls=[Call("echo")]))
    await client.result(Batch(task_id="T", batch_id="b", calls=[Call("echo")]))
    with pytest.raises(Refused, match="ALREADY_EXISTS"):
        await client.result(Batch(task_id="T", batch_id="b", calls=[Call("native")]))


async def test_a_list_from_a_variable(client: Client) -> None:
    name = await client.set_variable("T", {"calls": [{"tool": "echo", "args": {"n": 1}, "key": "k"}]})
    summary = await client.result(Batch(task_id="T", calls_ref=f"${{{name}}}.calls"))
    assert summary.results[0].value == {"n": 1}
    again = await client.result(Batch(task_id="T", calls=[Call("echo", {"n": 1}, "k")]))
    assert again.results[0].status is CallStatus.SKIPPED


async def test_watching_goes_on_from_any_event(client: Client) -> None:
    events = [event async for event in client.run(Batch(task_id="T", batch_id="b", calls=[Call("echo")]))]
    assert [event async for event in client.watch("b", after_sequence=2)] == events[2:]
    assert [event async for event in client.watch("b", after_sequence=events[-1].sequence)] == []
    with pytest.raises(Refused, match="OUT_OF_RANGE"):
        await anext(client.watch("b", after_sequence=events[-1].sequence + 1))
    state = await client.get_batch("b")
    assert (state.last_sequence, state.summary.status) == (events[-1].sequence, BatchStatus.COMPLETED)


async def test_usage_is_exact_and_from_all_pages(client: Client) -> None:
    calls = [Call("meter", {"unit": "tokens", "quantity": 9007199254740994})] + [Call("echo")] * 199
    await client.result(Batch(task_id="T", calls=calls, options=Options(mode=BatchMode.PARALLEL, max_concurrency=16)))
    await client.result(Batch(task_id="T", calls=[Call("echo")] * 200, options=Options(mode=BatchMode.PARALLEL)))
    rows = [row async for row in client.usage("T")]
    assert len(rows) == 400
    metered = [(row.quantity, row.cost_nanos, row.currency) for row in rows if row.tool == "meter"]
    assert metered == [(9007199254740994.0, 9007199254740994, "USD")]
    assert len([step async for step in client.steps("T")]) == 400


async def test_what_is_not_ascii_and_the_order_of_members_stay(client: Client) -> None:
    args: dict[str, Any] = {"z": "Größe 数量 😀 \u2028", "ä": {"b": [], "a": {}}, "": None}
    text = '{"z":"Größe 数量 😀 \u2028","ä":{"b":[],"a":{}},"":null}'
    batch = Batch(task_id="Tärn", calls=[Call("echo", args, "schlüssel"), Call("native", args), Call("echo")])
    summary = await client.result(batch)
    assert [result.result_json for result in summary.results] == [text, text, "{}"]
    assert summary.results[0].value == args
    assert (await client.get_step(summary.results[0].step_id)).key == "schlüssel"


async def test_large_results_and_large_batches(client: Client) -> None:
    text = "x" * 60_000
    summary = await client.result(Batch(task_id="T", calls=[Call("echo", {"text": text})] * 200))
    assert summary.succeeded == 200
    summary = await client.result(Batch(task_id="T", calls=[Call("large", {"bytes": 20_000_000})]))
    result = summary.results[0]
    assert result.result_omitted
    whole = await client.step_result(result.step_id)
    expected = hashlib.sha256(b'"' + b"x" * 20_000_000 + b'"').hexdigest()
    assert hashlib.sha256(whole.encode()).hexdigest() == expected
    assert (await client.get_step(result.step_id)).result_bytes == 20_000_002


async def test_cancelling_a_batch(client: Client, gate: Path) -> None:
    stream = client.run(Batch(task_id="T", calls=[Call("hold", {"gate": str(gate)}), Call("echo")]))
    async with stream:
        async for event in stream:
            if isinstance(event, CallStarted):
                break
        await held(Path(f"{gate}.held"))
        state = await client.cancel_batch(stream.batch_id, abort_running=True)
        assert state.batch_id == stream.batch_id
        events = [event async for event in stream]
    assert isinstance(events[-1], BatchFinished)
    assert events[-1].summary.stop_reason is StopReason.CANCELLED
    error = events[-1].summary.results[0].error
    assert error is not None
    assert error.outcome_unknown


async def test_an_ended_task_takes_no_batch(client: Client) -> None:
    await client.result(Batch(task_id="T", calls=[Call("echo")]))
    await client.end_task("T", reason="done")
    with pytest.raises(Refused, match="FAILED_PRECONDITION"):
        await client.result(Batch(task_id="T", calls=[Call("echo")]))
