package dev.toolbatch;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;

/**
 * JSON text and Java values. Numbers keep their digits: whole ones of any size become integers,
 * others {@link java.math.BigDecimal}. Members keep their order, and text that is not ASCII is
 * written as it is.
 */
public final class Json {
  private static final int NESTING_MAX = 1000;
  private static final int DIGITS_MAX = 100_000;
  private static final int TEXT_MAX = 128 * 1024 * 1024;

  private static final ObjectMapper MAPPER = mapper();

  private Json() {}

  /**
   * Reads one JSON value.
   *
   * @param text the JSON text
   * @return the value; a JSON null is a node too
   * @throws IllegalArgumentException where the text is not one JSON value, is nested deeper than
   *     1000 levels, or has a number of more than 100,000 digits or of an exponent beyond 32 bits
   */
  public static JsonNode parse(String text) {
    return read(text, JsonNode.class);
  }

  /**
   * Reads one JSON value as a Java type. Members that the type does not have are passed over.
   *
   * @param <T> the type
   * @param text the JSON text
   * @param type a record, a class that Jackson can make, a collection, or {@link JsonNode}
   * @return the value
   * @throws IllegalArgumentException where the text is no JSON value, or does not fit the type
   */
  public static <T> T read(String text, Class<T> type) {
    try {
      return MAPPER.readValue(text, type);
    } catch (JsonProcessingException wrong) {
      throw new IllegalArgumentException(expected(type) + reason(wrong), wrong);
    } catch (NumberFormatException beyond) {
      throw new IllegalArgumentException(expected(type) + beyond.getMessage(), beyond);
    }
  }

  private static String expected(Class<?> type) {
    return type == JsonNode.class
        ? "expected a JSON value: "
        : "expected JSON that fits " + type.getSimpleName() + ": ";
  }

  /**
   * Writes a value as JSON.
   *
   * @param value a {@link JsonNode}, a map, a collection, a record, text, a number, a boolean or
   *     null; of a {@link RawJson} the text, as it is
   * @return the JSON text
   * @throws IllegalArgumentException where it cannot be written: a type that Jackson does not know,
   *     NaN or an infinity, or text with half a surrogate pair
   */
  public static String write(Object value) {
    if (value instanceof RawJson raw) {
      return requireUnicode(raw.text(), "the JSON text");
    }
    String text;
    try {
      text = MAPPER.writeValueAsString(value);
    } catch (JsonProcessingException wrong) {
      throw new IllegalArgumentException(
          "the value cannot be written as JSON: " + reason(wrong), wrong);
    }
    if (text.contains("NaN") || text.contains("Infinity")) {
      requireFinite(text);
    }
    return requireUnicode(text, "the value");
  }

  /**
   * Requires text that UTF-8 can hold.
   *
   * @param text the text
   * @param what how the error names it
   * @return the text
   * @throws IllegalArgumentException where it holds half a surrogate pair
   */
  static String requireUnicode(String text, String what) {
    for (int at = 0; at < text.length(); at++) {
      char unit = text.charAt(at);
      if (!Character.isSurrogate(unit)) {
        continue;
      }
      if (Character.isLowSurrogate(unit)
          || at + 1 == text.length()
          || !Character.isLowSurrogate(text.charAt(at + 1))) {
        throw new IllegalArgumentException(
            "%s holds half a surrogate pair (U+%04X at %d), which UTF-8 cannot hold"
                .formatted(what, (int) unit, at));
      }
      at++;
    }
    return text;
  }

  private static void requireFinite(String text) {
    try {
      MAPPER.readTree(text);
    } catch (JsonProcessingException wrong) {
      throw new IllegalArgumentException(
          "JSON has no NaN and no infinity, and the value holds one", wrong);
    }
  }

  private static String reason(JsonProcessingException wrong) {
    var at = wrong.getLocation();
    String where =
        at == null || at.getLineNr() < 1
            ? ""
            : " at line " + at.getLineNr() + ", column " + at.getColumnNr();
    return wrong.getOriginalMessage() + where;
  }

  private static ObjectMapper mapper() {
    StreamReadConstraints constraints =
        StreamReadConstraints.builder()
            .maxNestingDepth(NESTING_MAX)
            .maxNumberLength(DIGITS_MAX)
            .maxStringLength(TEXT_MAX)
            .maxNameLength(TEXT_MAX)
            .build();
    JsonFactory factory = JsonFactory.builder().streamReadConstraints(constraints).build();
    return JsonMapper.builder(factory)
        .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
        .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
        .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
        .disable(JsonWriteFeature.WRITE_NAN_AS_STRINGS)
        .build();
  }
}
