//! The functions that wrote: of each stack those that are the program's own.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Libraries through which programs reach the kernel, as their files begin: the C library, TLS, the
/// socket layers of Java, Node and Python.
const LIBRARIES: &str = "libc. libc- libpthread ld- ld. libssl libcrypto libuv libnio libnet libjvm libpython \
    python _socket. _ssl. node ruby libruby php libphp perl libperl";
/// Packages of Go and crates of Rust do the same, though they are part of the program.
const PACKAGES: &str = "internal/ net. syscall. runtime. os. crypto/tls. bufio. io. std:: <std:: core:: alloc:: \
    _ZN3std _ZN4core mio:: tokio:: uv_ __libc_ clone start_thread";
/// Stacks, and frames, that are kept; frames of one stack; addresses that a command has.
const MOST: usize = 10_000;
pub const MOST_FRAMES: usize = 256;
const MOST_ADDRESSES: usize = 8;
/// Text of lines that is kept.
const MOST_BYTES: usize = 16_000_000;
const LONGEST: usize = 80;

/// A place of the program's own code.
#[derive(Debug)]
pub struct Frame {
    pub binary: String,
    /// The call's place in the file.
    pub address: u64,
    function: String,
    /// Its function, and those that were inlined there, the innermost first, with their lines where
    /// these are known. Empty for one without a name.
    names: Vec<String>,
    /// Did somebody look for its line?
    is_looked_up: bool,
}

impl Frame {
    /// The file, the address and the function, empty for none.
    pub fn place(&self) -> (&str, u64, &str) {
        (&self.binary, self.address, &self.function)
    }
}

/// Frames and stacks, each once; the first stack is none.
#[derive(Debug, Default)]
pub struct Functions {
    pub frames: Vec<Frame>,
    stacks: Vec<Vec<u32>>,
    /// The frame of each line; `None` for one of a library.
    places: HashMap<String, Option<u32>, RandomState>,
    known: HashMap<Vec<u32>, u32, RandomState>,
    bytes: usize,
}

impl Functions {
    /// The frame of a line that was seen before, or no frame if it is one of a library.
    pub fn seen(&self, line: &str) -> Option<&[u32]> {
        self.places.get(line).map(Option::as_slice)
    }

    /// The place of a frame; `None` for one of a library.
    pub fn place(
        &mut self,
        line: &str,
        (binary, function, address, source): (&str, &str, u64, &str),
    ) -> Option<u32> {
        self.bytes += line.len();
        if self.places.len() == MOST || self.bytes > MOST_BYTES {
            return None;
        }
        let file = binary.rsplit('/').next().unwrap_or_default();
        let place = (!is_one_of(LIBRARIES, file)).then_some(self.frames.len() as u32);
        if place.is_some() {
            let is_named = !function.is_empty() && !is_one_of(PACKAGES, function);
            self.frames.push(Frame {
                binary: binary.to_owned(),
                // A return address is behind the call.
                address: address.saturating_sub(1),
                function: bare(function),
                names: if is_named { vec![named(function, source)] } else { Vec::new() },
                is_looked_up: !source.is_empty(),
            });
        }
        self.places.insert(line.to_owned(), place);
        place
    }

    /// The place of a stack, whose innermost frame is the first.
    pub fn stack(&mut self, frames: &[u32]) -> u32 {
        if let Some(&place) = self.known.get(frames) {
            return place;
        }
        if frames.is_empty() || self.stacks.len() == MOST {
            return 0;
        }
        self.stacks.push(frames.to_vec());
        let place = self.stacks.len() as u32;
        self.known.insert(frames.to_vec(), place);
        place
    }

    /// Names the frames by their functions and lines of code, each as `function`, `file:line`. A frame
    /// of which nothing was found has none.
    pub fn look_up(&mut self, found: Vec<Vec<(String, String)>>) {
        for (frame, lines) in self.frames.iter_mut().zip(found) {
            frame.is_looked_up |= !lines.is_empty();
            let lines = lines.iter().filter(|(function, _)| !is_one_of(PACKAGES, function));
            let names: Vec<String> = lines.map(|(name, line)| named(name, line)).collect();
            if !names.is_empty() {
                frame.names = names;
            }
        }
    }

    /// The function of a stack, and the one that called it where the stack parts from another's; empty
    /// where nothing tells.
    pub fn names(&self, stack: u32, other: u32) -> (&str, &str) {
        let (own, its) = (self.all(stack), self.all(other));
        let name = own.first().map_or("", |(_, name)| name);
        let pairs = || own.iter().rev().zip(its.iter().rev()).enumerate();
        let parts = pairs().find(|(_, (own, its))| own.1 != its.1);
        let parts = parts.or_else(|| pairs().find(|(_, (own, its))| own.0 != its.0));
        match parts {
            Some((at, ((_, caller), _))) if at + 1 < own.len() => (name, caller),
            _ => (name, ""),
        }
    }

    /// The frames of a stack with their names, the innermost first.
    fn all(&self, stack: u32) -> Vec<(u32, &str)> {
        let frames = (stack as usize).checked_sub(1).and_then(|at| self.stacks.get(at));
        let named =
            |&at: &u32| self.frames[at as usize].names.iter().map(move |name| (at, &**name));
        frames.into_iter().flatten().flat_map(named).collect()
    }

    /// Commands that find the lines of code to which these pairs of stacks lead, where nobody looked:
    /// of both the frames up to where they part.
    pub fn commands(&self, pairs: impl Iterator<Item = (u32, u32)>) -> Vec<String> {
        let pairs: BTreeSet<_> = pairs.flat_map(|(own, its)| [(own, its), (its, own)]).collect();
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._+-".contains(sign);
        let mut files: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (stack, other) in pairs {
            let [own, its] = [stack, other].map(|stack| self.all(stack));
            let same = own.iter().rev().zip(its.iter().rev()).take_while(|(own, its)| own == its);
            let parted = if other > 0 { own.len() - same.count() } else { 0 }.max(1);
            for frame in own.iter().take(parted).map(|(at, _)| &self.frames[*at as usize]) {
                let file = frame.binary.rsplit('/').next().unwrap_or_default();
                if !frame.is_looked_up && file.chars().all(is_plain) && !file.starts_with('-') {
                    files.entry(file).or_default().push(frame.address);
                }
            }
        }
        let command = |(file, mut addresses): (&str, Vec<u64>)| {
            addresses.sort_unstable();
            addresses.dedup();
            addresses.truncate(MOST_ADDRESSES);
            let shown: Vec<String> = addresses.iter().map(|at| format!("{at:#x}")).collect();
            format!("addr2line -Cfpie {file} {}", shown.join(" "))
        };
        files.into_iter().map(command).collect()
    }
}

fn is_one_of(begins: &str, name: &str) -> bool {
    begins.split(' ').any(|begin| name.starts_with(begin))
}

/// `serve (split.c:12)` of `int serve<char>(int)` and `/src/split.c:12`.
fn named(function: &str, source: &str) -> String {
    let text: String = bare(function).chars().take(LONGEST).collect();
    match source.rsplit('/').next().filter(|line| !line.is_empty()) {
        Some(line) => format!("{text} ({})", line.chars().take(LONGEST).collect::<String>()),
        None => text,
    }
}

/// A function without its types: of Go and Rust they tell whose it is.
fn bare(function: &str) -> String {
    if function.starts_with('<') || function.contains(").") {
        return function.to_owned();
    }
    let (mut text, mut depth) = (String::new(), 0_usize);
    for sign in function.replace("(anonymous namespace)::", "").chars() {
        match sign {
            '(' if depth == 0 => break,
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => text.clear(),
            _ if depth == 0 => text.push(sign),
            _ => {}
        }
    }
    if text.is_empty() { function.to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(functions: &mut Functions, line: &str) -> Option<u32> {
        let (binary, rest) = line.split_once(' ').unwrap();
        let (function, source) = rest.split_once('|').unwrap_or((rest, ""));
        functions.place(line, (binary, function, 0x1001, source))
    }

    #[test]
    fn the_function_is_the_programs_own() {
        let mut functions = Functions::default();
        let mut name = |line| {
            let frame = place(&mut functions, line)?;
            let stack = functions.stack(&[frame]);
            Some(functions.names(stack, 0).0.to_owned())
        };
        assert_eq!(name("/usr/lib/libc.so.6 send"), None);
        assert_eq!(name("/srv/goserver net.(*conn).Write").as_deref(), Some(""));
        for (line, shown) in [
            ("/srv/goserver main.serve", "main.serve"),
            ("/srv/goserver main.(*Server).reply", "main.(*Server).reply"),
            ("/srv/app serve(int, char const*)|/src/a.c:12", "serve (a.c:12)"),
            (
                "/srv/app void shop::Session::put<std::string>(std::string const&)",
                "shop::Session::put",
            ),
            ("/srv/app void a::(anonymous namespace)::f(int)", "a::f"),
            ("/srv/app <app::Session as app::Put>::put", "<app::Session as app::Put>::put"),
        ] {
            assert_eq!(name(line).as_deref(), Some(shown), "{line}");
        }
    }

    /// The wrapper is the same, and its caller, but not the line: only a debugger's file tells that.
    #[test]
    fn a_wrapper_names_the_caller_where_ways_part() {
        let mut functions = Functions::default();
        let lines = ["/a write_all", "/a head", "/a body", "/a main"];
        let [wrapper, head, body, main] = lines.map(|line| place(&mut functions, line).unwrap());
        let first = functions.stack(&[wrapper, head, main]);
        let second = functions.stack(&[wrapper, body, main]);
        assert_eq!(functions.names(first, second), ("write_all", "head"));
        assert_eq!(functions.names(second, first), ("write_all", "body"));
        assert_eq!(functions.names(first, first), ("write_all", ""));
        assert_eq!(functions.names(first, 0), ("write_all", ""));
        let apart = functions.stack(&[head, main]);
        assert_eq!(functions.names(apart, second), ("head", ""));
        assert_eq!(
            functions.commands([(first, second)].into_iter()),
            ["addr2line -Cfpie a 0x1000"]
        );
        let line = |name: &str, line: &str| (name.to_owned(), line.to_owned());
        let inlined = vec![line("push", "s.c:12"), line("write_all", "s.c:22")];
        functions.look_up(vec![
            inlined,
            vec![line("serve", "s.c:31")],
            vec![line("serve", "s.c:32")],
        ]);
        assert_eq!(functions.names(second, first), ("push (s.c:12)", "serve (s.c:32)"));
        assert!(functions.commands([(first, second)].into_iter()).is_empty());
    }

    /// A thread of Rust consists of what was inlined into a function of the library.
    #[test]
    fn own_functions_may_be_inlined_in_those_of_a_library() {
        let mut functions = Functions::default();
        let frame = place(&mut functions, "/a std::sys::begin").unwrap();
        let stack = functions.stack(&[frame]);
        assert_eq!(functions.names(stack, 0).0, "");
        let line = |name: &str, line: &str| (name.to_owned(), line.to_owned());
        functions
            .look_up(vec![vec![line("app::serve", "a.rs:3"), line("std::sys::begin", "b.rs:9")]]);
        assert_eq!(functions.names(stack, 0).0, "app::serve (a.rs:3)");
    }
}
