//! What registers a backend.

use super::{Refusal, Violations};
use crate::{
    config::{self, MAX_ADDRESSES, MAX_CALLS_PER_SECOND, MAX_CONCURRENCY, backend_address, backend_name},
    proto,
};

/// The longest address: sixteen of them stand in one record of the store.
const MAX_ADDRESS_BYTES: usize = 220;

/// Checks what registers a backend. What the server sets is ignored.
///
/// # Errors
/// Every rule that it breaks.
pub fn check_backend(request: proto::RegisterBackendRequest) -> Result<config::Backend, Refusal> {
    let mut violations = Violations::default();
    let backend = request.backend.unwrap_or_default();
    if let Err(fault) = backend_name(&backend.name) {
        violations.add("backend.name", fault);
    }
    let count = backend.addresses.len();
    if !(1..=MAX_ADDRESSES).contains(&count) {
        violations.add("backend.addresses", format!("{count} arrived; expected 1 to {MAX_ADDRESSES}"));
    }
    for (index, address) in backend.addresses.iter().enumerate().take(MAX_ADDRESSES) {
        let field = format!("backend.addresses[{index}]");
        if address.len() > MAX_ADDRESS_BYTES {
            violations.add(field, format!("{} bytes arrived; expected at most {MAX_ADDRESS_BYTES}", address.len()));
        } else if let Err(fault) = backend_address(address) {
            violations.add(field, fault);
        } else if backend.addresses[..index].contains(address) {
            violations.add(field, "this address stands here twice; name each replica once");
        }
    }
    let (at_once, pace) = (backend.max_concurrency, backend.max_calls_per_second);
    if at_once > MAX_CONCURRENCY {
        let expected = format!("{at_once} arrived; expected 0 (any number) to {MAX_CONCURRENCY}");
        violations.add("backend.max_concurrency", expected);
    }
    if !(0.0..=MAX_CALLS_PER_SECOND).contains(&pace) {
        let expected = format!("{pace} arrived; expected 0 (any number) to {MAX_CALLS_PER_SECOND}");
        violations.add("backend.max_calls_per_second", expected);
    }
    if !backend.credential.is_empty()
        && let Err(fault) = backend_name(&backend.credential)
    {
        violations.add("backend.credential", fault);
    }
    violations.refuse()?;
    let credential = Some(backend.credential).filter(|name| !name.is_empty());
    Ok(config::Backend {
        name: backend.name,
        addresses: backend.addresses,
        credential,
        max_concurrency: at_once,
        max_calls_per_second: pace,
        ..config::Backend::default()
    })
}
