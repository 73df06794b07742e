import type { JsonObject, JsonValue } from "toolbatch";

/** Whether an event has all members that are wanted, inner objects alike. What is absent equals what is empty, 0 or false. */
export function contains(found: JsonValue | undefined, wanted: JsonValue): boolean {
  if (isObject(wanted)) {
    return Object.entries(wanted).every(([name, value]) => contains(isObject(found) ? found[name] : undefined, value));
  }
  return found === wanted || (isEmpty(found) && isEmpty(wanted));
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function isEmpty(value: JsonValue | undefined): boolean {
  return !value || (Array.isArray(value) && value.length === 0);
}
