package dev.toolbatch;

/** The kinds of failure of a call. */
public enum CallErrorReason {
  /** Not set. */
  UNSPECIFIED,
  /** The tool ran and reported a failure. */
  TOOL_FAILED,
  /** Not in the agent's tool list; nothing was sent. */
  TOOL_NOT_ALLOWED,
  /** No backend serves it; nothing was sent. */
  TOOL_NOT_FOUND,
  /** It would pause or end the agent, or is itself a batch; nothing was sent. */
  TOOL_NOT_BATCHABLE,
  /** The args do not fit the tool's input schema; nothing was sent. */
  INVALID_ARGS,
  /** The backend could not be reached, or was lost. */
  BACKEND_UNAVAILABLE,
  /** No answer within the call's timeout. */
  TIMED_OUT,
  /** Cancelled while it ran. */
  CANCELLED,
  /** In flight at an interruption, or under a key of unknown outcome, and not to be run again. */
  IN_DOUBT,
  /** The backend's answer is no valid result; the tool ran. */
  BAD_RESPONSE,
  /**
   * A value that this version of the client does not know; the message that it came in keeps its
   * number.
   */
  UNKNOWN;

  private static final CallErrorReason[] VALUES = values();

  static CallErrorReason of(int number) {
    return number >= 0 && number < UNKNOWN.ordinal() ? VALUES[number] : UNKNOWN;
  }
}
