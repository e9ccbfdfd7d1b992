//! The stalls and waits of a connection as JSON, written straight into a buffer.
//!
//! These rows are nearly all of a result, so they do not go through serde: what they hold needs no
//! escaping, and most durations are written from their integers.

use super::values::{duration, integer, name};
use crate::judge::evidence::reasons;
use crate::judge::findings::{Finding, Findings};
use crate::judge::judged::JudgedConnection;
use std::io;

/// Writes the stalls among `findings` as members of an array, which goes on unless it has just been
/// opened. Of the first `explained` findings, those that are stalls say why they are believed.
///
/// # Errors
/// None: `out` is memory.
pub fn stalls(
    out: &mut Vec<u8>,
    findings: Findings<'_>,
    explained: usize,
    judged: &JudgedConnection,
) -> io::Result<()> {
    for (at, finding) in findings.iter().enumerate().filter(|(_, row)| row.cause.is_stall()) {
        separate(out);
        stall(out, finding, judged)?;
        out.extend_from_slice(br#","evidence":["#);
        if at < explained {
            evidence(out, finding, judged);
        }
        out.extend_from_slice(b"]}");
    }
    Ok(())
}

/// Writes the other waits in the same way.
///
/// # Errors
/// As [`stalls`].
pub fn waits(out: &mut Vec<u8>, findings: Findings<'_>) -> io::Result<()> {
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

/// All of a stall but its evidence, and its end.
fn stall(out: &mut Vec<u8>, finding: Finding<'_>, judged: &JudgedConnection) -> io::Result<()> {
    let wait = finding.wait;
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
    duration(out, r#","ack_delay_ms":"#, judged.ack_delay_ns(wait))?;
    duration(out, r#","release_ms":"#, wait.release_ns())?;
    name(out, r#","confidence":""#, finding.confidence().name());
    out.push(b'"');
    Ok(())
}

/// The sentences why a stall is believed.
fn evidence(out: &mut Vec<u8>, finding: Finding<'_>, judged: &JudgedConnection) {
    for reason in reasons(finding, judged) {
        separate(out);
        // Sentences of this program, with numbers in them: nothing to escape.
        out.push(b'"');
        reason.write(out);
        out.push(b'"');
    }
}

fn wait(out: &mut Vec<u8>, finding: Finding<'_>) -> io::Result<()> {
    let wait = finding.wait;
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
