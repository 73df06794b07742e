package dev.toolbatch;

import java.util.Objects;

/**
 * JSON as text, which goes byte for byte where other values are written as JSON.
 *
 * @param text any JSON value
 */
public record RawJson(String text) {
  /**
   * Takes the text as it is.
   *
   * @param text any JSON value
   * @throws NullPointerException where it is null
   */
  public RawJson {
    Objects.requireNonNull(text, "text");
  }
}
