//! Where registered backends may be. A name is resolved and checked each time it is connected to, and the connection goes to the address
//! that was checked, so that a name that is made to lead elsewhere later leads nowhere.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::Path,
};

use crate::config::Destination;

/// The names by which clouds' hosts find what gives their secrets out, wherever those lead.
const METADATA_HOSTS: [&str; 7] = [
    "metadata",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
    "instance-data",
    "instance-data.ec2.internal",
];

/// The places that registrations may point to.
#[derive(Debug)]
pub(super) struct Destinations(Vec<Destination>);

impl Default for Destinations {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl Destinations {
    /// These; without any, loopback.
    pub(super) fn new(allowed: &[Destination]) -> Self {
        if allowed.is_empty() { Self(Destination::loopback().to_vec()) } else { Self(allowed.to_vec()) }
    }

    /// Whether a backend may have this name, whatever address it has at the moment.
    pub(super) fn check_host(host: &str) -> Result<(), String> {
        let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let is_metadata = METADATA_HOSTS.iter().any(|known| *known == name);
        if is_metadata { Err(format!("{name} is where a cloud's hosts give their secrets out")) } else { Ok(()) }
    }

    /// Whether a backend may be at this address. An IPv4 address in the clothes of an IPv6 one counts as what it is.
    pub(super) fn check_ip(&self, ip: IpAddr) -> Result<(), String> {
        let ip = ip.to_canonical();
        if is_never_a_backend(ip) {
            return Err(format!("{ip} is no host's own address, or one that hosts give their secrets out at"));
        }
        let within = self.0.iter().any(|allowed| match allowed {
            Destination::Network { base, bits } => contains(*base, *bits, ip),
            Destination::Folder(_) => false,
        });
        if within { Ok(()) } else { Err(format!("{ip} is in none of the networks that registrations may point to")) }
    }

    /// Whether a backend may have this socket, wherever its path really leads.
    pub(super) fn check_socket(&self, path: &Path) -> Result<(), String> {
        let real = std::fs::canonicalize(path).map_err(|error| error.to_string())?;
        let within = self.0.iter().any(|allowed| match allowed {
            Destination::Folder(folder) => std::fs::canonicalize(folder).is_ok_and(|folder| real.starts_with(folder)),
            Destination::Network { .. } => false,
        });
        if within { Ok(()) } else { Err("it lies in none of the folders that registrations may point to".to_owned()) }
    }
}

/// Link-local addresses, where clouds serve credentials; and what no host has for itself.
fn is_never_a_backend(ip: IpAddr) -> bool {
    ip.is_unspecified()
        || ip.is_multicast()
        || match ip {
            // The last is where Alibaba's hosts serve credentials.
            IpAddr::V4(ip) => ip.is_link_local() || ip.is_broadcast() || ip == Ipv4Addr::new(100, 100, 100, 200),
            // The last is where Amazon's hosts serve credentials by IPv6.
            IpAddr::V6(ip) => ip.is_unicast_link_local() || ip == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
        }
}

fn contains(base: IpAddr, bits: u8, ip: IpAddr) -> bool {
    let same = |width: u32, difference: u128| difference.checked_shr(width - u32::from(bits)).unwrap_or(0) == 0;
    match (base, ip) {
        (IpAddr::V4(base), IpAddr::V4(ip)) => same(32, u128::from(u32::from(base) ^ u32::from(ip))),
        (IpAddr::V6(base), IpAddr::V6(ip)) => same(128, u128::from(base) ^ u128::from(ip)),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(destinations: &Destinations, ip: &str) -> bool {
        destinations.check_ip(ip.parse().unwrap()).is_ok()
    }

    #[test]
    fn without_a_list_only_loopback_is_allowed() {
        let loopback = Destinations::default();
        for ip in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(allows(&loopback, ip), "{ip}");
        }
        for ip in ["10.0.0.1", "0.0.0.0", "::", "169.254.169.254", "::ffff:10.0.0.1", "8.8.8.8", "fe80::1", "::2"] {
            assert!(!allows(&loopback, ip), "{ip}");
        }
        assert!(loopback.check_socket(Path::new("/")).is_err());
    }

    #[test]
    fn a_list_allows_what_it_says_and_never_what_is_no_backend() {
        let network = |base: &str, bits| Destination::Network { base: base.parse().unwrap(), bits };
        let ten = Destinations::new(&[network("10.0.0.0", 8), network("fd12::", 16)]);
        assert!(allows(&ten, "10.255.0.1") && allows(&ten, "::ffff:10.1.1.1") && allows(&ten, "fd12::9"));
        assert!(!allows(&ten, "11.0.0.1") && !allows(&ten, "127.0.0.1") && !allows(&ten, "fd13::9"));
        let all = Destinations::new(&[network("0.0.0.0", 0), network("::", 0)]);
        assert!(allows(&all, "8.8.8.8") && allows(&all, "2001:db8::1"));
        for ip in [
            "0.0.0.0",
            "::",
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "fe80::1",
            "224.0.0.1",
            "ff02::1",
            "255.255.255.255",
            "fd00:ec2::254",
            "100.100.100.200",
        ] {
            assert!(!allows(&all, ip), "{ip}");
        }
    }

    #[test]
    fn metadata_services_are_known_by_name() {
        for host in ["metadata.google.internal", "METADATA.Google.Internal.", "metadata", "instance-data.ec2.internal"]
        {
            assert!(Destinations::check_host(host).is_err(), "{host}");
        }
        for host in ["tools.internal", "metadata.example.com", "localhost", "127.0.0.1", "[::1]"] {
            assert_eq!(Destinations::check_host(host), Ok(()), "{host}");
        }
    }

    #[test]
    fn a_link_out_of_the_folder_leads_nowhere() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = Destinations::new(&[Destination::Folder(inside.path().to_owned())]);
        std::fs::write(outside.path().join("socket"), "").unwrap();
        std::fs::write(inside.path().join("socket"), "").unwrap();
        std::os::unix::fs::symlink(outside.path().join("socket"), inside.path().join("link")).unwrap();
        assert_eq!(folder.check_socket(&inside.path().join("socket")), Ok(()));
        for path in [outside.path().join("socket"), inside.path().join("link"), inside.path().join("../x")] {
            assert!(folder.check_socket(&path).is_err(), "{}", path.display());
        }
    }
}
