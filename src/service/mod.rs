//! The gRPC edge: parse, call the engine's handle, map. `status` alone makes a `tonic::Status`.

mod admission;
mod batch;
mod caller;
pub mod check;
mod convert;
mod deadline;
mod direct;
mod feed;
mod foreign;
mod guard;
mod hops;
mod identity;
mod key;
mod page;
mod people;
mod rates;
mod registry;
mod status;
mod stream;
mod task;
mod tokens;
mod tool;
mod tool_batch;
mod trace;
mod usage;
mod variable;

use std::sync::Arc;

use tonic::codec::CompressionEncoding;

pub(crate) use self::{
    admission::AdmissionLayer, deadline::DeadlineLayer, foreign::ForeignLayer, guard::GuardLayer, hops::Hops,
    identity::Identity, people::People, rates::Rates,
};
use self::{batch::Batches, registry::Registry, task::Tasks, tool::Tools};
pub use self::{people::Error as PeopleError, tokens::Error as TokenError};
use crate::{
    clock::Clock,
    dispatch::{MAX_RESULT_BYTES, ToolLists},
    engine::Engine,
    prices::Prices,
    proto::{
        batch_service_server::BatchServiceServer, registry_service_server::RegistryServiceServer,
        task_service_server::TaskServiceServer, tool_service_server::ToolServiceServer,
    },
};

/// The largest request (R1).
const MAX_REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// The largest request to `TaskService`: a result to settle a key with may be as large as a tool's (R6), and something stands
/// around it.
const MAX_SETTLE_BYTES: usize = MAX_RESULT_BYTES + 64 * 1024;

/// `BatchService`. Requests may be compressed, as some clients do unasked; the bound holds after inflation.
pub(crate) fn batch_service(
    engine: Engine,
    clock: Clock,
    lists: Arc<ToolLists>,
) -> BatchServiceServer<impl crate::proto::batch_service_server::BatchService> {
    BatchServiceServer::new(Batches { engine, clock, lists })
        .max_decoding_message_size(MAX_REQUEST_BYTES)
        .accept_compressed(CompressionEncoding::Gzip)
}

/// `TaskService`.
pub(crate) fn task_service(
    engine: Engine,
    prices: Arc<Prices>,
) -> TaskServiceServer<impl crate::proto::task_service_server::TaskService> {
    TaskServiceServer::new(Tasks { engine, prices })
        .max_decoding_message_size(MAX_SETTLE_BYTES)
        .accept_compressed(CompressionEncoding::Gzip)
}

/// `ToolService`.
pub(crate) fn tool_service(
    engine: Engine,
    lists: Arc<ToolLists>,
) -> ToolServiceServer<impl crate::proto::tool_service_server::ToolService> {
    ToolServiceServer::new(Tools { engine, lists })
        .max_decoding_message_size(MAX_REQUEST_BYTES)
        .accept_compressed(CompressionEncoding::Gzip)
}

/// `RegistryService`.
pub(crate) fn registry_service(
    engine: Engine,
    clock: Clock,
) -> RegistryServiceServer<impl crate::proto::registry_service_server::RegistryService> {
    RegistryServiceServer::new(Registry { engine, clock })
        .max_decoding_message_size(MAX_REQUEST_BYTES)
        .accept_compressed(CompressionEncoding::Gzip)
}
