//! What a reader of the report must know of a capture.

use crate::capture::InputEnd;
use crate::decode::Skip;
use crate::track::CaptureSummary;

impl CaptureSummary {
    pub fn is_complete(&self) -> bool {
        self.end == InputEnd::Complete
    }
}

/// How a capture ended, if not well, and the frames that were not used.
pub fn warnings(capture: &CaptureSummary) -> Vec<String> {
    let read = capture.packets;
    let place = match read {
        0 => "before the first complete frame".to_owned(),
        _ => format!("after frame {read}"),
    };
    let mut warnings = match &capture.end {
        InputEnd::Complete if read == 0 => vec!["the capture holds no packets".to_owned()],
        InputEnd::Complete => Vec::new(),
        InputEnd::Cut => vec![format!(
            "the capture is cut off in the middle of a record {place}; everything before it was analysed"
        )],
        InputEnd::Damaged(what) => vec![format!(
            "the capture is damaged {place}: {what}; everything before it was analysed"
        )],
        InputEnd::Failed(error) => {
            vec![format!("reading failed {place}: {error}; everything before it was analysed")]
        }
        InputEnd::Stopped(stopped) => {
            let packets = capture.first_frame - 1 + read;
            vec![format!(
                "interrupted after {packets} packets, {stopped}; the rest was not analysed"
            )]
        }
    };
    let skipped = Skip::ALL.iter().filter(|skip| capture.skipped[**skip as usize] > 0);
    warnings.extend(skipped.map(|skip| {
        format!("{} of {read} frames not used: {}", capture.skipped[*skip as usize], skip.reason())
    }));
    warnings
}
