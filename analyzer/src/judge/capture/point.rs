//! Where the capture was taken.

use crate::judge::thresholds::CAPTURE_POINT_ONE_OF;
use crate::track::{Connection, Half};

/// Where the capture was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapturePoint {
    Client,
    Server,
    Between,
    Unknown,
}

impl CapturePoint {
    pub const NAMES: [&'static str; 4] = ["client", "server", "between", "unknown"];

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The end whose share of the round trip is (nearly) nothing is where the capture was taken.
pub fn capture_point(connection: &Connection) -> CapturePoint {
    let [client, server] = connection.halves.each_ref().map(Half::measured_rtt_ns);
    let (Some(client), Some(server)) = (client, server) else {
        return CapturePoint::Unknown;
    };
    let quarter = (client + server) / CAPTURE_POINT_ONE_OF;
    match (client <= quarter, server <= quarter) {
        _ if connection.is_loopback() => CapturePoint::Unknown,
        (true, false) => CapturePoint::Client,
        (false, true) => CapturePoint::Server,
        _ => CapturePoint::Between,
    }
}
