/**
 * The stubs of the contract, for RPCs that {@link Client} has no method for: `createClient(TaskService, client.transport)`, with
 * `createClient` of `@connectrpc/connect`.
 *
 * @module
 */
export * from "./gen/toolbatch/v1/batch_pb.js";
export * from "./gen/toolbatch/v1/registry_pb.js";
export * from "./gen/toolbatch/v1/task_pb.js";
export * from "./gen/toolbatch/v1/tool_pb.js";
