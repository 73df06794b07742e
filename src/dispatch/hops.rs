//! Which toolbatches a call has come through. A call that comes back to where it was, or through more than one, would go round for
//! ever or as far as the chain is long, with a key and a retry of its own at every one.

use std::sync::Arc;

use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use uuid::Uuid;

/// The metadata that names them, the first one first, with commas between.
pub const HOPS_HEADER: &str = "toolbatch-via";

/// The longest name of one.
pub const MAX_INSTANCE_BYTES: usize = 64;

/// The name of this server's run, which nobody else has; empty where nothing is served, and calls come through nobody.
#[derive(Clone, Debug, Default)]
pub struct Instance(Arc<str>);

impl Instance {
    /// Another one each time.
    #[must_use]
    pub fn new() -> Self {
        Self(Uuid::now_v7().to_string().into())
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0
    }

    /// Tells a backend that a request has come through here, and before that through `via`, where that names one.
    pub(super) fn sign(&self, via: &str, metadata: &mut MetadataMap) {
        let hops = [via, &self.0].into_iter().filter(|hop| !hop.is_empty()).collect::<Vec<_>>().join(",");
        if let (false, Ok(hops)) = (hops.is_empty(), MetadataValue::<Ascii>::try_from(hops)) {
            metadata.insert(HOPS_HEADER, hops);
        }
    }
}
