//! A hop as Python sees it.

use super::fields::row_with_fields;
use crate::result::hops::Hop;
use crate::result::names::Names;

row_with_fields! {
    /// A hop of a path over relays: the fields of [`Hop`] and these. `client` is one of many.
    HopRow(hop: &Hop, names: &Names) and (hop) {
        client: String = hop.clients.first().map_or_else(String::new, |&addr| names.addr(addr)),
        /// The relays that were seen to be its clients, as they are called themselves.
        called_by: Vec<String> = hop.called_by.iter().map(|&relay| names.endpoint(relay)).collect(),
        server: String = names.endpoint(hop.server),
    }
}
