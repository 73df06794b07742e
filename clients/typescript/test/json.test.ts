import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonInput, JsonNumber, type JsonObject, parseJson, rawJson, writeJson } from "toolbatch";

test("what is parsed is written again digit by digit, in its order", () => {
  for (const text of [
    "null",
    "-0",
    "1.10",
    "1E+2",
    "9007199254740993",
    "-123456789012345678901234567890",
    '"größer €😀 </script>"',
    '{"b":1,"a":{"10":1,"2":2},"1":3}',
    '[[],{},"",false]',
    '{"__proto__":{"x":1},"constructor":2}',
  ]) {
    assert.equal(writeJson(parseJson(text)), text);
  }
});

test("values are JavaScript's own where that loses nothing", () => {
  const value = parseJson('{"n":1,"big":9007199254740993,"price":1.10,"safe":9007199254740991}') as JsonObject;
  assert.deepEqual([value.n, value.big, value.safe], [1, 9_007_199_254_740_993n, 9_007_199_254_740_991]);
  const { price } = value;
  assert.ok(price instanceof JsonNumber);
  assert.deepEqual([price.text, price.value, Number(price) * 2, JSON.stringify({ price })], ["1.10", 1.1, 2.2, '{"price":1.1}']);
  assert.equal(Object.getPrototypeOf(parseJson('{"__proto__":null}')), Object.prototype);
});

test("members that are set later come after those that were parsed", () => {
  const value = parseJson('{"b":1,"7":2,"a":3}') as JsonObject;
  delete value.b;
  value.c = 4n;
  assert.equal(writeJson(value), '{"7":2,"a":3,"c":4}');
  assert.deepEqual({ ...value }, { 7: 2, a: 3, c: 4n });
});

test("what can be written", () => {
  const value = {
    date: new Date(0),
    gone: undefined,
    map: new Map<string, JsonInput>([
      ["b", 1],
      ["1", 2n],
    ]),
    raw: rawJson("[1.0]"),
    list: [1e21, 0.1],
  };
  const text = '{"date":"1970-01-01T00:00:00.000Z","map":{"b":1,"1":2},"raw":[1.0],"list":[1e+21,0.1]}';
  assert.equal(writeJson(value as unknown as JsonInput), text);
});

test("what cannot be written is named with its place", () => {
  const holdsItself: Record<string, unknown> = {};
  holdsItself.me = holdsItself;
  for (const [value, message] of [
    [{ a: [Number.NaN] }, /cannot write NaN as JSON at \$\.a\[0\]/],
    [{ f: () => 1 }, /cannot write function as JSON at \$\.f/],
    [[undefined], /cannot write undefined as JSON at \$\[0\]/],
    [new Map([[1, 2]]), /a Map with a key of type number/],
    [holdsItself, /holds itself/],
  ] as const) {
    assert.throws(() => writeJson(value as unknown as JsonInput), { name: "TypeError", message });
  }
});

test("text that is no JSON is an error that says where", () => {
  for (const [text, message] of [
    ["", /expected a JSON value at character 0.*found the end/],
    ["{", /expected a member's name in quotes/],
    ['{"a" 1}', /expected ":" at character 5/],
    ["[1 2]", /expected "," or "]" at character 3/],
    ["[1,]", /expected a JSON value at character 3/],
    ["01", /expected the end at character 1/],
    ['"a\u0001"', /control characters/],
    ['"\\x"', /unknown escapes/],
    ['"open', /expected a string that ends/],
    ["tru", /expected a JSON value/],
    ["[".repeat(1001), /more than 1000 levels/],
  ] as const) {
    assert.throws(() => parseJson(text), { name: "SyntaxError", message });
  }
  assert.throws(() => new JsonNumber("1."), SyntaxError);
});
