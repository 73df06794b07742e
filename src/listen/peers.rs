//! How many connections there are, in all and from each address.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Whoever has an IPv6 address has its whole /64.
const V6_NETWORK: u128 = !(u64::MAX as u128);

#[derive(Debug)]
pub(super) struct Peers {
    most: usize,
    most_of_one: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_peer: HashMap<IpAddr, usize>,
    /// It was logged that there is no seat left, and many have not become free since.
    told: bool,
}

/// A connection's place among those there may be. Dropped, it is free.
#[derive(Debug)]
pub(super) struct Seat {
    peers: Arc<Peers>,
    peer: Option<IpAddr>,
}

impl Peers {
    pub(super) fn new(most: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { most, most_of_one, taken: Mutex::default() })
    }

    /// A seat for a connection, if there is one. A peer of this machine has no bound of its own.
    pub(super) fn seat(self: &Arc<Self>, peer: Option<IpAddr>) -> Option<Seat> {
        let peer = peer.map(network);
        let mut taken = self.lock();
        if taken.all >= self.most {
            if !std::mem::replace(&mut taken.told, true) {
                tracing::warn!(
                    connections = self.most,
                    "further connections are refused: limits.connections is reached"
                );
            }
            return None;
        }
        if let Some(peer) = peer {
            let of_one = taken.by_peer.entry(peer).or_default();
            if *of_one >= self.most_of_one {
                tracing::debug!(%peer, "a connection is refused: limits.connections_per_peer is reached");
                return None;
            }
            *of_one += 1;
        }
        taken.all += 1;
        drop(taken);
        Some(Seat { peers: Arc::clone(self), peer })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.peers.lock();
        taken.all -= 1;
        taken.told &= taken.all > self.peers.most / 2;
        if let Some(peer) = self.peer
            && let Some(of_one) = taken.by_peer.get_mut(&peer)
        {
            *of_one -= 1;
            if *of_one == 0 {
                taken.by_peer.remove(&peer);
            }
        }
    }
}

fn network(peer: IpAddr) -> IpAddr {
    match peer {
        IpAddr::V4(_) => peer,
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & V6_NETWORK)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seats(peers: &Arc<Peers>, peer: Option<&str>, count: usize) -> Vec<Seat> {
        let peer = peer.map(|text| text.parse().unwrap());
        (0..count).map_while(|_| peers.seat(peer)).collect()
    }

    #[test]
    fn each_address_has_its_bound_and_all_have_one_together() {
        let peers = Peers::new(5, 2);
        let first = seats(&peers, Some("192.0.2.1"), 9);
        assert_eq!(first.len(), 2);
        let second = seats(&peers, Some("192.0.2.2"), 9);
        assert_eq!(second.len(), 2);
        let third = seats(&peers, Some("192.0.2.3"), 9);
        assert_eq!(third.len(), 1, "all together have five");
        assert!(seats(&peers, None, 1).is_empty());
        drop(first);
        assert_eq!(seats(&peers, Some("192.0.2.1"), 9).len(), 2);
        drop((second, third));
        assert!(peers.lock().by_peer.is_empty(), "an address that left is forgotten");
    }

    #[test]
    fn this_machine_has_no_bound_of_its_own() {
        let peers = Peers::new(100, 2);
        assert_eq!(seats(&peers, None, 101).len(), 100);
    }

    #[test]
    fn an_ipv6_network_counts_as_one_peer() {
        let peers = Peers::new(100, 2);
        let first = seats(&peers, Some("2001:db8::1"), 1);
        let second = seats(&peers, Some("2001:db8::ffff:2"), 9);
        assert_eq!((first.len(), second.len()), (1, 1));
        assert_eq!(seats(&peers, Some("2001:db8:0:1::1"), 9).len(), 2);
    }
}
