"""JSON text and native values, without a digit lost on the way."""

import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring
from typing import Any, Self, TypeAlias

Json: TypeAlias = Any
"""A JSON value: dict with str keys, list, tuple, str, int, float, Decimal, bool, None, or `RawJson` for a part that is text already."""

_INT_DIGITS = 4300  # Python turns longer texts into an int only in quadratic time, and refuses them by default


class RawJson(str):
    """JSON text that goes out as it is, byte for byte, where a plain `str` would become a JSON string."""

    __slots__ = ()


class JsonNumber(Decimal):
    """A number that is no int, as it stood in the text: 1.10 stays 1.10, and 1e400 stays 1e400.

    It is a Decimal, so it compares and calculates exactly; `float(number)` gives the nearest float.
    """

    text: str
    """The number as it was written."""

    def __new__(cls, text: str) -> Self:
        """Keep `text`, a JSON number; ValueError where it is past what a Decimal holds (exponents of 18 digits)."""
        try:
            number = super().__new__(cls, text)
        except InvalidOperation:
            raise ValueError(
                f"the number {text[:40]} is out of range for a Decimal; read the raw text instead"
            ) from None
        number.text = text
        return number

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self.text,)


def loads(text: str | bytes) -> Json:
    """Parse JSON text: whole numbers become int, all others `JsonNumber`, a Decimal that keeps its text.

    `-0` and whole numbers of more than 4,300 digits are `JsonNumber`, too, as an int would lose the first and be slow to make
    of the second. ValueError where the text is no JSON (NaN and Infinity are none) or is nested deeper than Python can follow.
    """
    try:
        return json.loads(text, parse_int=_whole, parse_float=JsonNumber, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError(
            "the JSON text is nested too deep to be made a native value; read the raw text instead"
        ) from None


def dumps(value: Json) -> RawJson:
    """Write a value as JSON text: compact, members in their order, nothing escaped that needs not be, numbers exact.

    TypeError for what JSON has no form for, ValueError for NaN, infinities and values that hold themselves; both name the place.
    """
    if isinstance(value, RawJson):
        return value
    pieces: list[str] = []
    try:
        _write(value, pieces.append, "$")
    except RecursionError:
        raise ValueError("the value is nested too deep for JSON text, or holds itself") from None
    return RawJson("".join(pieces))


def text_of(value: Json, what: str) -> str:
    """Give the JSON text of a value whose errors are to name `what`, such as "args of echo"."""
    try:
        text = dumps(value)
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{what}: text with a lone surrogate at character {error.start} cannot be sent as UTF-8"
        ) from None
    except TypeError as error:
        raise TypeError(f"{what}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    return str(text)


def _whole(text: str) -> int | JsonNumber:
    return JsonNumber(text) if text == "-0" or len(text) > _INT_DIGITS else int(text)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _write(value: object, put: Callable[[str], object], path: str) -> None:
    if value is None or value is True or value is False:
        put("null" if value is None else "true" if value else "false")
    elif isinstance(value, RawJson):
        put(value)
    elif isinstance(value, str):
        put(_string(value))
    elif isinstance(value, int):
        put(_digits(value))
    elif isinstance(value, JsonNumber):
        put(value.text)
    elif isinstance(value, float | Decimal):
        put(_fraction(value, path))
    elif isinstance(value, Mapping):
        _write_members(value, put, path)
    elif isinstance(value, list | tuple):
        put("[")
        for index, item in enumerate(value):
            if index:
                put(",")
            _write(item, put, f"{path}[{index}]")
        put("]")
    else:
        raise TypeError(
            f"{path} is a {type(value).__name__}, which JSON has no form for; use dict, list, str, int, float, Decimal, bool or None"
        )


def _write_members(value: Mapping[object, object], put: Callable[[str], object], path: str) -> None:
    put("{")
    for index, (name, item) in enumerate(value.items()):
        if not isinstance(name, str):
            raise TypeError(f"{path} has the key {name!r}, a {type(name).__name__}; JSON's member names are str")
        put("," if index else "")
        put(_string(name))
        put(":")
        _write(item, put, f"{path}.{name}")
    put("}")


def _string(value: str) -> str:
    quoted = encode_basestring(value)
    try:
        quoted.encode()
    except UnicodeEncodeError:
        return "".join(f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in quoted)
    return quoted


def _digits(value: int) -> str:
    if value.bit_length() > 3 * _INT_DIGITS:
        return str(Decimal(value))
    return int.__repr__(value)


def _fraction(value: float | Decimal, path: str) -> str:
    if not math.isfinite(value):
        raise ValueError(f"{path} is {value}, which is no JSON number")
    return float.__repr__(value) if isinstance(value, float) else str(value)
