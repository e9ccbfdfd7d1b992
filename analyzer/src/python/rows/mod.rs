//! Rows as Python sees them: what reports are written from. Each is named in `_core.pyi` too; a test
//! holds the two equal.

mod cause;
mod connecting;
mod connection;
mod fields;
mod group;
mod hop;
mod late_acks;
mod nagle;
mod server;
mod summary;
mod wait;

pub use self::cause::CauseRow;
pub use self::connecting::ConnectingRow;
pub use self::connection::ConnectionRow;
pub use self::group::{Group, PyServerGroup};
pub use self::hop::HopRow;
pub use self::late_acks::LateAckRow;
pub use self::nagle::NagleRow;
pub use self::server::PyServerRow;
pub use self::summary::Summary;
pub use self::wait::WaitRow;
