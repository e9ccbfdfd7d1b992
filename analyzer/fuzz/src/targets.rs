//! The targets that libFuzzer tries, by name. A failed property panics.

use super::addresses::World;
use super::asked::Asked;
use super::conversation::Program;
use super::evidence;
use super::memory::InMemory;
use super::properties::{self, report, usual, written};
use arbitrary::{Arbitrary, Unstructured};
use nagle_scan_core::{Anonymizer, Policy, Trace, alone, choose, read_frames, scan};

/// Properties that take long are asked of one input in so many.
const TURNS: usize = 6;

/// The target of this name.
///
/// # Panics
/// There is none, or a property does not hold.
pub fn run(target: &str, bytes: &[u8]) {
    match target {
        // Seeds differ: captures, or texts.
        "file" | "printed" => file(bytes),
        "conversation" => conversation(bytes),
        "clocks" => clocks(bytes),
        "options" => options(bytes),
        "evidence" => evidence(bytes),
        "calls" => calls(bytes),
        _ => panic!("no such target: {target}"),
    }
}

/// Any bytes as a file: pcap, pcapng, text, packed or not.
pub fn file(bytes: &[u8]) {
    let whole = report(&[bytes], &usual());
    if bytes.len().is_multiple_of(TURNS) {
        properties::one_thread_is_as_many(bytes, whole.as_ref());
    }
}

/// Any bytes as what strace wrote.
pub fn calls(bytes: &[u8]) {
    let file = InMemory::new(bytes);
    if let Ok(trace) = Trace::read(std::slice::from_ref(&file.path), &<_>::default()) {
        let _ = alone(&trace);
    }
}

/// A conversation whose clock goes well.
pub fn conversation(bytes: &[u8]) {
    if let Some((at, program)) = taken::<(u16, Program)>(bytes) {
        converse(at.into(), program, false);
    }
}

/// A conversation whose clock jumps by up to 146 years, both ways.
pub fn clocks(bytes: &[u8]) {
    if let Some((at, program)) = taken::<(u16, Program)>(bytes) {
        converse(at.into(), program, true);
    }
}

fn converse(at: usize, program: Program, may_jump: bool) {
    let conversation = program.run(World::One, may_jump);
    let capture = conversation.capture();
    let whole = report(&[&capture], &usual()).unwrap();
    let frames = conversation.frames.len();
    assert_eq!(whole["captures"][0]["packets"], frames);
    if conversation.is_whole {
        assert_eq!(whole["summary"]["tcp_packets"], frames, "each is a segment");
    }
    match at % TURNS {
        0 => properties::one_thread_is_as_many(&capture, Some(&whole)),
        1 if cfg!(feature = "filter") && !conversation.is_wrapped() => {
            properties::a_filter_changes_nothing(&capture, &whole);
        }
        2 if conversation.is_tunnelled && conversation.is_whole => {
            let bare = program.untunnelled().run(World::One, may_jump);
            properties::a_tunnel_changes_nothing(&bare.capture(), &whole);
        }
        3 => properties::a_limit_holds_for_the_shortest_wait(&capture, &whole),
        _ => properties::split_is_as_whole(&conversation, at % (frames + 1), &whole),
    }
}

/// Anything that a user may ask for of a conversation.
pub fn options(bytes: &[u8]) {
    let Some((asked, program)) = taken::<(Asked, Program)>(bytes) else { return };
    let file = InMemory::new(&program.run(World::One, false).capture());
    let (paths, options) = ([file.path.clone()], asked.options());
    let Ok(mut scan) = scan(&paths, &options, &<_>::default()) else { return };
    let report = properties::json(&scan);
    properties::holds(&scan, &report, &options);
    written(&scan, "csv");
    let shown =
        choose(&paths, options.filter.as_deref(), &asked.wanted(), options.reading).unwrap();
    assert_eq!(shown.len(), asked.wanted().len());
    let anonymizer = Anonymizer::new(asked.key);
    let policy = Policy { payload: asked.payload, anonymizer: anonymizer.as_ref() };
    let numbers: Vec<u64> = shown.iter().flat_map(|one| &one.frames).map(|frame| frame.0).collect();
    assert!(read_frames(&paths, &[], &numbers, policy).unwrap().len() <= numbers.len());
    if let Some(anonymizer) = &anonymizer {
        anonymizer.anonymize(&mut scan);
        written(&scan, "json");
    }
}

/// Evidence of a conversation, anonymised: it holds no address, and says the same.
pub fn evidence(bytes: &[u8]) {
    let Some(program) = taken::<Program>(bytes) else { return };
    let [one, other] =
        [World::One, World::Other].map(|world| evidence::of(&program.run(world, false)));
    evidence::holds_no_address(&one, &other);
    evidence::says_the_same(&one);
}

fn taken<'a, T: Arbitrary<'a>>(bytes: &'a [u8]) -> Option<T> {
    T::arbitrary_take_rest(Unstructured::new(bytes)).ok()
}
