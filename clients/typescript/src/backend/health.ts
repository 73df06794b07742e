import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { type Health as HealthService, HealthCheckResponse_ServingStatus as Status } from "../gen/grpc/health/v1/health_pb.js";
import { ToolService } from "../gen/toolbatch/v1/tool_pb.js";
import { LinkedSignal } from "../linked.js";

const SERVICES: ReadonlySet<string> = new Set(["", ToolService.typeName]);

/** `grpc.health.v1`: SERVING while calls are taken, NOT_SERVING from the moment that the backend stops. */
export class Health {
  readonly #stopping: AbortSignal;

  constructor(stopping: AbortSignal) {
    this.#stopping = stopping;
  }

  get implementation(): ServiceImpl<typeof HealthService> {
    return {
      check: ({ service }) => {
        if (!SERVICES.has(service)) throw new ConnectError(`no service ${JSON.stringify(service)} here`, Code.NotFound);
        return { status: this.#status };
      },
      watch: ({ service }, { signal }) => this.#watch(service, signal),
    };
  }

  get #status(): Status {
    return this.#stopping.aborted ? Status.NOT_SERVING : Status.SERVING;
  }

  /** The status, and once more when the backend stops; then the stream ends, so that its connection can. */
  async *#watch(service: string, signal: AbortSignal) {
    const isKnown = SERVICES.has(service);
    yield { status: isKnown ? this.#status : Status.SERVICE_UNKNOWN };
    if (this.#stopping.aborted) return;
    const linked = new LinkedSignal(signal, this.#stopping);
    await aborted(linked.signal);
    linked.release();
    if (isKnown && !signal.aborted) yield { status: this.#status };
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}
