//! The stalls and waits of a connection as JSON, written straight into a buffer.
//!
//! These rows are nearly all of a result, so they do not go through serde: what they hold needs no
//! escaping, and most durations are written from their integers.

use crate::evidence::{ms, reasons};
use crate::judge::{Finding, Verdict};
use std::io;

/// Writes the stalls among `findings` as members of an array, which goes on unless it has just been
/// opened.
///
/// # Errors
/// None: `out` is memory.
pub fn stalls(out: &mut Vec<u8>, findings: &[Finding], verdict: &Verdict) -> io::Result<()> {
    for finding in findings.iter().filter(|finding| finding.cause.is_stall()) {
        separate(out);
        stall(out, finding, verdict)?;
    }
    Ok(())
}

/// Writes the other waits in the same way.
///
/// # Errors
/// As [`stalls`].
pub fn waits(out: &mut Vec<u8>, findings: &[Finding]) -> io::Result<()> {
    for finding in findings.iter().filter(|finding| !finding.cause.is_stall()) {
        separate(out);
        wait(out, finding)?;
    }
    Ok(())
}

fn separate(out: &mut Vec<u8>) {
    if out.last() != Some(&b'[') {
        out.push(b',');
    }
}

fn stall(out: &mut Vec<u8>, finding: &Finding, verdict: &Verdict) -> io::Result<()> {
    let wait = &finding.wait;
    name(out, r#"{"cause":""#, finding.cause.name());
    name(out, r#"","sender":""#, wait.by.name());
    integer(out, r#"","rel_seq":"#, wait.rel_seq);
    integer(out, r#","len":"#, wait.len);
    integer(out, r#","len_unacked":"#, wait.unacked_len);
    integer(out, r#","frame_unacked":"#, wait.from.frame);
    integer(out, r#","frame_ack":"#, wait.ack.frame);
    integer(out, r#","frame_held":"#, wait.to.frame);
    integer(out, r#","time_ns":"#, wait.to.time_ns);
    duration(out, r#","wait_ms":"#, wait.wait_ns())?;
    duration(out, r#","ack_delay_ms":"#, finding.ack_delay_ns)?;
    duration(out, r#","release_ms":"#, wait.release_ns())?;
    name(out, r#","confidence":""#, finding.confidence.name());
    out.extend_from_slice(br#"","evidence":["#);
    for reason in reasons(finding, verdict) {
        separate(out);
        // Sentences of this program, with numbers in them: nothing to escape.
        out.push(b'"');
        reason.write(out);
        out.push(b'"');
    }
    out.extend_from_slice(b"]}");
    Ok(())
}

fn wait(out: &mut Vec<u8>, finding: &Finding) -> io::Result<()> {
    let wait = &finding.wait;
    name(out, r#"{"cause":""#, finding.cause.name());
    name(out, r#"","by":""#, wait.by.name());
    integer(out, r#"","frame_from":"#, wait.from.frame);
    integer(out, r#","frame_to":"#, wait.to.frame);
    integer(out, r#","rel_seq":"#, wait.rel_seq);
    integer(out, r#","time_ns":"#, wait.to.time_ns);
    duration(out, r#","wait_ms":"#, wait.wait_ns())?;
    out.push(b'}');
    Ok(())
}

fn name(out: &mut Vec<u8>, before: &str, name: &str) {
    out.extend_from_slice(before.as_bytes());
    out.extend_from_slice(name.as_bytes());
}

fn integer(out: &mut Vec<u8>, before: &str, value: impl itoa::Integer) {
    name(out, before, itoa::Buffer::new().format(value));
}

/// A duration in ms, as serde writes the float: the shortest decimal that gives it again.
fn duration(out: &mut Vec<u8>, before: &str, duration_ns: i64) -> io::Result<()> {
    /// From here on floats are written without an exponent, and up to here with all their digits:
    /// two decimals of at most 15 digits are never the same float.
    const PLAIN_NS: std::ops::Range<i64> = 100..1_000_000_000_000_000;
    if !PLAIN_NS.contains(&duration_ns) {
        out.extend_from_slice(before.as_bytes());
        return Ok(serde_json::to_writer(out, &ms(duration_ns))?);
    }
    integer(out, before, duration_ns / 1_000_000);
    out.push(b'.');
    let mut rest = duration_ns % 1_000_000;
    let mut unit = 100_000;
    loop {
        out.push(b'0' + (rest / unit) as u8);
        rest %= unit;
        unit /= 10;
        if rest == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_serde_writes_them() {
        let mut state = 1_u64;
        let random = (0..100_000).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> (1 + state % 61)) as i64
        });
        let edges = [0, 1, -1, 10, 99, 100, 1_000_000, 40_000_000, 40_100_000, 10_i64.pow(15) - 1];
        for duration_ns in edges.into_iter().chain(random) {
            let mut written = Vec::new();
            duration(&mut written, "", duration_ns).unwrap();
            assert_eq!(written, serde_json::to_vec(&ms(duration_ns)).unwrap());
        }
    }
}
