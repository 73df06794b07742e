package dev.toolbatch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RequestTest {
  @Test
  void whatIsNotSetIsNotSent() {
    Batch batch = Batch.builder("T1").call("echo", Map.of()).build();
    assertFalse(batch.request().hasOptions());
    assertFalse(batch.batchId().isEmpty());
    var mode =
        Batch.builder("T1")
            .call("echo", Map.of())
            .mode(BatchMode.PARALLEL)
            .build()
            .request()
            .getOptions();
    assertFalse(mode.hasStopOnError());
    assertFalse(mode.hasIncludeResults());
    assertTrue(
        Batch.builder("T1").stopOnError(false).build().request().getOptions().hasStopOnError());
  }

  @Test
  void eachBatchHasAnIdOfItsOwn() {
    Batch.Builder builder = Batch.builder("T1").call("echo", Map.of());
    assertFalse(builder.build().batchId().equals(builder.build().batchId()));
    assertEquals("b", builder.batchId("b").build().batchId());
  }

  @Test
  void argsKeepTheirOrder() {
    Map<String, Object> args = new LinkedHashMap<>();
    args.put("z", 1);
    args.put("a", List.of(2));
    assertEquals("{\"z\":1,\"a\":[2]}", Call.of("t", args).argsJson());
  }

  @Test
  void argsThatAreNoObjectAreRefused() {
    var wrong = assertThrows(IllegalArgumentException.class, () -> Call.of("t", "{\"a\":1}"));
    assertTrue(wrong.getMessage().contains("RawJson"), wrong.getMessage());
    assertThrows(IllegalArgumentException.class, () -> Call.of("t", List.of(1)));
    assertThrows(IllegalArgumentException.class, () -> Call.of("t", new Object()));
  }

  @Test
  void callsAndAReferenceToCallsAreRefused() {
    Batch.Builder both = Batch.builder("T1").call("t", Map.of()).callsRef("${VAR_1}");
    assertThrows(IllegalStateException.class, both::build);
  }

  @Test
  void unknownValuesCannotBeAskedFor() {
    assertThrows(IllegalArgumentException.class, () -> Batch.builder("T1").mode(BatchMode.UNKNOWN));
  }

  @Test
  void enumsHaveTheContractsNumbers() {
    assertEquals(
        BatchMode.PARALLEL, BatchMode.of(dev.toolbatch.v1.BatchMode.BATCH_MODE_PARALLEL_VALUE));
    assertEquals(
        CallStatus.RUNNING, CallStatus.of(dev.toolbatch.v1.CallStatus.CALL_STATUS_RUNNING_VALUE));
    assertEquals(
        StopReason.PARKED, StopReason.of(dev.toolbatch.v1.StopReason.STOP_REASON_PARKED_VALUE));
    assertEquals(
        CallErrorReason.BAD_RESPONSE,
        CallErrorReason.of(dev.toolbatch.v1.CallErrorReason.CALL_ERROR_REASON_BAD_RESPONSE_VALUE));
    assertEquals(
        InDoubtPolicy.FAIL,
        InDoubtPolicy.of(dev.toolbatch.v1.InDoubtPolicy.IN_DOUBT_POLICY_FAIL_VALUE));
    assertEquals(
        BatchStatus.FAILED, BatchStatus.of(dev.toolbatch.v1.BatchStatus.BATCH_STATUS_FAILED_VALUE));
    assertEquals(CallStatus.UNKNOWN, CallStatus.of(99));
    assertEquals(CallStatus.UNKNOWN, CallStatus.of(-1));
    var proto = dev.toolbatch.v1.CallResult.newBuilder().setStatusValue(99).build();
    assertEquals(CallStatus.UNKNOWN, new CallResult(proto).status());
    assertEquals(99, new CallResult(proto).proto().getStatusValue());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "127.0.0.1:50051",
        "ftp://host:1",
        "http://",
        "http://h:1/path",
        "http://u@h:1",
        "http://h:99999999999",
        "http://h:99999",
        "http://h:0",
        "http://my_host:1",
        "unix:/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/s",
        "http://a b",
        "unix:relative",
        "unix:"
      })
  void addressesThatCannotBeUsedAreRefused(String address) {
    var wrong =
        assertThrows(
            IllegalArgumentException.class,
            () -> ToolbatchClient.builder().server(address).build());
    assertTrue(wrong.getMessage().contains("\"" + address + "\""), wrong.getMessage());
  }

  @Test
  void settingsThatCannotBeUsedAreRefused() {
    var builder = ToolbatchClient.builder().server("https://localhost:1");
    assertThrows(IllegalArgumentException.class, () -> builder.giveUpAfter(Duration.ZERO));
    assertThrows(
        IllegalArgumentException.class, () -> builder.authority(Path.of("/nowhere")).build());
    var secret = ToolbatchClient.builder().token("two words");
    var wrong = assertThrows(IllegalArgumentException.class, secret::build);
    assertFalse(wrong.getMessage().contains("two words"), wrong.getMessage());
    assertThrows(NullPointerException.class, () -> builder.certificate(Path.of("/a"), null));
    assertThrows(NullPointerException.class, () -> builder.server(null));
    var plain =
        ToolbatchClient.builder().server("http://localhost:1").authority(Path.of("/nowhere"));
    assertThrows(IllegalArgumentException.class, plain::build);
  }

  @ParameterizedTest
  @ValueSource(strings = {"http://[::1]:1", "HTTP://localhost:1/", "unix:///nowhere/s"})
  void addressesThatCanBeUsedAre(String address) {
    try (ToolbatchClient client =
        ToolbatchClient.builder().server(address).giveUpAfter(Duration.ofMillis(50)).build()) {
      var away = assertThrows(UnavailableException.class, client::tools);
      assertTrue(
          away.getMessage().matches(".*io exception \\(.*(refused|FileNotFound).*"),
          away.getMessage());
    }
  }

  @Test
  void aClosedClientSaysSo() {
    ToolbatchClient client = ToolbatchClient.builder().server("http://127.0.0.1:1").build();
    client.close();
    assertThrows(IllegalStateException.class, client::tools);
    assertThrows(IllegalStateException.class, () -> client.result(Batch.builder("T1").build()));
  }
}
