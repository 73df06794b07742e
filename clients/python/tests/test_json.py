import copy
import pickle
from decimal import Decimal
from typing import Any

import pytest

from toolbatch import JsonNumber, RawJson, dumps, loads

DIGITS = '{"z":1,"a":12345678901234567890123,"b":9007199254740993,"c":117.63331139400017,"d":1e400,"e":1.10,"f":-0}'


def test_every_digit_and_every_place_stays() -> None:
    assert dumps(loads(DIGITS)) == DIGITS


@pytest.mark.parametrize(
    "text", ["1" * 5000, "-" + "9" * 4301, "1E-7", "0.0", "-0.0", "1e+2", '"\\ud800"', '"\u2028ä😀"', "[]", "{}"]
)
def test_what_is_read_is_written_the_same(text: str) -> None:
    assert dumps(loads(text)) == text


def test_numbers_calculate() -> None:
    value = loads('{"price": 1.10, "count": 3}')
    assert value["price"] * value["count"] == Decimal("3.30")
    assert isinstance(value["count"], int)
    assert copy.deepcopy(value["price"]).text == "1.10"
    assert pickle.loads(pickle.dumps(value["price"])).text == "1.10"  # noqa: S301


def test_writing_is_compact_and_escapes_only_what_it_must() -> None:
    value: Any = {"ä": ['"\\\n', 1.5, 10**30, Decimal("2.50"), True, None, (1, 2)], "raw": RawJson('{ "kept":1.0 }')}
    assert (
        dumps(value)
        == '{"ä":["\\"\\\\\\n",1.5,1000000000000000000000000000000,2.50,true,null,[1,2]],"raw":{ "kept":1.0 }}'
    )
    assert dumps(10**5000) == "1" + "0" * 5000


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN"), {"a": [Decimal("-Infinity")]}])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="no JSON number"):
        dumps(value)


def test_what_json_has_no_form_for_is_named() -> None:
    with pytest.raises(TypeError, match=r"\$\.a\[1\] is a set"):
        dumps({"a": [1, set()]})
    with pytest.raises(TypeError, match="key 1, a int"):
        dumps({1: 2})


def test_nesting_that_is_too_deep_is_an_error_and_no_crash() -> None:
    with pytest.raises(ValueError, match="too deep"):
        loads("[" * 200_000 + "]" * 200_000)
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="holds itself"):
        dumps(circle)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "{", "", "1 2"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        loads(text)


def test_a_number_past_every_bound_is_an_error() -> None:
    with pytest.raises(ValueError, match="raw text"):
        loads("1e" + "9" * 30)
    assert JsonNumber("1.10") == Decimal("1.1")
