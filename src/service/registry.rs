//! `RegistryService`, for operators.

use tonic::{Request, Response, Status, async_trait};

use super::{check, convert, page, status};
use crate::{
    batch::event::Timestamp,
    clock::Clock,
    dispatch::{BackendState, Presence},
    engine::Engine,
    proto::{self, BackendHealth, registry_service_server::RegistryService},
};

/// Serves `RegistryService` from an engine.
pub(super) struct Registry {
    pub(super) engine: Engine,
    pub(super) clock: Clock,
}

/// What page tokens are marked with.
const LIST: [&str; 1] = ["backends"];

#[async_trait]
impl RegistryService for Registry {
    async fn register_backend(
        &self,
        request: Request<proto::RegisterBackendRequest>,
    ) -> Result<Response<proto::RegisterBackendResponse>, Status> {
        let spec = check::check_backend(request.into_inner()).map_err(|refusal| status::refusal(&refusal))?;
        let state = self.engine.register_backend(spec).await.map_err(status::engine)?;
        Ok(Response::new(proto::RegisterBackendResponse { backend: Some(self.backend(state)) }))
    }

    async fn deregister_backend(
        &self,
        request: Request<proto::DeregisterBackendRequest>,
    ) -> Result<Response<proto::DeregisterBackendResponse>, Status> {
        let name = request.into_inner().name;
        self.engine.deregister_backend(name).await.map_err(status::engine)?;
        Ok(Response::new(proto::DeregisterBackendResponse {}))
    }

    async fn list_backends(
        &self,
        request: Request<proto::ListBackendsRequest>,
    ) -> Result<Response<proto::ListBackendsResponse>, Status> {
        let proto::ListBackendsRequest { page_size, page_token } = request.into_inner();
        let limit = page::size(page_size)?;
        let after = page::name(&LIST, &page_token)?;
        let all = self.engine.list_backends().await.map_err(status::engine)?;
        let mut rest = all.into_iter().filter(|state| after.as_ref().is_none_or(|after| state.name > *after));
        let mut backends: Vec<_> = rest.by_ref().take(limit).map(|state| self.backend(state)).collect();
        let fitting = page::fitting(&backends).min(backends.len());
        let more = backends.len() > fitting || rest.next().is_some();
        backends.truncate(fitting);
        let last = backends.last().filter(|_| more);
        let next_page_token = last.map(|last| page::token(&LIST, last.name.as_bytes())).unwrap_or_default();
        Ok(Response::new(proto::ListBackendsResponse { backends, next_page_token }))
    }
}

impl Registry {
    fn backend(&self, state: BackendState) -> proto::Backend {
        let (health, detail) = match state.presence {
            Presence::NeverReached { error: None } => (BackendHealth::Unspecified, String::new()),
            Presence::NeverReached { error: Some(error) } | Presence::Away { error } => {
                (BackendHealth::Unreachable, error)
            }
            Presence::NotServing { error } => (BackendHealth::NotServing, error),
            Presence::Reached => (BackendHealth::Serving, String::new()),
        };
        let ago = i64::try_from(state.since.elapsed().as_nanos()).unwrap_or(i64::MAX);
        let since = Timestamp(self.clock.now().wall.0.saturating_sub(ago));
        proto::Backend {
            name: state.name,
            addresses: state.addresses,
            max_concurrency: state.limits.max_concurrency,
            max_calls_per_second: state.limits.max_calls_per_second,
            credential: state.credential.unwrap_or_default(),
            health: health.into(),
            health_detail: detail,
            health_time: Some(convert::timestamp(since)),
            tools: state.tools,
            configured: state.configured,
        }
    }
}
