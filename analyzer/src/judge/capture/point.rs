//! Where the capture was taken.

use crate::judge::thresholds::CAPTURE_POINT_ONE_OF;
use crate::named::named;
use crate::track::Connection;

named! {
    /// Where the capture was taken.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum CapturePoint {
        Client = "client",
        Server = "server",
        Between = "between",
        /// Two captures, one at each end.
        Both = "both",
        Unknown = "unknown",
    }
}

/// The end whose share of the round trip is (nearly) nothing is where the capture was taken: client
/// and server are `rtts_ns` away.
pub fn capture_point(connection: &Connection, rtts_ns: [Option<i64>; 2]) -> CapturePoint {
    let [Some(client), Some(server)] = rtts_ns else { return CapturePoint::Unknown };
    let quarter = (client + server) / CAPTURE_POINT_ONE_OF;
    match (client <= quarter, server <= quarter) {
        _ if connection.is_loopback() => CapturePoint::Unknown,
        (true, false) => CapturePoint::Client,
        (false, true) => CapturePoint::Server,
        _ => CapturePoint::Between,
    }
}
