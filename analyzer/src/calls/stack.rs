//! The functions that wrote: of each stack the innermost one that is the program's own.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Libraries through which programs reach the kernel, as their files begin: the C library, TLS, the
/// socket layers of Java, Node and Python.
const LIBRARIES: &str = "libc. libc- libpthread ld- ld. libssl libcrypto libuv libnio libnet libjvm libpython \
    python _socket. _ssl. node ruby libruby php libphp perl libperl";
/// Packages of Go and crates of Rust do the same, though they are part of the program.
const PACKAGES: &str = "internal/ net. syscall. runtime. os. crypto/tls. bufio. io. std:: <std:: core:: alloc:: \
    _ZN3std _ZN4core mio:: tokio:: uv_ __libc_ clone start_thread";
const MOST: usize = 10_000;
const LONGEST: usize = 80;

/// Names, each once; the first is none.
#[derive(Debug, Default)]
pub struct Functions {
    names: Vec<String>,
    places: HashMap<String, u32, RandomState>,
}

impl Functions {
    /// The place of the function that a frame names; `None` for one of a library.
    pub fn place(&mut self, binary: &str, function: &str, source: &str) -> Option<u32> {
        let file = binary.rsplit('/').next().unwrap_or_default();
        let is_one_of = |begins: &str, name: &str| begins.split(' ').any(|it| name.starts_with(it));
        if function.is_empty() || is_one_of(LIBRARIES, file) || is_one_of(PACKAGES, function) {
            return None;
        }
        let name =
            function.split('(').next().filter(|name| !name.is_empty() && !function.contains(")."));
        let mut text: String = name.unwrap_or(function).chars().take(LONGEST).collect();
        if let Some(line) = source.rsplit('/').next().filter(|line| !line.is_empty()) {
            text = format!("{text} ({})", line.chars().take(LONGEST).collect::<String>());
        }
        if let Some(&place) = self.places.get(&text) {
            return Some(place);
        }
        if self.names.len() == MOST {
            return None;
        }
        self.names.push(text.clone());
        let place = self.names.len() as u32;
        self.places.insert(text, place);
        Some(place)
    }

    /// Empty for none.
    pub fn name(&self, place: u32) -> &str {
        (place as usize).checked_sub(1).and_then(|at| self.names.get(at)).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_is_the_programs_own() {
        let mut functions = Functions::default();
        let mut name = |binary, function, source| {
            let place = functions.place(binary, function, source)?;
            Some(functions.name(place).to_owned())
        };
        assert_eq!(name("/usr/lib/libc.so.6", "send", ""), None);
        assert_eq!(name("/srv/goserver", "net.(*conn).Write", ""), None);
        assert_eq!(name("/srv/goserver", "main.serve", "").as_deref(), Some("main.serve"));
        assert_eq!(
            name("/srv/goserver", "main.(*Server).reply", "").as_deref(),
            Some("main.(*Server).reply")
        );
        assert_eq!(
            name("/srv/app", "serve(int, char const*)", "/src/a.c:12").as_deref(),
            Some("serve (a.c:12)")
        );
    }
}
