export { parseJson } from "./parse.js";
export { type JsonInput, JsonNumber, type JsonObject, type JsonValue, RawJson, rawJson } from "./values.js";
export { writeJson } from "./write.js";
