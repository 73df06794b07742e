import { namesInOrder } from "./order.js";
import { type JsonInput, JsonNumber, RawJson } from "./values.js";

/** How deep arrays and objects may stand in each other: more is a value that holds itself, or one that no JSON reader takes. */
const MAX_DEPTH = 1000;

/**
 * Writes a value as JSON text, without blanks: whole numbers of any size as their digits, text outside ASCII as it is, members in their
 * order. Where an object has a `toJSON` (a `Date`), what that gives is written.
 *
 * @throws TypeError for what JSON has no text for (a function, `NaN`, a value that holds itself), with the place where it stands.
 */
export function writeJson(value: JsonInput): string {
  return write(value, "$", 0);
}

function write(value: unknown, place: string, depth: number): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "boolean":
      return String(value);
    case "bigint":
      return value.toString();
    case "number":
      if (!Number.isFinite(value)) throw unwritable(place, String(value));
      return Object.is(value, -0) ? "-0" : String(value);
    case "object":
      return value === null ? "null" : writeObject(value, place, depth + 1);
    default:
      throw unwritable(place, typeof value);
  }
}

function writeObject(value: object, place: string, depth: number): string {
  if (depth > MAX_DEPTH) {
    throw new TypeError(`cannot write a value that is nested more than ${MAX_DEPTH} levels deep, or holds itself, as JSON`);
  }
  if (value instanceof RawJson || value instanceof JsonNumber) return value.text;
  if (Array.isArray(value)) {
    return `[${Array.from(value, (entry, index) => write(entry, `${place}[${index}]`, depth)).join(",")}]`;
  }
  if (value instanceof Map) return writeMembers(value, place, depth);
  if ("toJSON" in value && typeof value.toJSON === "function") return write(value.toJSON(), place, depth);
  return writeMembers(members(value as Record<string, unknown>), place, depth);
}

function* members(value: Record<string, unknown>): Iterable<[string, unknown]> {
  for (const name of namesInOrder(value)) yield [name, value[name]];
}

function writeMembers(entries: Iterable<[unknown, unknown]>, place: string, depth: number): string {
  const written: string[] = [];
  for (const [name, value] of entries) {
    if (typeof name !== "string") throw unwritable(place, `a Map with a key of type ${typeof name}`);
    if (value === undefined) continue;
    written.push(`${JSON.stringify(name)}:${write(value, `${place}.${name}`, depth)}`);
  }
  return `{${written.join(",")}}`;
}

function unwritable(place: string, found: string): TypeError {
  return new TypeError(
    `cannot write ${found} as JSON at ${place}: expected null, a boolean, a finite number, text, an array or an object`,
  );
}
