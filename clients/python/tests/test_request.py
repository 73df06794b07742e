from datetime import timedelta

import pytest

from toolbatch import Batch, BatchMode, Call, CallStatus, Client, Options, RawJson, RetryPolicy


def test_what_is_not_set_is_not_sent() -> None:
    request = Batch(task_id="T", calls=[Call("echo")]).to_proto()
    assert not request.HasField("options")
    request = Batch(task_id="T", calls=[Call("echo")], options=Options(mode=BatchMode.PARALLEL)).to_proto()
    assert not request.options.HasField("stop_on_error")
    assert not request.options.HasField("call_timeout")
    assert not request.options.HasField("retry")


def test_what_is_set_is_sent() -> None:
    retry = RetryPolicy(max_attempts=3, initial_backoff=0.25, backoff_multiplier=1.5)
    options = Options(stop_on_error=False, call_timeout=timedelta(seconds=2), retry=retry)
    request = Batch(task_id="T", calls_ref="${VAR_1}", options=options).to_proto()
    assert request.calls_ref == "${VAR_1}"
    assert request.options.HasField("stop_on_error")
    assert request.options.call_timeout.seconds == 2
    assert request.options.retry.initial_backoff.nanos == 250_000_000
    assert not request.options.retry.HasField("max_backoff")


def test_raw_text_goes_as_it_is() -> None:
    request = Batch(task_id="T", calls=[Call("echo", RawJson(' {"a": 1.10}'))]).to_proto()
    assert request.call_list.calls[0].args_json == ' {"a": 1.10}'


def test_an_id_is_made_once() -> None:
    batch = Batch(task_id="T", calls=[Call("echo")]).with_id()
    assert len(batch.batch_id) == 36
    assert batch.with_id() is batch


def test_wrong_values_are_named() -> None:
    with pytest.raises(TypeError, match="wrap JSON text as RawJson"):
        Call("echo", '{"a":1}')  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not both"):
        Batch(task_id="T", calls=[], calls_ref="${A}")
    with pytest.raises(ValueError, match=r"Options\.max_concurrency"):
        Batch(task_id="T", calls=[], options=Options(max_concurrency=-1)).to_proto()
    with pytest.raises(ValueError, match=r"Options\.call_timeout: expected"):
        Batch(task_id="T", calls=[], options=Options(call_timeout=float("inf"))).to_proto()
    with pytest.raises(TypeError, match=r"Batch\.task_id"):
        Batch(task_id=7, calls=[]).to_proto()  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"args of calls\[0\] \(echo\): text with a lone surrogate"):
        Batch(task_id="T", calls=[Call("echo", RawJson('{"a":"\ud800"}'))]).to_proto()


def test_unknown_enum_values_are_kept() -> None:
    status = CallStatus(77)
    assert (status.value, status.name, str(status), status.is_known) == (77, "UNKNOWN", "unknown", False)
    assert str(CallStatus.NOT_RUN) == f"{CallStatus.NOT_RUN}" == "not_run"


@pytest.mark.parametrize(
    "server",
    ["127.0.0.1:50051", "http://h", "ftp://h:1", "http://h:x", "http://h:99999", "http://h:1/p", "unix:rel", "http://"],
)
def test_an_address_that_is_none_is_refused(server: str) -> None:
    with pytest.raises(ValueError, match="is no address"):
        Client(server)


def test_arguments_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="without TLS"):
        Client("http://127.0.0.1:1", ca="ca.pem")
    with pytest.raises(ValueError, match="both cert and key"):
        Client("https://127.0.0.1:1", cert="c.pem")
    with pytest.raises(ValueError, match="the token has") as raised:
        Client("http://127.0.0.1:1", "secret\n")
    assert "secret" not in str(raised.value)
    with pytest.raises(FileNotFoundError):
        Client("https://127.0.0.1:1", ca="/nowhere/ca.pem")
