//! The values of single fields: text in; a checked value, or what is wrong with the text, out.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use http::Uri;

use super::{Destination, Listen};
use crate::json;

/// The longest backend name: that of a DNS label, so that a name can serve as a host name and as a metric's label.
const MAX_BACKEND_NAME: usize = 63;

/// The longest path of a Unix socket that Linux takes (`sun_path` less its closing zero).
const MAX_SOCKET_PATH: usize = 107;

/// The longest tool name, as in a call (R1).
const MAX_TOOL: usize = 256;

/// The longest id of an agent, as for the `agent_id` of a batch (R1).
const MAX_ID: usize = 256;

/// The longest name of a certificate, in bytes: more than a DNS name can have.
const MAX_CERT_NAME: usize = 256;
/// The longest name of a tenant: it stands in metadata.
const MAX_TENANT: usize = 64;
/// The longest unit of usage, as tools may report them.
const MAX_UNIT: usize = 64;

/// The units a duration can have, and their length in milliseconds.
const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads `"30s"`: a whole number and one of the units ms, s, m, h and d.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, milliseconds)| *milliseconds);
    let milliseconds = number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    milliseconds.map(Duration::from_millis).ok_or_else(|| {
        format!(
            "{text:?} is not a duration; expected a whole number and one unit of ms, s, m, h or d, such as \"500ms\" or \"90s\""
        )
    })
}

/// Writes a duration as [`duration`] reads it, in the largest unit that divides it.
pub(super) fn duration_text(duration: Duration) -> String {
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let whole = |unit: &&(&str, u64)| milliseconds != 0 && milliseconds % unit.1 == 0;
    let (name, factor) = UNITS.iter().rev().find(whole).unwrap_or(&("s", 1_000));
    format!("{}{name}", milliseconds / factor)
}

/// Reads where to listen.
pub(super) fn listen(text: &str) -> Result<Listen, String> {
    if text.starts_with("unix:") {
        return socket_path(text).map(Listen::Unix);
    }
    let local = text.strip_prefix("localhost:").and_then(|port| decimal_port(port).ok());
    if let Some(port) = local {
        return Ok(Listen::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)));
    }
    text.parse().map(Listen::Tcp).map_err(|_| {
        format!(
            "{text:?} is no address to listen on; expected an IP address or localhost, and a port (\"127.0.0.1:50051\", \
             \"[::1]:50051\"; port 0 takes a free one), or \"unix:/run/toolbatch.sock\""
        )
    })
}

/// Whether TLS is spoken at the address of a backend.
pub(super) fn is_https(text: &str) -> bool {
    text.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}

/// Checks one address of a backend: `http://HOST:PORT`, `https://HOST:PORT` or `unix:/PATH`.
///
/// # Errors
/// What arrived, and what is expected.
pub fn backend_address(text: &str) -> Result<(), String> {
    if text.starts_with("unix:") {
        let path = socket_path(text)?;
        return if path.is_absolute() {
            Ok(())
        } else {
            Err(format!(
                "{text:?} is a relative path; a backend's socket needs an absolute one, such as \"unix:/run/tools.sock\""
            ))
        };
    }
    if text.contains('@') {
        // The text is not repeated: it may hold a password.
        return Err("a backend address carries no user name or password; expected \"http://HOST:PORT\"".to_owned());
    }
    let expected = || {
        format!(
            "{text:?} is no backend address; expected \"http://HOST:PORT\", \"https://HOST:PORT\" or \"unix:/PATH\""
        )
    };
    let uri: Uri = text.parse().map_err(|_| expected())?;
    let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return Err(expected()) };
    if uri.path_and_query().is_some_and(|rest| rest.as_str() != "/") || text.contains('#') {
        return Err(format!("{text:?} has a path, but gRPC's paths are fixed; expected \"http://HOST:PORT\""));
    }
    let port = authority.port().map(|port| decimal_port(port.as_str()));
    if authority.host().is_empty() || !matches!(port, Some(Ok(1..))) {
        return Err(format!("{text:?} needs a host and a port from 1 to 65535; expected \"http://HOST:PORT\""));
    }
    Ok(())
}

/// Checks a backend's name.
///
/// # Errors
/// What arrived, and what is expected.
pub fn backend_name(text: &str) -> Result<(), String> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=MAX_BACKEND_NAME).contains(&text.len()) && text.bytes().all(allowed) {
        Ok(())
    } else {
        Err(format!(
            "{text:?} is no backend name; expected 1 to {MAX_BACKEND_NAME} lower-case letters, digits and hyphens"
        ))
    }
}

/// Checks an entry of `not_batchable`: a tool's name, or the beginning of some with a closing `*`.
pub(super) fn tool_pattern(text: &str) -> Result<(), String> {
    let name = text.strip_suffix('*').unwrap_or(text);
    if name.is_empty() {
        return Err(format!(
            "{text:?} names no tool; expected a tool's name, or the beginning of some, such as \"await_*\""
        ));
    }
    if name.contains('*') {
        return Err(format!("{text:?}: \"*\" may only be the last character; write one entry for each beginning"));
    }
    if text.len() > MAX_TOOL || text.chars().any(char::is_control) {
        return Err(format!(
            "{text:?} is no tool name; expected at most {MAX_TOOL} bytes (this has {}) without control characters",
            text.len()
        ));
    }
    Ok(())
}

/// Checks a tool's name.
pub(super) fn tool(text: &str) -> Result<String, String> {
    bounded(text, MAX_TOOL, "tool name")
}

/// Checks the id of an agent or operator.
pub(super) fn id(text: &str) -> Result<String, String> {
    bounded(text, MAX_ID, "id")
}

/// Checks a tenant's name.
pub(crate) fn tenant(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !(1..=MAX_TENANT).contains(&text.len()) || !text.bytes().all(allowed) {
        let text = json::quote(text);
        return Err(format!(
            "{text} is no tenant; expected 1 to {MAX_TENANT} ASCII letters, digits, hyphens, underscores and dots"
        ));
    }
    Ok(text.to_owned())
}

/// Checks a name as certificates have it: a URI where there is a colon, and a DNS name otherwise, for which case does not count.
pub(super) fn cert_name(text: &str) -> Result<String, String> {
    if !(1..=MAX_CERT_NAME).contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "{text:?} is no name in a certificate; expected a DNS name such as \"orders.example.com\", or a URI such as \
             \"spiffe://example.com/orders\", of 1 to {MAX_CERT_NAME} visible ASCII characters"
        ));
    }
    Ok(if text.contains(':') { text.to_owned() } else { text.to_ascii_lowercase() })
}

fn bounded(text: &str, most: usize, what: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > most || text.chars().any(char::is_control) {
        return Err(format!(
            "{text:?} is no {what}; expected 1 to {most} bytes (this has {}) without control characters",
            text.len()
        ));
    }
    Ok(text.to_owned())
}

/// Checks an environment variable's name.
pub(super) fn variable(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(['=', '\0']) {
        return Err(format!("{text:?} is no environment variable; expected its name, such as \"ORDERS_TOKEN\""));
    }
    Ok(text.to_owned())
}

/// Reads the SHA-256 of a token.
pub(super) fn sha256(text: &str) -> Result<[u8; 32], String> {
    let mut digest = [0; 32];
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let read = |pair: &[u8; 2]| {
        let digits = pair.iter().all(u8::is_ascii_hexdigit).then_some(pair)?;
        u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let bytes: Option<Vec<u8>> = pairs.iter().map(read).collect();
    match bytes {
        Some(bytes) if rest.is_empty() && bytes.len() == digest.len() => digest.copy_from_slice(&bytes),
        // The text is not repeated: it may be the token itself.
        Some(_) | None => {
            return Err(format!(
                "the {} bytes here are no SHA-256; expected 64 hexadecimal digits, as `printf %s TOKEN | sha256sum` prints them",
                text.len()
            ));
        }
    }
    Ok(digest)
}

/// Checks a currency's code.
pub(super) fn currency(text: &str) -> Result<String, String> {
    if text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase()) {
        Ok(text.to_owned())
    } else {
        Err(format!("{text:?} is no currency; expected three capital letters (ISO 4217), such as \"USD\""))
    }
}

/// Checks a unit of usage.
pub(super) fn unit(text: &str) -> Result<String, String> {
    bounded(text, MAX_UNIT, "unit")
}

/// Checks a metadata key that a credential is sent under. Those of gRPC and HTTP/2 itself cannot be.
pub(super) fn header(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    let taken = ["content-type", "te", "user-agent", "host", "connection", "content-length", "transfer-encoding"];
    let fits = (1..=MAX_UNIT).contains(&text.len()) && text.bytes().all(allowed);
    if fits && !text.starts_with("grpc-") && !text.ends_with("-bin") && !taken.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "{text:?} is no metadata key for a credential; expected 1 to {MAX_UNIT} lower-case letters, digits, -, _ and ., such as \
         \"authorization\", and none that gRPC uses itself"
    ))
}

/// Reads where registered backends may be: a network or a folder of sockets.
pub(super) fn destination(text: &str) -> Result<Destination, String> {
    let expected = || {
        format!(
            "{text:?} is no place for backends; expected a network such as \"10.0.0.0/8\" or a folder such as \"unix:/run/tools/\""
        )
    };
    if let Some(folder) = text.strip_prefix("unix:") {
        return if folder.starts_with('/') && !folder.contains('\0') {
            Ok(Destination::Folder(folder.into()))
        } else {
            Err(expected())
        };
    }
    let (base, bits) = text.split_once('/').ok_or_else(expected)?;
    let base: IpAddr = base.parse().map_err(|_| expected())?;
    let most = if base.is_ipv4() { 32 } else { 128 };
    let bits = bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(expected)?;
    Ok(Destination::Network { base, bits })
}

/// Checks a folder's path.
pub(super) fn folder(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() || text.contains('\0') {
        return Err(format!("{text:?} is no path; expected that of a folder, such as \"/var/lib/toolbatch\""));
    }
    Ok(PathBuf::from(text))
}

/// Checks a file's path.
pub(super) fn file(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() || text.contains('\0') {
        return Err(format!("{text:?} is no path; expected that of a file, such as \"/etc/toolbatch/server.pem\""));
    }
    Ok(PathBuf::from(text))
}

/// The path in `unix:/run/x.sock` or `unix:///run/x.sock`, which gRPC clients know both.
fn socket_path(text: &str) -> Result<PathBuf, String> {
    let path = text.strip_prefix("unix://").or_else(|| text.strip_prefix("unix:")).unwrap_or(text);
    if text.starts_with("unix://") && !path.starts_with('/') {
        return Err(format!("{text:?} is no socket path; after \"unix://\" it has to begin with a third \"/\""));
    }
    if path.is_empty() || path.contains('\0') || path.len() > MAX_SOCKET_PATH {
        return Err(format!(
            "{text:?} is no socket path; expected \"unix:\" and 1 to {MAX_SOCKET_PATH} bytes (this has {}), such as \
             \"unix:/run/toolbatch.sock\"",
            path.len()
        ));
    }
    Ok(PathBuf::from(path))
}

/// Digits only: the standard parser takes a plus sign too.
fn decimal_port(text: &str) -> Result<u16, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| format!("{text:?} is no port; expected 0 to 65535"))
}
