//! Other tracers, which print calls, too, but not as strace does.

/// How a tracer is known by a line, without the strings in it; its name, and what to do.
type Tracer = (fn(&str) -> bool, &'static str, &'static str);

const STRACE: &str = "`nagle-scan --calls` prints the command of strace";
const TRUSS: &str = "on FreeBSD take 'truss -f -d'";
const PACKETS: &str = "capture its packets, and scan these alone";

const TRACERS: [Tracer; 8] = [
    (|line| line.starts_with("% time "), "strace's summary (-c), and no trace", STRACE),
    (is_of_kdump, "what kdump prints", TRUSS),
    (|line| line.contains(" ms): ") && line.contains('/'), "what 'perf trace' prints", STRACE),
    (|line| line.contains("strace.go:"), "the log of gVisor", PACKETS),
    (is_of_ltrace, "what ltrace prints", STRACE),
    (|line| line.contains("SYSCALL(args)"), "what dtruss prints", PACKETS),
    (|line| line.starts_with("Attaching "), "what bpftrace prints", STRACE),
    (
        |line| line.contains(" TCP D=") && line.contains(" S="),
        "packets as snoop prints them",
        PACKETS,
    ),
];

fn is_of_kdump(line: &str) -> bool {
    [" CALL  ", " RET   ", " GIO   fd "].iter().any(|word| line.contains(word))
}

fn is_of_ltrace(line: &str) -> bool {
    line.contains("+++ exited (status") || line.contains(" SYS_")
}

/// The tracer that printed this line, if it was surely not strace: its name, and what to do.
pub fn foreign(line: &str) -> Option<(&'static str, &'static str)> {
    let line = line.split('"').next().unwrap_or_default().trim_start();
    TRACERS.iter().find(|(is_of, ..)| is_of(line)).map(|&(_, name, remedy)| (name, remedy))
}
