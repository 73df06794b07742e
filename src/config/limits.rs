//! The bounds on connections, and on what they bring: untrusted clients have to fit into them.

use std::time::Duration;

/// See the sample for what each is for. The defaults are those of edge proxies where gRPC has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections in all.
    pub connections: usize,
    /// Connections from one address; none for this machine.
    pub connections_per_peer: usize,
    /// For TLS, from the connection's first moment.
    pub handshake_timeout: Duration,
    /// For the first request, from the handshake.
    pub first_request_timeout: Duration,
    /// How long a connection without a running request stays.
    pub idle_timeout: Duration,
    /// How old a connection becomes, a tenth more or less.
    pub connection_age: Duration,
    /// How long its requests may go on then.
    pub connection_age_grace: Duration,
    /// How often a connection is asked whether the other side is there.
    pub keepalive_interval: Duration,
    /// How long it may take to answer that.
    pub keepalive_timeout: Duration,
    /// How long a reader may take nothing of what is there for it.
    pub stall_timeout: Duration,
    /// Requests that run on one connection at a time.
    pub streams_per_connection: u32,
    /// The headers of one request, as HTTP/2 counts them.
    pub header_list_bytes: u32,
    /// What one request may send before it is read.
    pub stream_window_bytes: u32,
    /// What all requests of a connection may send before they are read.
    pub connection_window_bytes: u32,
    /// What of one answer waits in a connection.
    pub send_buffer_bytes: usize,
    /// Requests that were reset before they were looked at.
    pub pending_resets: usize,
    /// Requests that had to be reset, as they broke the protocol.
    pub local_resets: usize,
    /// Requests whose answer has not begun, of all clients together.
    pub waiting_requests: usize,
    /// Batches that are not finished.
    pub open_batches: usize,
    /// The same of one agent.
    pub agent_open_batches: usize,
    /// Requests of one agent in a second, and at once.
    pub agent_requests_per_second: u32,
    /// Requests in memory, of all clients together.
    pub request_bytes: usize,
    /// Answers in memory that their readers have not taken, of all clients together.
    pub answer_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1_024,
            connections_per_peer: 64,
            handshake_timeout: Duration::from_secs(10),
            first_request_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(10),
            connection_age: Duration::from_mins(30),
            connection_age_grace: Duration::from_mins(5),
            keepalive_interval: Duration::from_secs(30),
            keepalive_timeout: Duration::from_secs(20),
            stall_timeout: Duration::from_mins(1),
            streams_per_connection: 100,
            header_list_bytes: 16 * 1_024,
            stream_window_bytes: 64 * 1_024,
            connection_window_bytes: 1_024 * 1_024,
            send_buffer_bytes: 64 * 1_024,
            pending_resets: 20,
            local_resets: 128,
            waiting_requests: 4_096,
            open_batches: 20_000,
            agent_open_batches: 5_000,
            agent_requests_per_second: 1_000,
            request_bytes: 256 * 1_024 * 1_024,
            answer_bytes: 256 * 1_024 * 1_024,
        }
    }
}
