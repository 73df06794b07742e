/** Answers that a server of today never gives: of a newer one, of one behind a proxy that loses things, of one that is short of room. */
import assert from "node:assert/strict";
import { createServer } from "node:http2";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Refused, Unavailable } from "toolbatch";
import { type BatchEventSchema, BatchService, type ExecuteBatchRequest, TaskService } from "toolbatch/proto";
import { RetryInfoSchema } from "../src/gen/google/rpc/error_details_pb.js";
import { Gate } from "./support/gate.js";
import { all, connect, outline } from "./support/setting.js";

type Event = MessageInitShape<typeof BatchEventSchema>["event"];

function event(sequence: number, event: Event = { case: undefined }) {
  return { event: { batchId: "b", sequence: BigInt(sequence), event } };
}

const started = () => event(1, { case: "batchStarted", value: {} });
const resumed = (sequence: number) => event(sequence, { case: "batchResumed", value: {} });
const finished = (sequence: number, status = 1) => event(sequence, { case: "batchFinished", value: { summary: { status } } });

async function serve(
  test: TestContext,
  answers: Partial<ServiceImpl<typeof BatchService>>,
  tasks: Partial<ServiceImpl<typeof TaskService>> = {},
): Promise<string> {
  const routes = (router: ConnectRouter) => void router.service(BatchService, answers).service(TaskService, tasks);
  const server = createServer(connectNodeAdapter({ routes }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  test.after(() => server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("expected a port");
  return `http://127.0.0.1:${address.port}`;
}

test("kinds that are new are passed over, values that are new read as unknown", async (t) => {
  const url = await serve(t, {
    async *executeBatch() {
      yield started();
      yield event(2);
      yield event(0);
      yield finished(3, 77);
    },
  });
  const events = await all(connect(t, url).run({ taskId: "T" }));
  assert.deepEqual(outline(events), ["1 batch_started", "3 batch_finished"]);
  const [, last] = events;
  assert.ok(last?.kind === "batch_finished" && last.raw.event.case === "batchFinished");
  assert.deepEqual([last.summary.status, last.raw.event.value.summary?.status], ["unknown", 77]);
});

test("doubles are dropped, and gaps are asked for again", async (t) => {
  const after: bigint[] = [];
  const url = await serve(t, {
    async *executeBatch() {
      yield started();
      yield started();
      yield resumed(3);
    },
    async *watchBatch({ afterSequence }) {
      after.push(afterSequence);
      if (after.length === 1) {
        yield resumed(2);
        throw new ConnectError("not the caller's", Code.Canceled);
      }
      yield resumed(3);
      yield finished(4);
    },
  });
  const events = await all(connect(t, url).run({ taskId: "T" }));
  assert.deepEqual(outline(events), ["1 batch_started", "2 batch_resumed", "3 batch_resumed", "4 batch_finished"]);
  assert.deepEqual(after, [1n, 2n]);
});

test("a shortage with a RetryInfo is waited out, under one id", async (t) => {
  const ids: string[] = [];
  const url = await serve(t, {
    async *executeBatch({ batchId }) {
      ids.push(batchId);
      if (ids.length === 1) {
        const value = { retryDelay: create(DurationSchema, { nanos: 300_000_000 }) };
        throw new ConnectError("short of room", Code.ResourceExhausted, undefined, [{ desc: RetryInfoSchema, value }]);
      }
      yield started();
      yield finished(2);
    },
  });
  const begun = performance.now();
  await connect(t, url).result({ taskId: "T" });
  assert.ok(performance.now() - begun >= 300);
  assert.deepEqual([ids.length, new Set(ids).size, ids[0]?.length], [2, 1, 36]);
});

test("a shortage without a RetryInfo is an error", async (t) => {
  let tries = 0;
  const url = await serve(t, {
    // biome-ignore lint/correctness/useYield: it is refused before its first event.
    async *executeBatch() {
      tries += 1;
      throw new ConnectError("too large", Code.ResourceExhausted);
    },
  });
  await assert.rejects(connect(t, url).result({ taskId: "T" }), (error) => {
    assert.ok(error instanceof Refused);
    assert.deepEqual([error.status, error.reason, error.retryDelayMs], ["RESOURCE_EXHAUSTED", undefined, undefined]);
    return true;
  });
  assert.equal(tries, 1);
});

test("an answer that never begins is given up", async (t) => {
  const release = new Gate();
  const url = await serve(t, {
    async *executeBatch() {
      await release.passed;
      yield started();
    },
  });
  const running = connect(t, url, { giveUpAfterMs: 200 }).result({ taskId: "T", batchId: "b" });
  await assert.rejects(running, (error) => {
    assert.ok(error instanceof Unavailable);
    assert.match(error.message, /200 ms.*the server did not answer/);
    return error.batchId === "b";
  });
  release.open();
});

test("a watch after the last event ends without one", async (t) => {
  const url = await serve(t, { async *watchBatch() {} });
  assert.deepEqual(await all(connect(t, url).watch("b", { afterSequence: 4 })), []);
});

test("a deadline is over all pages", async (t) => {
  let pages = 0;
  const url = await serve(
    t,
    {},
    {
      listUsage: async () => {
        pages += 1;
        await sleep(100);
        return { nextPageToken: "more" };
      },
    },
  );
  const reading = async () => {
    for await (const _ of connect(t, url).usage("T", { timeoutMs: 450 })) assert.fail("there are no rows");
  };
  await assert.rejects(reading(), { name: "DeadlineExceeded" });
  assert.ok(pages <= 5, `${pages} pages`);
});

test("times and sequences that are huge do no harm", async (t) => {
  const far = { seconds: 2n ** 62n, nanos: 0 };
  const url = await serve(t, {
    async *executeBatch() {
      yield { event: { batchId: "b", sequence: 1n, time: far, event: { case: "batchStarted" as const, value: {} } } };
      yield { event: { batchId: "b", sequence: 2n ** 62n, event: { case: "batchResumed" as const, value: {} } } };
    },
    async *watchBatch() {
      yield finished(2);
    },
  });
  const events = await all(connect(t, url).run({ taskId: "T" }));
  assert.deepEqual(outline(events), ["1 batch_started", "2 batch_finished"]);
  assert.match(inspect(events[0]), /Invalid Date/);
});

test("what is not set is not sent", async (t) => {
  const requests: ExecuteBatchRequest[] = [];
  const url = await serve(t, {
    async *executeBatch(request) {
      requests.push(request);
      yield started();
      yield finished(2);
    },
  });
  const client = connect(t, url);
  for (const options of [{}, { stopOnError: false }, { retry: { initialBackoffMs: 0 } }, { callTimeoutMs: 1500.5 }]) {
    await client.result({ taskId: "T", ...options });
  }
  const options = requests.map((request) => request.options);
  assert.equal(options[0], undefined);
  assert.deepEqual([options[1]?.stopOnError, options[1]?.includeResults], [false, undefined]);
  assert.deepEqual([options[2]?.retry?.initialBackoff?.nanos, options[2]?.retry?.maxBackoff], [0, undefined]);
  assert.deepEqual([options[3]?.callTimeout?.seconds, options[3]?.callTimeout?.nanos], [1n, 500_500_000]);
});

test("who asks is said with each request", async (t) => {
  const seen: HandlerContext[] = [];
  const url = await serve(t, {
    // biome-ignore lint/correctness/useYield: it is refused before its first event.
    async *executeBatch(_, context) {
      seen.push(context);
      throw new ConnectError("no", Code.PermissionDenied);
    },
  });
  const client = connect(t, url, { token: "secret", tenant: "acme" });
  const running = client.result({ taskId: "T" }, { headers: { traceparent: "00-1-2-01" } });
  await assert.rejects(running, { name: "Refused", status: "PERMISSION_DENIED" });
  const names = ["authorization", "toolbatch-tenant", "traceparent"];
  assert.deepEqual(
    names.map((name) => seen[0]?.requestHeader.get(name)),
    ["Bearer secret", "acme", "00-1-2-01"],
  );
});
