/**
 * A JSON value as this package reads and writes it: JavaScript's own values where they lose nothing, `bigint` for whole numbers
 * beyond 2^53, and {@link JsonNumber} for other numbers whose text a `number` would change (`1.10`, `1e400`).
 *
 * A JavaScript object puts members whose names are whole numbers (`"7"`) first. An object that was parsed remembers the order in
 * which its members came, and is written in that order; for a new object in which it matters, use a `Map`.
 */
export type JsonValue = null | boolean | number | bigint | string | JsonNumber | readonly JsonValue[] | JsonObject;

/** A JSON object: what {@link JsonValue} has for one. */
export interface JsonObject {
  [name: string]: JsonValue;
}

/**
 * What can be written as JSON: a {@link JsonValue}, a `Map` with names in an order of their own, or {@link RawJson} at any place.
 * Members that are `undefined` are left out. `NaN` and infinite numbers are refused.
 */
export type JsonInput =
  | null
  | boolean
  | number
  | bigint
  | string
  | JsonNumber
  | RawJson
  | readonly JsonInput[]
  | ReadonlyMap<string, JsonInput>
  | { readonly [name: string]: JsonInput | undefined };

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

/**
 * A number with the text that it came as, for those that a `number` would write differently, such as `1.10`.
 *
 * It counts as a number in arithmetic and comparisons (`price * 2`, `price < 3`), and `JSON.stringify` writes it as one; only
 * `typeof` tells. {@link value} is the nearest `number`.
 */
export class JsonNumber {
  /** The JSON text of the number. */
  readonly text: string;

  /** @throws SyntaxError where the text is no JSON number. */
  constructor(text: string) {
    if (!NUMBER.test(text)) throw new SyntaxError(`expected a JSON number such as "1.10", found ${JSON.stringify(text)}`);
    this.text = text;
  }

  /** The nearest `number`; infinite where none is near. */
  get value(): number {
    return Number(this.text);
  }

  valueOf(): number {
    return this.value;
  }

  toString(): string {
    return this.text;
  }

  toJSON(): number {
    return this.value;
  }
}

/** JSON text that goes out as it is, byte for byte: as a tool's result, or as a part of a value. See {@link rawJson}. */
export class RawJson {
  /** The JSON text. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Says that a text is JSON already. It is not checked here; toolbatch refuses what is no JSON. */
export function rawJson(text: string): RawJson {
  return new RawJson(text);
}
