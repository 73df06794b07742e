/**
 * Metadata that gRPC can carry. What a value is stays out of the errors: it may be a secret.
 *
 * @throws TypeError for a name or a value that cannot be sent as it is.
 */
export function sendableHeaders(headers: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const sendable: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[0-9a-z_.-]+$/i.test(name)) {
      throw new TypeError(`expected a header's name of 0 to 9, a to z, _, - and ., found ${JSON.stringify(name)}`);
    }
    if (value !== undefined) sendable[name] = sendableValue(`the header ${name}`, value);
  }
  return sendable;
}

/** @throws TypeError for a value that cannot be sent as it is; its text is not shown. */
export function sendableValue(what: string, value: string): string {
  if (typeof value !== "string" || !/^(?:[!-~]+(?:[ !-~]*[!-~])?)?$/.test(value)) {
    throw new TypeError(
      `expected ${what} as printable ASCII characters without blanks around them, found others (such as a line's end); its value is not shown`,
    );
  }
  return value;
}
