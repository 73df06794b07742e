//! Ports for programs that are started again at the same address.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use anyhow::bail;

/// Below those that systems give to outgoing connections, so that a port stays free while its program is away.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// Gives out ports that nobody listens on.
pub(crate) struct Ports {
    next: u16,
}

impl Ports {
    /// Different processes begin at different ports.
    pub(crate) fn new() -> Self {
        let place = std::process::id().wrapping_mul(61) % u32::from(COUNT);
        Self { next: u16::try_from(place).unwrap_or(0) }
    }

    pub(crate) fn free(&mut self) -> anyhow::Result<SocketAddr> {
        for _ in 0..COUNT {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, FIRST + self.next));
            self.next = (self.next + 1) % COUNT;
            if TcpListener::bind(address).is_ok() {
                return Ok(address);
            }
        }
        bail!("no port from {FIRST} to {} is free", FIRST + COUNT - 1)
    }
}
