//! What a replica says of its own health (grpc.health.v1), where it serves that.

use std::{sync::Arc, time::Duration};

use tonic::{Code, Request};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use super::{connection::Connection, departure::Departure};

/// Health is read from memory: an answer that takes longer says nothing.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// It does not tell: being reachable is all there is to know.
    Untold,
    /// Whether it serves.
    Told(bool),
    /// There was no answer, or none that says anything; a replica that is busy may not get around to one.
    Unclear,
}

/// Asks once, for the server as a whole.
pub(super) async fn ask(connection: &Connection) -> Health {
    let mut request = Request::new(HealthCheckRequest { service: String::new() });
    request.set_timeout(TIMEOUT);
    let sender = connection.sender(&Arc::new(Departure::default()));
    let mut client = HealthClient::with_origin(sender, connection.origin());
    match tokio::time::timeout(TIMEOUT, client.check(request)).await {
        Ok(Ok(response)) => match response.into_inner().status() {
            ServingStatus::Serving => Health::Told(true),
            ServingStatus::NotServing => Health::Told(false),
            ServingStatus::Unknown | ServingStatus::ServiceUnknown => Health::Unclear,
        },
        Ok(Err(status)) if matches!(status.code(), Code::Unimplemented | Code::NotFound) => Health::Untold,
        Ok(Err(_)) | Err(_) => Health::Unclear,
    }
}
