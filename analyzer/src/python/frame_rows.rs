//! Frames as Python sees them: read a second time by number, cut and anonymised; and written.

use super::options::PyOptions;
use super::scan::{PyScan, anonymizer};
use crate::frames::annotated;
use crate::frames::excerpt::{self, Chosen, Wanted};
use crate::frames::pcapng::{self, Comments, FileComments, ResolvedNames};
use crate::frames::{self, Excerpt, Policy};
use crate::output::row::row;
use crate::result::anonymize::KEY_LEN;
use crate::track::reader::Reading;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A captured TCP segment; times in ns.
#[pyclass(frozen)]
pub struct FrameRow {
    excerpt: Excerpt,
}

#[pymethods]
impl FrameRow {
    #[getter]
    fn frame(&self) -> u64 {
        self.excerpt.frame
    }

    #[getter]
    fn time_ns(&self) -> i64 {
        self.excerpt.time_ns
    }

    #[getter]
    fn wire_len(&self) -> u32 {
        self.excerpt.wire_len
    }

    #[getter]
    fn link_type(&self) -> u32 {
        self.excerpt.link_type
    }

    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.excerpt.data)
    }

    #[getter]
    fn payload_at(&self) -> usize {
        self.excerpt.payload_at
    }

    #[getter]
    fn payload_len(&self) -> u32 {
        self.excerpt.payload_len
    }

    #[getter]
    fn identity<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.excerpt.identity)
    }
}

row! {
    /// Which frames of a connection to show.
    #[pyclass(frozen, get_all)]
    ChosenFrames(chosen: Chosen) {
        connection: u32 = chosen.connection,
        /// Frame number in the capture, and in the connection, from 1.
        frames: Vec<(u64, u64)> = chosen.frames,
        /// Frames of the connection in all.
        of: u64 = chosen.of,
    }
}

/// Reads the captures again for these frames, of which the `scan` knows the places. Without
/// `payload` they are cut after the TCP header; a `key` encrypts their addresses.
#[pyfunction]
#[pyo3(signature = (paths, numbers, payload, key, scan=None))]
fn read_frames(
    py: Python<'_>,
    paths: Vec<String>,
    numbers: Vec<u64>,
    payload: bool,
    key: Option<[u8; KEY_LEN]>,
    scan: Option<&PyScan>,
) -> PyResult<Vec<FrameRow>> {
    let known = scan.map_or(&[][..], |scan| &scan.scan.captures);
    let anonymizer = key.map(anonymizer).transpose()?;
    let policy = Policy { payload, anonymizer: anonymizer.as_ref() };
    let excerpts = py.detach(|| frames::read(&paths, known, &numbers, policy))?;
    Ok(excerpts.into_iter().map(|excerpt| FrameRow { excerpt }).collect())
}

/// Reads the captures again for frames to show: (connection, first and last frame of its stalls).
#[pyfunction]
fn choose_frames(
    py: Python<'_>,
    paths: Vec<String>,
    options: PyOptions,
    wanted: Vec<(u32, Vec<(u64, u64)>)>,
) -> PyResult<Vec<ChosenFrames>> {
    let mut wanted: Vec<Wanted> =
        wanted.into_iter().map(|(connection, spans)| Wanted { connection, spans }).collect();
    for one in &mut wanted {
        one.spans.sort_unstable();
    }
    let (filter, reading) = (options.filter.as_deref(), Reading::of(&paths, options.threads));
    let chosen = py.detach(|| excerpt::choose(&paths, filter, &wanted, reading))?;
    Ok(chosen.into_iter().map(ChosenFrames::new).collect())
}

/// Writes `frames` as pcapng, with `comments` by frame, `names` by address, and `about` on the
/// file.
#[pyfunction]
fn write_pcapng(
    py: Python<'_>,
    path: &str,
    about: &str,
    frames: Vec<Py<FrameRow>>,
    comments: Comments,
    names: ResolvedNames,
) -> PyResult<()> {
    let frames: Vec<&Excerpt> = frames.iter().map(|row| &row.get().excerpt).collect();
    let file_comments = FileComments { about, comments: &comments, names: &names };
    Ok(py.detach(|| {
        pcapng::write(path, &file_comments, |writer| {
            frames.iter().try_for_each(|one| writer.frame(one))
        })
    })?)
}

/// Writes all frames of the captures as `write_pcapng` does, read as `read_frames` does; of those
/// that hold no segment only times and lengths.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn annotate(
    py: Python<'_>,
    paths: Vec<String>,
    path: &str,
    about: &str,
    comments: Comments,
    names: ResolvedNames,
    payload: bool,
    key: Option<[u8; KEY_LEN]>,
) -> PyResult<()> {
    let anonymizer = key.map(anonymizer).transpose()?;
    let policy = Policy { payload, anonymizer: anonymizer.as_ref() };
    let file_comments = FileComments { about, comments: &comments, names: &names };
    Ok(py.detach(|| annotated::write(&paths, path, &file_comments, policy))?)
}

/// Adds what this file defines to the Python module.
///
/// # Errors
/// Python's own.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<FrameRow>()?;
    module.add_class::<ChosenFrames>()?;
    module.add_function(wrap_pyfunction!(read_frames, module)?)?;
    module.add_function(wrap_pyfunction!(choose_frames, module)?)?;
    module.add_function(wrap_pyfunction!(write_pcapng, module)?)?;
    module.add_function(wrap_pyfunction!(annotate, module)?)?;
    Ok(())
}
