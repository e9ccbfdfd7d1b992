//! Rows as Python sees them, for reports. `scripts/stub.py` writes their types.

mod connection;
mod exchange;
mod fields;
mod group;
mod hop;
mod server;
mod summary;
mod totals;
mod wait;

pub use self::connection::ConnectionRow;
pub use self::exchange::{ExchangeRow, TenthRow};
pub use self::group::{HostPairRow, ServerGroupRow};
pub use self::hop::HopRow;
pub use self::server::ServerRow;
pub use self::summary::Summary;
pub use self::totals::{CauseRow, ConnectingRow, EndsRow, LateAckRow, NagleRow};
pub use self::wait::WaitRow;
