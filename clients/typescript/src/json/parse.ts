import { rememberOrder } from "./order.js";
import { JsonNumber, type JsonObject, type JsonValue } from "./values.js";

/** How deep arrays and objects may stand in each other. */
const MAX_DEPTH = 1000;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const BLANKS = /[ \t\n\r]*/y;
const WORDS = [
  ["true", true],
  ["false", false],
  ["null", null],
] as const;

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): JsonValue {
    const value = this.#value(0);
    if (this.#at < this.#text.length) throw this.#unexpected("the end");
    return value;
  }

  #value(depth: number): JsonValue {
    this.#blanks();
    const value = this.#bare(depth);
    this.#blanks();
    return value;
  }

  #bare(depth: number): JsonValue {
    switch (this.#text[this.#at]) {
      case "{":
        return this.#object(depth + 1);
      case "[":
        return this.#array(depth + 1);
      case '"':
        return this.#string();
    }
    for (const [word, value] of WORDS) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    return this.#number();
  }

  #object(depth: number): JsonObject {
    const object: JsonObject = {};
    const names: string[] = [];
    this.#open(depth);
    while (!this.#closes("}", names.length > 0)) {
      this.#blanks();
      if (this.#text[this.#at] !== '"') throw this.#unexpected("a member's name in quotes");
      const name = this.#string();
      this.#blanks();
      if (this.#text[this.#at] !== ":") throw this.#unexpected('":"');
      this.#at += 1;
      const value = this.#value(depth);
      // An assignment to "__proto__" would change the object's prototype.
      Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
      names.push(name);
    }
    rememberOrder(object, names);
    return object;
  }

  #array(depth: number): JsonValue[] {
    const array: JsonValue[] = [];
    this.#open(depth);
    while (!this.#closes("]", array.length > 0)) array.push(this.#value(depth));
    return array;
  }

  #open(depth: number): void {
    if (depth > MAX_DEPTH) {
      throw new SyntaxError(`the JSON text is nested more than ${MAX_DEPTH} levels deep; read its raw text`);
    }
    this.#at += 1;
    this.#blanks();
  }

  /** Steps over the bracket, or over the comma before one more entry. */
  #closes(bracket: string, hasEntries: boolean): boolean {
    const next = this.#text[this.#at];
    if (next === bracket) {
      this.#at += 1;
      return true;
    }
    if (hasEntries) {
      if (next !== ",") throw this.#unexpected(`"," or "${bracket}"`);
      this.#at += 1;
    }
    return false;
  }

  #string(): string {
    const start = this.#at;
    let end = start;
    do {
      end = this.#text.indexOf('"', end + 1);
      if (end < 0) throw this.#unexpected("a string that ends");
    } while (this.#isEscaped(end));
    this.#at = end + 1;
    try {
      return JSON.parse(this.#text.slice(start, this.#at));
    } catch {
      this.#at = start;
      throw this.#unexpected("a string without control characters and unknown escapes");
    }
  }

  /** Whether an odd number of backslashes stands before a quote. */
  #isEscaped(quote: number): boolean {
    let start = quote;
    while (this.#text[start - 1] === "\\") start -= 1;
    return (quote - start) % 2 === 1;
  }

  #number(): JsonValue {
    const match = this.#matches(NUMBER);
    if (!match) throw this.#unexpected("a JSON value");
    const [text, fraction, exponent] = match;
    const number = Number(text);
    if (text === "-0" || String(number) === text) return number;
    if (fraction === undefined && exponent === undefined) return BigInt(text);
    return new JsonNumber(text);
  }

  #blanks(): void {
    this.#matches(BLANKS);
  }

  #matches(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match) this.#at = pattern.lastIndex;
    return match;
  }

  #unexpected(expected: string): SyntaxError {
    const found = this.#at < this.#text.length ? JSON.stringify(this.#text.slice(this.#at, this.#at + 20)) : "the end";
    return new SyntaxError(`expected ${expected} at character ${this.#at} of the JSON text, found ${found}`);
  }
}

/**
 * Parses JSON text without loss: {@link writeJson} gives the same text again but for blanks and escapes. Of members with one name, the last
 * holds.
 *
 * @throws SyntaxError where the text is no JSON, or nested more than 1000 levels deep.
 */
export function parseJson(text: string): JsonValue {
  return new Parser(text).document();
}
