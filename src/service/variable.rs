//! The RPC of `TaskService` that is about variables.

use tonic::Status;

use super::{caller::Caller, check, status};
use crate::{
    engine::{Engine, Error},
    proto,
};

pub(super) async fn set(
    engine: &Engine,
    caller: &Caller,
    request: proto::SetVariableRequest,
) -> Result<proto::SetVariableResponse, Status> {
    let task_id = request.task_id.clone();
    // 16 MiB of JSON take a while to read, which no other request should wait for.
    let checked = tokio::task::spawn_blocking(move || check::check_variable(request)).await;
    let checked = checked.map_err(|_| status::engine(Error::Stopping))?;
    let check::Assignment { name, value } = checked.map_err(|refusal| status::refusal(&refusal))?;
    let name =
        engine.set_variable(&caller.tenant(), &task_id, name, value, caller.name()).await.map_err(status::engine)?;
    Ok(proto::SetVariableResponse { name })
}
