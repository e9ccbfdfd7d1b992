//! What a result says of a connection itself, as JSON, written straight into a buffer.
//!
//! Captures hold millions of connections, so what is nothing or not known of one is left out.

use super::values::{address, duration, flag, integer, name};
use crate::judge::judged::{Detail, JudgedConnection, JudgedHalf};
use crate::judge::nodelay::Nagle;
use crate::judge::timers::Timer;
use crate::judge::variant::Variant;
use crate::track::Side;
use std::io;

/// Writes an object that stays open for its stalls and waits.
///
/// # Errors
/// None: `out` is memory.
pub fn connection(out: &mut Vec<u8>, judged: &JudgedConnection) -> io::Result<()> {
    integer(out, r#"{"id":"#, judged.id);
    end(out, r#","client":{"addr":""#, judged.half(Side::Client))?;
    end(out, r#","server":{"addr":""#, judged.half(Side::Server))?;
    integer(out, r#","first_ns":"#, judged.first_ns);
    integer(out, r#","last_ns":"#, judged.last_ns);
    flag(out, r#","handshake":"#, judged.handshake);
    flag(out, r#","conclusive":"#, judged.is_conclusive());
    match judged.rtt_ns() {
        Some(rtt_ns) => duration(out, r#","rtt_ms":"#, rtt_ns)?,
        None => out.extend_from_slice(br#","rtt_ms":null"#),
    }
    integer(out, r#","mss":"#, judged.mss);
    if judged.mss_inferred {
        flag(out, r#","mss_inferred":"#, true);
    }
    name(out, r#","capture_point":""#, judged.capture_point.name());
    integer(out, r#"","exchanges":"#, judged.exchanges);
    if let Some(latency_ns) = judged.mean_latency_ns() {
        duration(out, r#","mean_latency_ms":"#, latency_ns)?;
    }
    if judged.stalls == 0 {
        return Ok(());
    }
    if let Some(latency_ns) = judged.mean_latency_without_stalls_ns() {
        duration(out, r#","mean_latency_without_stalls_ms":"#, latency_ns)?;
    }
    duration(out, r#","stalled_ms":"#, judged.stalled_ns)
}

fn end(out: &mut Vec<u8>, before: &str, end: &JudgedHalf) -> io::Result<()> {
    address(out, before, end.endpoint.addr)?;
    integer(out, r#"","port":"#, end.endpoint.port);
    name(out, r#","nagle":""#, end.nagle.name());
    out.push(b'"');
    if let Some(rtt_ns) = end.rtt_ns() {
        duration(out, r#","rtt_ms":"#, rtt_ns)?;
    }
    integer(out, r#","segments":"#, end.segments);
    integer(out, r#","bytes":"#, end.bytes);
    if end.nagle != Nagle::Unknown {
        frames(out, r#","nagle_frames":["#, end.proof);
    }
    detail(out, end.detail())?;
    out.push(b'}');
    Ok(())
}

fn detail(out: &mut Vec<u8>, detail: &Detail) -> io::Result<()> {
    if detail.variant != Variant::Unknown {
        name(out, r#","nagle_variant":""#, detail.variant.name());
        frames(out, r#"","nagle_variant_frames":["#, detail.variant_proof);
    }
    for (before, count) in [
        (r#","retransmitted":"#, detail.retransmitted.into()),
        (r#","duplicated":"#, detail.duplicated.into()),
        (r#","reordered":"#, detail.reordered.into()),
        (r#","unseen_bytes":"#, detail.unseen_bytes),
    ] {
        if count > 0 {
            integer(out, before, count);
        }
    }
    detail.delayed_acks.as_ref().map_or(Ok(()), |acks| timer(out, acks))
}

fn frames(out: &mut Vec<u8>, before: &str, (first, second): (u64, u64)) {
    integer(out, before, first);
    integer(out, ",", second);
    out.push(b']');
}

fn timer(out: &mut Vec<u8>, timer: &Timer) -> io::Result<()> {
    integer(out, r#","delayed_ack":{"count":"#, timer.count);
    duration(out, r#","median_ms":"#, timer.median_ns)?;
    duration(out, r#","min_ms":"#, timer.min_ns)?;
    duration(out, r#","max_ms":"#, timer.max_ns)?;
    name(out, r#","consistent_with":""#, timer.consistent_with());
    out.extend_from_slice(br#""}"#);
    Ok(())
}
