//! The server's configuration: a checked value, made from a TOML file or from the defaults.
//!
//! A file is read whole and all its faults are reported at once ([`Error::Invalid`]); nothing of a faulty file takes effect.
//! Relative paths, in the file and on the command line alike, are relative to the working directory of the process.

use std::{
    fmt,
    fs::File,
    io::{self, Read as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

mod error;
mod limits;
mod read;
#[cfg(test)]
mod tests;
mod value;

pub use error::{Error, Fault};
pub use limits::Limits;
pub use read::{MAX_ADDRESSES, MAX_CALLS_PER_SECOND, MAX_CONCURRENCY};
pub(crate) use value::tenant;
pub use value::{backend_address, backend_name};

use crate::{batch::gate, prices::Prices};

/// A commented file with every field, its bounds and its default; it parses to [`Config::default`].
pub const SAMPLE: &str = include_str!("sample.toml");

/// The most bytes of a file that are read: a hundred times what a large installation writes, and small enough that a wrong
/// path (a log, a device) is refused instead of filling the memory.
pub const MAX_FILE: u64 = 1 << 20;

/// The longest `shutdown_grace`. Supervisors kill what takes longer, which costs the running calls their outcome.
pub const MAX_SHUTDOWN_GRACE: Duration = Duration::from_mins(10);

/// The shortest `retention`: what tests and demonstrations want.
pub const MIN_RETENTION: Duration = Duration::from_secs(1);

/// The longest `retention`. Who keeps records for longer is better served by an archive of them.
pub const MAX_RETENTION: Duration = Duration::from_hours(3_650 * 24);

/// The tenant of an agent that names none, and of an operator's request that does (R12).
pub const DEFAULT_TENANT: &str = "default";

/// The longest `call_timeout`, as for the `call_timeout` of a batch (R1).
pub const MAX_CALL_TIMEOUT: Duration = Duration::from_hours(24);

/// What no batch may call unless the file says otherwise (R3): tools that pause or end an agent, and those of the agent loop.
pub const NOT_BATCHABLE: [&str; 9] = [
    "await_*",
    "ask_user",
    "task_complete",
    "delegate_tasks",
    "web_automation",
    "run_code",
    "continue",
    "task_metadata",
    "milestone_*",
];

/// Everything that `toolbatch serve` can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where clients connect to.
    pub listen: Listen,
    /// The folder of the embedded store.
    pub data_dir: PathBuf,
    /// How long running calls may finish after SIGTERM; 0 to [`MAX_SHUTDOWN_GRACE`].
    pub shutdown_grace: Duration,
    /// How long a task's steps, results, keys and batches are kept after anything last happened in it, while a server runs;
    /// [`MIN_RETENTION`] to [`MAX_RETENTION`].
    pub retention: Duration,
    /// Bound on one attempt of one call, where neither the batch nor the tool sets one; above 0, to [`MAX_CALL_TIMEOUT`].
    pub call_timeout: Duration,
    /// Listen beyond loopback and Unix sockets although nobody is asked for a token, or tokens arrive unencrypted.
    pub insecure: bool,
    /// The certificates of a TCP port; none: it speaks no TLS.
    pub tls: Option<Tls>,
    /// The bounds on connections and on what they bring.
    pub limits: Limits,
    /// Tools that no batch may call: names, or prefixes that end in `*`. `execute_tool_batch`, `batch_tool` and tools that
    /// declare `pauses` are refused whatever stands here.
    pub not_batchable: Vec<String>,
    /// The tool backends; no two of one name.
    pub backends: Vec<Backend>,
    /// What backends are shown; no two of one name.
    pub credentials: Vec<Credential>,
    /// Who may call what. Without any agent or operator everybody may do everything (open mode).
    pub agents: Vec<Agent>,
    /// Who may do everything, settle keys included.
    pub operators: Vec<Operator>,
    /// What the tools' units cost.
    pub prices: Prices,
    /// What holds for registered backends.
    pub registration: Registration,
}

/// What holds for registered backends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    /// Where they may be; without any, on loopback.
    pub allow: Vec<Destination>,
    /// For those of them at `https://`.
    pub tls: BackendTls,
}

/// Where registered backends may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The addresses whose first `bits` bits are those of `base`: `10.0.0.0/8`, `fd12:3456::/32`.
    Network {
        /// Any address of it.
        base: IpAddr,
        /// At most 32, or 128 for IPv6.
        bits: u8,
    },
    /// Sockets in this folder: `unix:/run/tools/`.
    Folder(PathBuf),
}

impl Destination {
    /// This machine, by both families.
    #[must_use]
    pub fn loopback() -> [Self; 2] {
        [
            Self::Network { base: IpAddr::V4(Ipv4Addr::LOCALHOST), bits: 8 },
            Self::Network { base: IpAddr::V6(Ipv6Addr::LOCALHOST), bits: 128 },
        ]
    }
}

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// `127.0.0.1:50051`; port 0 takes a free one.
    Tcp(SocketAddr),
    /// `unix:/run/toolbatch.sock`.
    Unix(PathBuf),
}

/// What the listener shows, and asks for, before anything is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Its certificate chain, PEM.
    pub cert: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
    /// Who signs the certificates that clients have to show, PEM; none: clients show none.
    pub client_ca: Option<PathBuf>,
}

/// How TLS is spoken to a backend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackendTls {
    /// Who signs its certificates, PEM; none: the system's authorities.
    pub ca: Option<PathBuf>,
    /// What it is shown (mTLS).
    pub identity: Option<Identity>,
}

/// What one side of TLS shows of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The certificate chain, PEM.
    pub cert: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
}

/// A tool backend of the configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Backend {
    /// 1 to 63 lower-case letters, digits and hyphens.
    pub name: String,
    /// Its 1 to 16 replicas: `http://127.0.0.1:7001`, `https://erp.internal:7001`, `unix:/run/tools.sock`.
    pub addresses: Vec<String>,
    /// For those of them at `https://`.
    pub tls: BackendTls,
    /// The name of what it is shown with each call.
    pub credential: Option<String>,
    /// Calls at once, over all batches: 1 to 10,000; 0: any number.
    pub max_concurrency: u32,
    /// Calls that begin in a second, over all batches: above 0 and up to 1,000,000; 0: any number.
    pub max_calls_per_second: f64,
}

impl Backend {
    /// What it takes, and that it breaks where attempts get lost.
    #[must_use]
    pub fn limits(&self) -> gate::Limits {
        let Self { max_concurrency, max_calls_per_second, .. } = *self;
        gate::Limits { max_concurrency, max_calls_per_second, breaks: true }
    }
}

/// What backends are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// As backends name it.
    pub name: String,
    /// The metadata key that it is sent under.
    pub header: String,
    /// Its value.
    pub value: Secret,
}

/// An agent of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// 1 to 256 bytes without control characters; no two agents of one id, in whichever tenants: lists, logs and records name an
    /// agent by its id alone.
    pub id: String,
    /// Whose tasks it shares: 1 to 64 ASCII letters, digits, hyphens, underscores and dots.
    pub tenant: String,
    /// What it shows: any one of these.
    pub tokens: Vec<Token>,
    /// What it may call.
    pub tools: Vec<Binding>,
}

/// A name that an agent calls, and the base tool behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// As the agent calls it; each once in a list.
    pub name: String,
    /// As its backend lists it.
    pub tool: String,
}

/// An operator of the configuration. It belongs to no tenant; each request names the one that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// As records name who did something; no two operators of one id.
    pub id: String,
    /// What it shows: any one of these.
    pub tokens: Vec<Token>,
}

/// A token, what tells that it is the right one, or what stands in a token's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// The token itself, kept elsewhere.
    Secret(Secret),
    /// Its SHA-256.
    Sha256([u8; 32]),
    /// A DNS name, in lower case, or a URI: who connects with a client certificate that has it needs no token.
    Certificate(String),
}

/// Where a secret comes from. It stands in no configuration itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// An environment variable of the server.
    Env(String),
    /// A file; blanks and line ends around the secret do not count.
    File(PathBuf),
}

impl Default for Config {
    /// What runs without a file: open mode on loopback port 50051, the store in `./data`, no backends.
    fn default() -> Self {
        Self {
            listen: Listen::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 50_051)),
            data_dir: PathBuf::from("data"),
            shutdown_grace: Duration::from_secs(30),
            retention: Duration::from_hours(30 * 24),
            call_timeout: Duration::from_mins(5),
            insecure: false,
            tls: None,
            limits: Limits::default(),
            not_batchable: NOT_BATCHABLE.map(String::from).to_vec(),
            backends: Vec::new(),
            credentials: Vec::new(),
            agents: Vec::new(),
            operators: Vec::new(),
            prices: Prices::default(),
            registration: Registration::default(),
        }
    }
}

impl Config {
    /// Reads and checks a file; fields that it leaves out have their defaults.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let origin = path.display().to_string();
        let text = read_file(path).map_err(|source| Error::Unreadable { origin: origin.clone(), source })?;
        Self::parse(&text, &origin)
    }

    /// Checks a file's text. `origin` is what messages call it, usually its path.
    ///
    /// A text that is no TOML is answered with its syntax errors alone, since the fields after one may be misread; otherwise
    /// with every wrong, unknown or missing field, in the order of the text.
    pub fn parse(text: &str, origin: &str) -> Result<Self, Error> {
        read::config(text).map_err(|faults| Error::Invalid { origin: origin.to_owned(), faults })
    }
}

impl Listen {
    /// Only processes of this machine can connect.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

fn read_file(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        let message = format!("it is over {MAX_FILE} bytes, which no configuration needs; is the path right?");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        // The pieces before the byte: one for each line begun.
        let line = error.as_bytes()[..at].split(|byte| *byte == b'\n').count();
        io::Error::new(io::ErrorKind::InvalidData, format!("line {line} is not UTF-8, which TOML has to be"))
    })
}
