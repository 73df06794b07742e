//! The tables of the listener: its certificates and its limits.

use std::{ops::RangeInclusive, path::PathBuf, time::Duration};

use toml::de::{DeTable, DeValue};

use super::{Field, Reader};
use crate::config::{Limits, Listen, Tls, value};

const TLS: [&str; 3] = ["cert", "key", "client_ca"];
const LIMITS: [&str; 23] = [
    "connections",
    "connections_per_peer",
    "handshake_timeout",
    "first_request_timeout",
    "idle_timeout",
    "connection_age",
    "connection_age_grace",
    "keepalive_interval",
    "keepalive_timeout",
    "stall_timeout",
    "streams_per_connection",
    "header_list_bytes",
    "stream_window_bytes",
    "connection_window_bytes",
    "send_buffer_bytes",
    "pending_resets",
    "local_resets",
    "waiting_requests",
    "open_batches",
    "agent_open_batches",
    "agent_requests_per_second",
    "request_bytes",
    "answer_bytes",
];

/// What each can be: a bound that is left out is no bound, so none can be switched off.
const TIMES: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_hours(24);
const COUNTS: RangeInclusive<i64> = 1..=1_000_000;
/// HTTP/2's smallest initial window, and its largest.
const BYTES: RangeInclusive<i64> = 1_024..=(1 << 31) - 1;

impl Reader<'_> {
    pub(super) fn tls(&mut self, field: Field<'_, '_>) -> Option<Tls> {
        let DeValue::Table(table) = field.value.get_ref() else {
            self.wrong_type(field, "a table with cert and key");
            return None;
        };
        self.unknown_fields(table, &TLS, " in tls", None);
        let mut path = |key: &str, name: &str| {
            let value = table.get(key)?;
            self.text(Field { value, name }, "a path", value::file)
        };
        let (cert, key) = (path("cert", "tls.cert"), path("key", "tls.key"));
        let client_ca = path("client_ca", "tls.client_ca");
        for name in ["cert", "key"].into_iter().filter(|name| !table.contains_key(*name)) {
            self.missing::<PathBuf>(field.value, field.name, &format!("{name} = \"server.pem\""));
        }
        Some(Tls { cert: cert?, key: key?, client_ca })
    }

    /// A socket of this machine needs no certificate, and a listener of both kinds would hide which one is spoken to.
    pub(super) fn guard_tls(&mut self, field: Field<'_, '_>, listen: &Listen) {
        if matches!(listen, Listen::Unix(_)) {
            self.fault(
                field,
                "a Unix socket speaks no TLS: its file says who may connect; leave [tls] out, or listen on a port",
            );
        }
    }

    pub(super) fn limits(&mut self, field: Field<'_, '_>) -> Limits {
        let mut limits = Limits::default();
        let DeValue::Table(table) = field.value.get_ref() else {
            self.wrong_type(field, "a table of bounds");
            return limits;
        };
        self.unknown_fields(table, &LIMITS, " in limits", None);
        for (key, to) in [
            ("handshake_timeout", &mut limits.handshake_timeout),
            ("first_request_timeout", &mut limits.first_request_timeout),
            ("idle_timeout", &mut limits.idle_timeout),
            ("connection_age", &mut limits.connection_age),
            ("connection_age_grace", &mut limits.connection_age_grace),
            ("keepalive_interval", &mut limits.keepalive_interval),
            ("keepalive_timeout", &mut limits.keepalive_timeout),
            ("stall_timeout", &mut limits.stall_timeout),
        ] {
            self.limit(table, key, to, |reader, field| reader.duration(field, TIMES));
        }
        for (key, to, bounds) in [
            ("connections", &mut limits.connections, COUNTS),
            ("connections_per_peer", &mut limits.connections_per_peer, COUNTS),
            ("send_buffer_bytes", &mut limits.send_buffer_bytes, BYTES),
            ("pending_resets", &mut limits.pending_resets, COUNTS),
            ("local_resets", &mut limits.local_resets, COUNTS),
            ("waiting_requests", &mut limits.waiting_requests, COUNTS),
            ("open_batches", &mut limits.open_batches, COUNTS),
            ("agent_open_batches", &mut limits.agent_open_batches, COUNTS),
            ("request_bytes", &mut limits.request_bytes, BYTES),
            ("answer_bytes", &mut limits.answer_bytes, BYTES),
        ] {
            self.limit(table, key, to, |reader, field| usize::try_from(reader.integer(field, bounds)?).ok());
        }
        for (key, to, bounds) in [
            ("streams_per_connection", &mut limits.streams_per_connection, COUNTS),
            ("agent_requests_per_second", &mut limits.agent_requests_per_second, COUNTS),
            ("header_list_bytes", &mut limits.header_list_bytes, BYTES),
            ("stream_window_bytes", &mut limits.stream_window_bytes, BYTES),
            ("connection_window_bytes", &mut limits.connection_window_bytes, BYTES),
        ] {
            self.limit(table, key, to, |reader, field| u32::try_from(reader.integer(field, bounds)?).ok());
        }
        limits
    }

    fn limit<T>(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        to: &mut T,
        read: impl FnOnce(&mut Self, Field<'_, '_>) -> Option<T>,
    ) {
        let Some(value) = table.get(key) else { return };
        let name = format!("limits.{key}");
        if let Some(value) = read(self, Field { value, name: &name }) {
            *to = value;
        }
    }

    pub(super) fn integer(&mut self, field: Field<'_, '_>, bounds: RangeInclusive<i64>) -> Option<i64> {
        let DeValue::Integer(number) = field.value.get_ref() else {
            self.wrong_type(field, "a whole number, without quotes");
            return None;
        };
        let value = i64::from_str_radix(number.as_str(), number.radix()).ok();
        let value = value.filter(|value| bounds.contains(value));
        if value.is_none() {
            self.fault(field, format!("{number} is out of bounds; expected {} to {}", bounds.start(), bounds.end()));
        }
        value
    }
}
