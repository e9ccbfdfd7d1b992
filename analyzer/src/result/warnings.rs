//! What a reader of the report must know of a capture.

use crate::capture::End;
use crate::decode::Skip;
use crate::track::reader::CaptureSummary;

impl CaptureSummary {
    pub fn is_complete(&self) -> bool {
        self.end == End::Complete
    }
}

/// How a capture ended, if not well, and the frames that were not used.
pub fn warnings(capture: &CaptureSummary) -> Vec<String> {
    let read = capture.packets;
    let mut warnings = match &capture.end {
        End::Complete if read == 0 => vec!["the capture holds no packets".to_owned()],
        End::Complete => Vec::new(),
        End::Cut => vec![format!(
            "the capture is cut off in the middle of a record after frame {read}; everything before it was analysed"
        )],
        End::Damaged(what) => vec![format!(
            "the capture is damaged after frame {read}: {what}; everything before it was analysed"
        )],
        End::Failed(error) => vec![format!(
            "reading failed after frame {read}: {error}; everything before it was analysed"
        )],
        End::Stopped(stopped) => {
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
