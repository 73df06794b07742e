//! The RPCs of `TaskService` that are about keys.

use tonic::Status;

use super::{caller::Caller, check, convert, page, status};
use crate::{
    engine::{
        Engine, Error,
        keys::{KeyQuery, Standing},
    },
    proto::{self, KeyState},
};

pub(super) async fn list(
    engine: &Engine,
    tenant: &str,
    request: proto::ListKeysRequest,
) -> Result<proto::ListKeysResponse, Status> {
    let proto::ListKeysRequest { task_id, states, page_size, page_token } = request;
    let limit = page::size(page_size)?;
    let wanted = states.iter().map(|state| standing(*state)).collect::<Result<_, _>>()?;
    let filter = format!("{states:?}");
    let list = ["keys", tenant, &task_id, &filter];
    let after = page::cursor(&list, &page_token)?;
    let query = KeyQuery { states: wanted, after, limit };
    let page = engine.keys(tenant, &task_id, query).await.map_err(status::engine)?;
    let next_page_token = page.next.map(|cursor| page::token(&list, &cursor)).unwrap_or_default();
    Ok(proto::ListKeysResponse { keys: page.items.into_iter().map(convert::key).collect(), next_page_token })
}

fn standing(state: i32) -> Result<Standing, Status> {
    match KeyState::try_from(state) {
        Ok(KeyState::Running) => Ok(Standing::Running),
        Ok(KeyState::Completed) => Ok(Standing::Completed),
        Ok(KeyState::Failed) => Ok(Standing::Failed),
        Ok(KeyState::Unknown) => Ok(Standing::Unknown),
        Ok(KeyState::Unspecified) | Err(_) => {
            Err(status::invalid("states", format!("{state} arrived; expected RUNNING, COMPLETED, FAILED or UNKNOWN")))
        }
    }
}

pub(super) async fn settle(
    engine: &Engine,
    caller: &Caller,
    request: proto::SettleKeyRequest,
) -> Result<proto::SettleKeyResponse, Status> {
    let (task_id, key) = (request.task_id.clone(), request.key.clone());
    // 64 MiB of JSON take a while to read, which no other request should wait for.
    let checked = tokio::task::spawn_blocking(move || check::check_settle(request)).await;
    let checked = checked.map_err(|_| status::engine(Error::Stopping))?;
    let verdict = checked.map_err(|refusal| status::refusal(&refusal))?;
    let view =
        engine.settle_key(&caller.tenant(), &task_id, &key, verdict, caller.name()).await.map_err(status::engine)?;
    Ok(proto::SettleKeyResponse { key: Some(convert::key(view)) })
}
