//! `-o stalls.csv`: one row per stall.

use super::create;
use crate::capture::error::ScanError;
use crate::judge::evidence::ms;
use crate::judge::findings::Finding;
use crate::judge::judged::JudgedConnection;
use crate::result::scan::Scan;
use serde::Serialize;
use std::io;
use std::net::IpAddr;

/// Field names are the column names; times in ns since the epoch, durations in ms.
#[derive(Serialize)]
struct Row {
    connection: u32,
    client_addr: IpAddr,
    client_port: u16,
    server_addr: IpAddr,
    server_port: u16,
    cause: &'static str,
    sender: &'static str,
    confidence: &'static str,
    rel_seq: u64,
    len: u32,
    frame_unacked: u64,
    frame_ack: u64,
    frame_held: u64,
    time_ns: i64,
    wait_ms: f64,
    ack_delay_ms: f64,
    release_ms: f64,
}

/// Writes all stalls of `scan` to `path`.
///
/// # Errors
/// `path` cannot be written.
pub fn write_csv(scan: &Scan, path: &str) -> Result<(), ScanError> {
    let mut writer = csv::Writer::from_writer(create(path)?);
    write_rows(scan, &mut writer)
        .map_err(|error| ScanError::unwritable(path, &io::Error::from(error)))
}

fn write_rows<W: io::Write>(scan: &Scan, writer: &mut csv::Writer<W>) -> Result<(), csv::Error> {
    let mut empty = true;
    for index in scan.affected() {
        let judged = &scan.connections[index];
        for finding in scan.findings_of(index).iter().filter(|finding| finding.cause.is_stall()) {
            writer.serialize(Row::new(finding, judged))?;
            empty = false;
        }
    }
    if empty {
        writer.write_record(HEADER)?;
    }
    writer.flush()?;
    Ok(())
}

/// For a table without rows; with rows, the field names of [`Row`] are written.
const HEADER: [&str; 17] = [
    "connection",
    "client_addr",
    "client_port",
    "server_addr",
    "server_port",
    "cause",
    "sender",
    "confidence",
    "rel_seq",
    "len",
    "frame_unacked",
    "frame_ack",
    "frame_held",
    "time_ns",
    "wait_ms",
    "ack_delay_ms",
    "release_ms",
];

impl Row {
    fn new(finding: Finding<'_>, judged: &JudgedConnection) -> Self {
        let wait = finding.wait;
        let [client, server] = judged.halves.each_ref().map(|end| end.endpoint);
        Self {
            connection: judged.id,
            client_addr: client.addr,
            client_port: client.port,
            server_addr: server.addr,
            server_port: server.port,
            cause: finding.cause.name(),
            sender: wait.by.name(),
            confidence: finding.confidence().name(),
            rel_seq: wait.rel_seq,
            len: wait.len,
            frame_unacked: wait.from.frame,
            frame_ack: wait.ack.frame,
            frame_held: wait.to.frame,
            time_ns: wait.to.time_ns,
            wait_ms: ms(wait.wait_ns()),
            ack_delay_ms: ms(judged.ack_delay_ns(wait)),
            release_ms: ms(wait.release_ns()),
        }
    }
}
