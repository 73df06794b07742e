import type { TestContext } from "node:test";
import { create } from "@bufbuild/protobuf";
import { createClient, type Client as Stub } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { RunningBackend } from "toolbatch";
import { CallContextSchema, type CallToolRequest, CallToolRequestSchema, ToolService } from "toolbatch/proto";
import { Health } from "../../src/gen/grpc/health/v1/health_pb.js";

/** What toolbatch is to a backend: its caller. */
export interface Caller {
  readonly tools: Stub<typeof ToolService>;
  readonly health: Stub<typeof Health>;
}

/** Calls a backend as toolbatch does, for what a batch does not show. */
export function caller(test: TestContext, backend: RunningBackend): Caller {
  const baseUrl = `http://${backend.address}`;
  const sessionManager = new Http2SessionManager(baseUrl);
  test.after(() => sessionManager.abort());
  const transport = createGrpcTransport({ baseUrl, sessionManager });
  return { tools: createClient(ToolService, transport), health: createClient(Health, transport) };
}

/** One attempt of a call. */
export function request(tool: string, argsJson = "{}"): CallToolRequest {
  const context = create(CallContextSchema, { taskId: "T", stepId: "s", attempt: 1, idempotencyKey: "i" });
  return create(CallToolRequestSchema, { tool, argsJson, context });
}
