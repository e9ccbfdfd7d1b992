//! Lines as strace writes them, and the sockets that a trace shows.

use super::alone::alone;
use super::sockets::{Socket, flag};
use super::trace::Trace;
use crate::capture::error::ScanError;
use std::fs;
use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

/// Files of these texts, read as one trace; a name may end with a thread, as those of `-ff`.
fn read(files: &[(&str, impl AsRef<[u8]>)]) -> Result<Trace, ScanError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("calls-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let paths: Vec<String> = files.iter().map(|(name, _)| path(name)).collect();
    paths.iter().zip(files).for_each(|(path, (_, text))| fs::write(path, text).unwrap());
    let trace = Trace::read(&paths, &<_>::default());
    fs::remove_dir_all(&folder).unwrap();
    trace
}

fn trace(text: &str) -> Trace {
    read(&[("calls.txt", text)]).unwrap()
}

/// Sockets with data: their bytes, and whether the last write had `TCP_NODELAY`.
fn sockets(trace: &Trace) -> Vec<(u64, bool)> {
    let data = trace.sockets.iter().filter(|socket| socket.bytes > 0);
    let nodelay = |socket: &Socket| {
        socket.writes.iter().rfind(|write| write.bytes > 0).unwrap().flags & flag::NODELAY != 0
    };
    data.map(|socket| (socket.bytes, nodelay(socket))).collect()
}

#[test]
fn bytes_and_options_belong_to_a_socket_not_to_its_number() {
    let trace = trace(
        r#"socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3
setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0
write(3, "abc", 3) = 3
close(3) = 0
socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3
write(3, "abcd", 4) = 2
dup2(3, 7) = 7
write(7, "cd", 2) = 2
"#,
    );
    assert_eq!(sockets(&trace), [(3, true), (4, false)]);
}

/// A listener hands its options down; a fork's children use its descriptors.
#[test]
fn forks_and_threads_know_the_sockets_of_their_parents() {
    let trace = trace(
        r#"1 socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3
1 setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0
1 accept(3, {sa_family=AF_INET, sin_port=htons(9), sin_addr=inet_addr("10.0.0.1")}, [16]) = 4
1 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD <unfinished ...>
2 write(4, "abc", 3) = 3
1 <... clone resumed>) = 2
2 close(4) = 0
1 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 3
3 write(4, "de", 2) = 2
"#,
    );
    assert_eq!(sockets(&trace), [(5, true)]);
    assert_eq!(trace.sockets[1].remote.unwrap().to_string(), "10.0.0.1:9");
}

/// Without `fork` in the trace all processes seem to have one table, until two have one number.
#[test]
fn a_number_that_another_thread_has_open_shows_another_process() {
    let trace = trace(
        r#"1 accept(3, {sa_family=AF_INET, sin_port=htons(7), sin_addr=inet_addr("10.0.0.1")}, [16]) = 4
1 close(9) = 0
2 accept(3, {sa_family=AF_INET, sin_port=htons(8), sin_addr=inet_addr("10.0.0.1")}, [16]) = 4
1 write(4, "abc", 3) = 3
2 write(4, "defg", 4) = 4
1 close(4 <unfinished ...>
3 accept(3, {sa_family=AF_INET, sin_port=htons(9), sin_addr=inet_addr("10.0.0.1")}, [16]) = 4
1 <... close resumed>) = 0
3 write(4, "hi", 2) = 2
"#,
    );
    let found: Vec<_> = trace.sockets.iter().filter(|socket| socket.bytes > 0).collect();
    let found: Vec<_> =
        found.iter().map(|socket| (socket.remote.unwrap().port(), socket.bytes)).collect();
    assert_eq!(found, [(7, 3), (8, 4), (9, 2)]);
}

#[test]
fn a_call_that_resumes_began_where_it_began() {
    let trace = trace(
        r#"8 1795754610.5 <... write resumed>) = 9
7 1795754611.0 write(3<TCP:[1.1.1.1:1->2.2.2.2:2]>, "ab", 2 <unfinished ...>
8 1795754611.1 read(4, "", 1) = 0
7 1795754611.2 <... write resumed>) = 2
7 1795754611.3 write(3<TCP:[1.1.1.1:1->2.2.2.2:2]>, "c", 1what it prints
) = 1
"#,
    );
    let writes = &trace.sockets.iter().find(|socket| socket.bytes > 0).unwrap().writes;
    let found: Vec<_> = writes
        .iter()
        .map(|write| (write.line, write.time_ns / 100_000_000 % 1000, write.bytes))
        .collect();
    assert_eq!(found, [(2, 110, 2), (5, 113, 1)]);
}

#[test]
fn files_pipes_datagrams_and_unix_sockets_are_no_connections() {
    let trace = trace(
        r#"openat(AT_FDCWD, "log", O_WRONLY) = 3
write(3, "abc", 3) = 3
socket(AF_UNIX, SOCK_STREAM, 0) = 4
write(4, "abc", 3) = 3
socket(AF_INET, SOCK_DGRAM, IPPROTO_IP) = 5
sendto(5, "abc", 3, 0, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("1.1.1.1")}, 16) = 3
write(6<pipe:[1]>, "abc", 3) = 3
pipe2([7, 8], 0) = 0
write(8, "abc", 3) = 3
"#,
    );
    assert_eq!(sockets(&trace), []);
}

#[test]
fn each_call_counts_what_it_wrote() {
    let trace = trace(
        r#"sendmmsg(3, [{msg_hdr={..}, msg_len=143}, {msg_hdr={..}, msg_len=6}], 2, 0) = 2
splice(5, NULL, 3, NULL, 4096, SPLICE_F_MORE) = 100
sendfile64(3, 4, [0], 77) = 70
writev(3, [{"a", 277}, {"b", 3}], 2) = 280
send(3, "x", 1, MSG_MORE) = 1
write(3, "x", 5) = -1 EAGAIN (Resource temporarily unavailable)
"#,
    );
    assert_eq!(sockets(&trace), [(600, false)]);
    let more = |write: &super::sockets::Write| write.flags & flag::MORE != 0;
    let flags: Vec<bool> = trace.sockets[0].writes.iter().map(more).collect();
    assert_eq!(flags, [false, false, true, false, false, true]);
}

#[test]
fn an_option_is_told_with_what_it_went_to() {
    let trace = trace(
        r"setsockopt(0</dev/null<char 1:3>>, SOL_TCP, TCP_NODELAY, [1], 4) = -1 ENOTSOCK (Socket operation on non-socket)
 > /usr/lib/libc.so.6(setsockopt+0xe) [0x1]
 > /srv/app(main+0x2) [0x2]
setsockopt(4<TCP:[1.1.1.1:1->2.2.2.2:2]>, IPPROTO_TCP, 0x1 /* TCP_NODELAY */, [1], 4) = 0
setsockopt(4<TCP:[1.1.1.1:1->2.2.2.2:2]>, SOL_TCP, TCP_NODELAY, [0], 4) = 0
",
    );
    let options = super::rows::options(&trace);
    let rows: Vec<_> = options
        .iter()
        .map(|row| (row.what.as_str(), row.error.as_str(), row.value, row.taken_back))
        .collect();
    assert_eq!(
        rows,
        [
            ("/dev/null", "ENOTSOCK", 1, false),
            ("a connection", "", 1, true),
            ("a connection", "", 0, false)
        ]
    );
    assert_eq!(options[0].function, "main");
}

/// Each thread has a file: one accepts, and the other writes.
#[test]
fn files_of_threads_are_one_trace() {
    let trace = read(&[
        ("calls.8", "1795754603.3 write(4, \"abc\", 3) = 3\n1795754603.9 close(4) = 0\n"),
        (
            "calls.7",
            "1795754603.1 accept(3, {sa_family=AF_INET, sin_port=htons(9), sin_addr=inet_addr(\"10.0.0.1\")}, [16]) = 4\n\
             1795754603.2 clone(flags=CLONE_FILES) = 8\n",
        ),
    ])
    .unwrap();
    assert_eq!(sockets(&trace), [(3, false)]);
    assert_eq!(
        trace.sockets.iter().find(|socket| socket.bytes > 0).unwrap().remote.unwrap().port(),
        9
    );
}

/// A page, a mail and a log change the trace as they change a capture.
#[test]
fn what_pasting_adds_to_a_trace_is_taken_away() {
    let plain = "1795754603.1 write(4<TCP:[10.0.0.1:80->10.0.0.2:9]>, \"a=b\", 3) = 3\n\
                 1795754603.2 write(4<TCP:[10.0.0.1:80->10.0.0.2:9]>, \"c\", 1) = 1\n";
    let escaped = plain.replace('<', "&lt;").replace('>', "&gt;");
    let twice = escaped.replace('&', "&amp;").replace('\n', "<br>\n");
    let quoted = plain.replace('=', "=3D").replace(") =3D 3", ") =3D=\n 3");
    let utf16: Vec<u8> = plain.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for text in [
        twice.as_bytes(),
        format!("<pre>{}</pre>", escaped.replace('\n', "</p><p>")).as_bytes(),
        plain.replace(' ', "\u{a0}").as_bytes(),
        plain.replace('\n', "\r").as_bytes(),
        quoted.as_bytes(),
        &utf16,
    ] {
        let shown = String::from_utf8_lossy(text);
        let trace = read(&[("a.txt", text)]).unwrap();
        assert_eq!(sockets(&trace), [(4, false)], "{shown}");
        let lines = trace.sockets[0].writes.iter().map(|write| write.bytes);
        assert_eq!(lines.collect::<Vec<_>>(), [3, 1], "{shown}");
    }
}

#[test]
fn clocks_go_on_past_midnight_and_from_line_to_line() {
    let times =
        |text| trace(text).sockets[0].writes.iter().map(|write| write.time_ns).collect::<Vec<_>>();
    let day = times("23:59:59.9 write(3, \"a\", 1) = 1\n00:00:00.1 write(3, \"a\", 1) = 1\n");
    assert_eq!(day[1] - day[0], 200_000_000);
    let steps = times("0.5 write(3, \"a\", 1) = 1\n 0.25 write(3, \"a\", 1) = 1\n");
    assert_eq!(steps[1] - steps[0], 250_000_000);
}

#[test]
fn what_is_no_trace_is_refused() {
    let refused = |text| read(&[("a.txt", text)]).unwrap_err().to_string();
    assert!(refused("hello\n").contains("no system call"));
    assert!(
        refused("% time     seconds  usecs/call     calls    errors syscall\n").contains("summary")
    );
}

/// A reply in two writes, then the next request.
fn reply(first: &str, option: &str) -> String {
    format!(
        "{option}1795754601.0 sendto(5, \"\", 143, {first}, NULL, 0) = 143\n1795754601.1 sendto(5, \"\", 6, 0, NULL, 0) = 6\n\
         1795754601.11 epoll_wait(4, [], 1, -1) = 1\n1795754601.145 recvfrom(5, \"\", 9, 0, NULL, NULL) = 9\n"
    )
}

#[test]
fn two_writes_and_a_read_are_the_pattern_unless_something_forbids_a_hold() {
    let found = |text: String| {
        let patterns = alone(&trace(&text)).patterns;
        patterns.first().map(|one| (one.count, one.nodelay, one.wait_ms, one.linux))
    };
    assert_eq!(found(reply("0", "")), Some((1, false, Some(45.0), 1)));
    assert_eq!(found(reply("MSG_MORE", "")), None);
    let corked = reply("0", "1795754600.9 setsockopt(5, SOL_TCP, TCP_CORK, [1], 4) = 0\n");
    let corked = alone(&trace(&corked)).patterns;
    assert_eq!((corked[0].count, corked[0].more), (1, "TCP_CORK"));
    let option = "1795754600.9 setsockopt(5, SOL_TCP, TCP_NODELAY, [1], 4) = 0\n";
    assert_eq!(found(reply("0", option)), Some((1, true, Some(45.0), 1)));
    let timed = reply("0", "");
    let untimed = timed.lines().map(|line| format!("{}\n", line.split_once(' ').unwrap().1));
    assert_eq!(found(untimed.collect()), Some((1, false, None, 0)));
}

/// Each would otherwise read as an all-clear.
#[test]
fn a_trace_alone_tells_what_else_stops_a_program() {
    let said = |text: &str| alone(&trace(text));
    let blocked =
        said("7 write(3, \"abc\", 16384) = 16384\n7 write(3, \"abc\", 3384 <unfinished ...>\n");
    assert_eq!(blocked.blocked.map(|write| (write.descriptor, write.line)), Some((3, 2)));
    let level = said("write(4, \"a\", 1) = 1\nsetsockopt(4, SOL_SOCKET, SO_DEBUG, [1], 4) = 0\n");
    assert_eq!(level.options[0].name, "SO_DEBUG");
    let unix = said(
        "accept(30, {sa_family=AF_UNIX}, [128->2]) = 45\n\
         setsockopt(45, SOL_TCP, TCP_NODELAY, [1], 4) = -1 EOPNOTSUPP (Operation not supported)\n\
         write(45, \"y\", 30) = 30\n",
    );
    assert!(unix.options[0].what.starts_with("a UNIX socket") && unix.note.contains("UNIX"));
}

#[test]
fn what_other_tracers_print_is_refused_by_name() {
    let refused = |text: &str| read(&[("calls.txt", text)]).unwrap_err().to_string();
    for (line, name) in [
        ("% time     seconds  usecs/call     calls    errors syscall", "(-c)"),
        ("  1234 server   CALL  write(0x5,0x7fff,0x8f)", "kdump"),
        ("     0.021 ( 0.004 ms): server/1234 sendto(fd: 5, len: 6) = 6", "perf trace"),
        ("I1129 06:00:00.1 1234 strace.go:570] [ 1: 1] server E sendto(0x5, 0x7f, 0x8f)", "gVisor"),
        ("1234 SYS_write(5, \"GET\", 3) = 3", "ltrace"),
        ("PID/THRD  RELATIVE SYSCALL(args) \t\t = return", "dtruss"),
        ("Attaching 2 probes...", "bpftrace"),
        ("  1   0.00000 10.0.0.1 -> 10.0.0.2 TCP D=80 S=1234 Push Ack=1 Seq=1 Len=5", "snoop"),
    ] {
        assert!(refused(line).contains(name), "{line}");
    }
    let text = "write(3, \"Attaching CALL  SYS_\", 3) = 3\n";
    assert!(read(&[("calls.txt", text)]).is_ok());
}

/// FreeBSD's counts from its beginning with `-d`, and from the line before with `-D`.
#[test]
fn times_of_truss_are_read_both_ways() {
    let calls = ["read", "sendto", "sendto", "read", "sendto", "sendto", "read"];
    let waits = |times_ms: [f64; 7]| {
        let line =
            |(call, ms): (&str, f64)| format!("7: {:.9} {call}(4,\"x\",60,0)\t = 60\n", ms / 1e3);
        let text: String = calls.into_iter().zip(times_ms).map(line).collect();
        let trace = trace(&text);
        trace.sockets[0].writes.iter().map(|write| write.answered_us).collect::<Vec<u32>>()
    };
    let since_start = waits([0.0, 0.1, 0.2, 50.0, 50.1, 50.2, 100.0]);
    assert_eq!(since_start, waits([0.0, 0.1, 0.1, 49.8, 0.1, 0.1, 49.8]));
}

#[test]
fn a_packed_trace_reads_as_the_trace() {
    let text = "write(3, \"x\", 1) = 1\n";
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let other = zstd::encode_all(text.as_bytes(), 1).unwrap();
    for bytes in [packed, other] {
        assert_eq!(read(&[("calls.txt.gz", bytes)]).unwrap().calls, 1);
    }
}
