package dev.toolbatch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonTest {
  @Test
  void digitsOrderAndTextStay() {
    String text =
        "{\"z\":1,\"a\":12345678901234567890123,\"c\":117.63331139400017,\"e\":1.10,\"t\":1.0,\"u\":\"é中😀\"}";
    assertEquals(text, Json.write(Json.parse(text)));
  }

  @Test
  void numbersBeyondADoubleStay() {
    assertEquals(
        "[1E+400,100000000000000000000000000000000000000001]",
        Json.write(Json.parse("[1e400,100000000000000000000000000000000000000001]")));
  }

  @Test
  void rawTextGoesAsItIs() {
    assertEquals("{ \"a\" : 1.10 }", Json.write(new RawJson("{ \"a\" : 1.10 }")));
  }

  @Test
  void whatIsNoJsonIsRefused() {
    for (String text : List.of("", "{", "{} {}", "{\"a\":NaN}", "nul", "[1,]", "[".repeat(2000))) {
      assertThrows(IllegalArgumentException.class, () -> Json.parse(text), text);
    }
  }

  @Test
  void namesOfAnyLengthAreRead() {
    String text = "{\"" + "n".repeat(1_000_000) + "\":1}";
    assertEquals(text, Json.write(Json.parse(text)));
  }

  @Test
  void anExponentThatNoNumberHasIsRefused() {
    var wrong = assertThrows(IllegalArgumentException.class, () -> Json.parse("1e99999999999"));
    assertTrue(wrong.getMessage().startsWith("expected a JSON value"), wrong.getMessage());
  }

  @Test
  void theErrorSaysWhere() {
    var wrong = assertThrows(IllegalArgumentException.class, () -> Json.parse("{\"a\":\n x}"));
    assertTrue(wrong.getMessage().contains("line 2"), wrong.getMessage());
  }

  @Test
  void nanAndInfinitiesAreRefused() {
    for (double value :
        new double[] {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
      assertThrows(IllegalArgumentException.class, () -> Json.write(Map.of("a", value)));
      assertThrows(
          IllegalArgumentException.class,
          () -> Json.write(JsonNodeFactory.instance.numberNode(value)));
    }
    assertEquals("{\"a\":\"NaN\"}", Json.write(Map.of("a", "NaN")));
  }

  @Test
  void halfASurrogatePairIsRefused() {
    for (String text : List.of("\ud83d", "a\ude00", "\ud83dx", "\ude00\ud83d")) {
      assertThrows(IllegalArgumentException.class, () -> Json.write(Map.of("a", text)));
      assertThrows(
          IllegalArgumentException.class,
          () -> Call.of("t", new RawJson("{\"a\":\"" + text + "\"}")));
    }
  }

  @Test
  void typesThatDoNotFitAreRefused() {
    record Order(String contract, int quantity) {}
    assertEquals(
        new Order("c", 2),
        Json.read("{\"contract\":\"c\",\"quantity\":2,\"more\":1}", Order.class));
    var wrong =
        assertThrows(
            IllegalArgumentException.class, () -> Json.read("{\"quantity\":\"x\"}", Order.class));
    assertTrue(wrong.getMessage().contains("Order"), wrong.getMessage());
  }
}
