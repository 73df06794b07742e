import { type CallOptions, createClient, type Client as Stub, type Transport } from "@connectrpc/connect";
import { Attempts, type Bounds, type RequestOptions } from "./attempts.js";
import { type Connection, type ConnectOptions, connectTo } from "./connect.js";
import { Unavailable } from "./errors.js";
import { BatchService } from "./gen/toolbatch/v1/batch_pb.js";
import { TaskService } from "./gen/toolbatch/v1/task_pb.js";
import { ToolService } from "./gen/toolbatch/v1/tool_pb.js";
import { type JsonInput, writeJson } from "./json/index.js";
import {
  type BatchState,
  batchState,
  Step,
  type Tool,
  type ToolOutcome,
  tool,
  toolOutcome,
  type UsageRow,
  usageRow,
} from "./records.js";
import { argsText, type Batch, type Call, executeBatchRequest, sendable } from "./request.js";
import { readStepResult } from "./result_reader.js";
import type { BatchSummary } from "./results.js";
import { Deadline } from "./retry.js";
import { BatchStream } from "./stream.js";

const GIVE_UP_AFTER_MS = 60_000;

/** How a {@link Client} connects, and how long it comes back. */
export interface ClientOptions extends ConnectOptions {
  /**
   * How long a request that may be repeated goes on while no stream is open and no event comes, in milliseconds. Left out: 60,000.
   */
  readonly giveUpAfterMs?: number | undefined;
}

/** One call as a direct step of a task. */
export interface DirectCall extends Call {
  /** The task that the step belongs to. */
  readonly taskId: string;
  /** The agent that it is made for, where an operator asks. */
  readonly agentId?: string | undefined;
}

/**
 * A client of toolbatch. It connects with its first request and again whenever the connection was lost, is made once for a process, and is
 * used by any number of requests side by side.
 *
 * Every method throws {@link Refused}, {@link Unavailable} or {@link DeadlineExceeded}, the reason of an aborted signal, and `TypeError` or
 * `RangeError` for what cannot be sent.
 */
export class Client {
  readonly #connection: Connection;
  readonly #closing = new AbortController();
  readonly #bounds: Bounds;
  readonly #batches: Stub<typeof BatchService>;
  readonly #tasks: Stub<typeof TaskService>;
  readonly #tools: Stub<typeof ToolService>;

  /** @throws TypeError for options that do not fit; the file system's error for a PEM file that cannot be read. */
  constructor(options: ClientOptions = {}) {
    const { giveUpAfterMs = GIVE_UP_AFTER_MS } = options;
    if (!(giveUpAfterMs >= 0)) {
      throw new RangeError(`expected giveUpAfterMs as milliseconds from 0, found ${giveUpAfterMs}`);
    }
    this.#bounds = { giveUpAfterMs, closed: this.#closing.signal };
    this.#connection = connectTo(options);
    this.#batches = createClient(BatchService, this.transport);
    this.#tasks = createClient(TaskService, this.transport);
    this.#tools = createClient(ToolService, this.transport);
  }

  /** For RPCs that have no method here, with the stubs of `toolbatch/proto`. */
  get transport(): Transport {
    return this.#connection.transport;
  }

  /** Closes the connection for good: what runs on it, and what is asked for later, ends with {@link Unavailable}. Batches go on. */
  close(): void {
    this.#closing.abort();
    this.#connection.close();
  }

  /** Runs a batch: its events as they come, through lost connections and restarts. It is sent when the first event is asked for. */
  run(batch: Batch, options: RequestOptions = {}): BatchStream {
    const request = executeBatchRequest(batch);
    const { batchId } = request;
    return new BatchStream(
      {
        batchId,
        afterSequence: 0,
        planOnly: request.validateOnly,
        open: (afterSequence, callOptions) =>
          afterSequence === 0
            ? this.#batches.executeBatch(request, callOptions)
            : this.#batches.watchBatch({ batchId, afterSequence: BigInt(afterSequence) }, callOptions),
      },
      options,
      this.#bounds,
    );
  }

  /** Runs a batch to its end and gives its summary. */
  async result(batch: Batch, options: RequestOptions = {}): Promise<BatchSummary> {
    if (batch.validateOnly) {
      throw new TypeError("a batch with validateOnly has no summary; use run() and read its batch_planned event");
    }
    const stream = this.run(batch, options);
    for await (const event of stream) {
      if (event.kind === "batch_finished") return event.summary;
    }
    throw new Unavailable("the stream ended without the batch's summary", stream);
  }

  /**
   * Follows a batch: its events after a sequence, live to its end. A batch that is over and has none left ends the stream without any.
   *
   * @param options.afterSequence the last sequence that is known; left out: all events from the first.
   */
  watch(batchId: string, options: RequestOptions & { readonly afterSequence?: number | undefined } = {}): BatchStream {
    const { afterSequence = 0 } = options;
    if (!Number.isSafeInteger(afterSequence) || afterSequence < 0) {
      throw new RangeError(`expected afterSequence as a whole number from 0, found ${afterSequence}`);
    }
    const id = sendable("batchId", batchId);
    return new BatchStream(
      {
        batchId: id,
        afterSequence,
        planOnly: false,
        open: (after, callOptions) => this.#batches.watchBatch({ batchId: id, afterSequence: BigInt(after) }, callOptions),
      },
      options,
      this.#bounds,
    );
  }

  /** A batch's state: while it runs what is known so far. */
  async batch(batchId: string, options: RequestOptions = {}): Promise<BatchState> {
    const answer = await this.#read(options, (call) => this.#batches.getBatch({ batchId: sendable("batchId", batchId) }, call));
    return batchState(required("batch", answer.batch));
  }

  /**
   * Stops a batch: no further call starts.
   *
   * @param options.abortRunning also cancels the calls that are running, whose outcome is unknown then.
   * @returns the batch as it is then; its status is still `running` where calls are.
   */
  async cancelBatch(
    batchId: string,
    options: RequestOptions & { readonly abortRunning?: boolean | undefined } = {},
  ): Promise<BatchState> {
    const request = { batchId: sendable("batchId", batchId), abortRunning: options.abortRunning ?? false };
    const answer = await this.#once(options, (call) => this.#batches.cancelBatch(request, call));
    return batchState(required("batch", answer.batch));
  }

  /**
   * Stores a value under a name that references can use (`${NAME}`).
   *
   * @param value any value that can be written as JSON, or {@link rawJson} text; at most 16 MiB.
   * @param options.name letters, digits and `_`; left out: the next free `VAR_<n>`.
   * @returns the name.
   */
  async setVariable(
    taskId: string,
    value: JsonInput | object,
    options: RequestOptions & { readonly name?: string | undefined } = {},
  ): Promise<string> {
    const request = {
      taskId: sendable("taskId", taskId),
      name: sendable("name", options.name ?? ""),
      valueJson: sendable("value", writeJson(value as JsonInput)),
    };
    return (await this.#once(options, (call) => this.#tasks.setVariable(request, call))).name;
  }

  /** Ends a task: its batches start no further call. */
  async endTask(taskId: string, options: RequestOptions & { readonly reason?: string | undefined } = {}): Promise<void> {
    const request = { taskId: sendable("taskId", taskId), reason: sendable("reason", options.reason ?? "") };
    await this.#once(options, (call) => this.#tasks.endTask(request, call));
  }

  /** A step's full record. */
  async step(stepId: string, options: RequestOptions = {}): Promise<Step> {
    const answer = await this.#read(options, (call) => this.#tasks.getStep({ stepId: sendable("stepId", stepId) }, call));
    return new Step(required("step", answer.step));
  }

  /** A step's result as JSON text, byte for byte, whatever its size (up to 64 MiB). */
  async stepResult(stepId: string, options: RequestOptions = {}): Promise<string> {
    const attempts = new Attempts(options, this.#bounds);
    return await readStepResult(this.#tasks, sendable("stepId", stepId), attempts);
  }

  /** A task's steps, oldest first, without args and results; over all pages. */
  async *steps(taskId: string, options: RequestOptions = {}): AsyncGenerator<Step, void, undefined> {
    const id = sendable("taskId", taskId);
    const pages = this.#pages(options, (pageToken, call) => this.#tasks.listSteps({ taskId: id, pageToken }, call));
    for await (const { steps } of pages) for (const step of steps) yield new Step(step);
  }

  /** What a task used, in the order of its steps; over all pages. */
  async *usage(taskId: string, options: RequestOptions = {}): AsyncGenerator<UsageRow, void, undefined> {
    const id = sendable("taskId", taskId);
    const pages = this.#pages(options, (pageToken, call) => this.#tasks.listUsage({ taskId: id, pageToken }, call));
    for await (const { rows } of pages) for (const row of rows) yield usageRow(row);
  }

  /**
   * The tools that the caller may call; over all pages.
   *
   * @param options.agentId whose tools, where an operator asks.
   */
  async *tools(options: RequestOptions & { readonly agentId?: string | undefined } = {}): AsyncGenerator<Tool, void, undefined> {
    const agentId = sendable("agentId", options.agentId ?? "");
    const pages = this.#pages(options, (pageToken, call) => this.#tools.listTools({ agentId, pageToken }, call));
    for await (const { tools } of pages) for (const entry of tools) yield tool(entry);
  }

  /** Runs one tool as a direct step. It is sent once; with a `key` it can be repeated without doubling it. */
  async callTool(call: DirectCall, options: RequestOptions = {}): Promise<ToolOutcome> {
    const request = {
      tool: sendable("tool", call.tool),
      argsJson: argsText("args", call),
      context: {
        taskId: sendable("taskId", call.taskId),
        agentId: sendable("agentId", call.agentId ?? ""),
        key: sendable("key", call.key ?? ""),
      },
    };
    return toolOutcome(await this.#once(options, (callOptions) => this.#tools.callTool(request, callOptions)));
  }

  /** All pages of a list, within one deadline. */
  async *#pages<Page extends { readonly nextPageToken: string }>(
    options: RequestOptions,
    read: (pageToken: string, call: CallOptions) => Promise<Page>,
  ): AsyncGenerator<Page, void, undefined> {
    const deadline = new Deadline(options.timeoutMs);
    let pageToken = "";
    do {
      const page = await new Attempts(options, this.#bounds, deadline).repeat((call) => read(pageToken, call));
      yield page;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  /** An RPC that may be repeated. */
  #read<T>(options: RequestOptions, call: CallOf<T>): Promise<T> {
    return new Attempts(options, this.#bounds).repeat(call);
  }

  /** An RPC that is sent once. */
  #once<T>(options: RequestOptions, call: CallOf<T>): Promise<T> {
    return new Attempts(options, this.#bounds).once(call);
  }
}

type CallOf<T> = Parameters<typeof Attempts.prototype.once<T>>[0];

/** A part of an answer that the contract says is always there. */
function required<T>(name: string, part: T | undefined): T {
  if (part === undefined) throw new Unavailable(`the server's answer has no ${name}; is it a toolbatch server?`);
  return part;
}
