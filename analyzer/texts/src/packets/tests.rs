//! Texts as they are pasted.

use super::packet::{PrintedPacket, PrintedSegment};
use super::text::{AboutText, Refusal, SentPacket, Text};
use crate::Source;
use crate::flags::{self, ACK as ACK_FLAG, PSH, SYN as SYN_FLAG};
use crate::utf16::{self, Utf16};
use std::io::{self, Read as _};

impl Source for &[u8] {
    fn at_least(&mut self, _wanted: usize) -> io::Result<&[u8]> {
        Ok(self)
    }

    fn available(&self) -> &[u8] {
        self
    }

    fn consume(&mut self, count: usize) {
        *self = &self[count..];
    }
}

/// A segment as it was sent, with what was printed of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    seq: u32,
    ack: u32,
    window: u16,
    len: u32,
    flags: u8,
    /// Where the first block of SACK begins.
    sack_from: Option<u32>,
    printed: PrintedSegment,
}

impl Header {
    #[expect(clippy::result_large_err, reason = "it is the other half of what is compared")]
    fn of(SentPacket { packet, numbers, .. }: SentPacket) -> Result<Self, PrintedPacket> {
        let Some(((_, printed), sent)) = packet.segment().zip(numbers) else {
            let is_known = packet.segment().is_none();
            return Err(if is_known { packet } else { PrintedPacket::Unreadable });
        };
        let PrintedSegment { len, flags, .. } = *printed;
        let sack_from = printed.options.sack[0].map(|(begin, _)| sent.sack(begin));
        Ok(Self {
            seq: sent.seq,
            ack: sent.ack,
            window: sent.window,
            len,
            flags,
            sack_from,
            printed: *printed,
        })
    }

    fn mss(&self) -> u16 {
        self.printed.options.mss.unwrap_or(0)
    }

    fn timestamps(&self) -> Option<(u32, u32)> {
        self.printed.options.timestamps
    }
}

type Read = Vec<(i64, Result<Header, PrintedPacket>)>;

fn opened(mut bytes: &[u8]) -> (&[u8], Text) {
    let text = Text::open(&mut bytes).unwrap();
    (bytes, text)
}

/// Each packet with its time, and what is said of the text.
fn read_bytes(mut bytes: &[u8]) -> Result<(Read, AboutText), Refusal> {
    let mut text = Text::open(&mut bytes)?;
    let mut packets = Vec::new();
    while let Some(packet) = text.next_packet(&mut bytes).unwrap() {
        packets.push((packet.time_ns, Header::of(packet)));
    }
    Ok((packets, text.about()))
}

fn read(text: &str) -> (Read, AboutText) {
    read_bytes(text.as_bytes()).unwrap()
}

fn headers(text: &str) -> Vec<Header> {
    read(text).0.into_iter().map(|(_, decoded)| decoded.unwrap()).collect()
}

fn refused(text: &str) -> String {
    match read_bytes(text.as_bytes()) {
        Err(Refusal::Lacks(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

const SYN: &str = "10:00:00.000000 IP 10.0.0.1.4000 > 10.0.0.2.80: Flags [S], seq 5000, win 64240, \
                   options [mss 1460,sackOK,TS val 7 ecr 0,nop,wscale 7], length 0\n";
const SYN_ACK: &str = "10:00:00.000100 IP 10.0.0.2.80 > 10.0.0.1.4000: Flags [S.], seq 9000, \
                       ack 5001, win 65160, options [mss 1400], length 0\n";
const DATA: &str = "10:00:00.040000 IP 10.0.0.1.4000 > 10.0.0.2.80: Flags [P.], seq 1:101, ack 1, \
                    win 502, length 100: HTTP: GET / HTTP/1.1\n";
const ACK: &str =
    "10:00:00.080000 IP 10.0.0.2.80 > 10.0.0.1.4000: Flags [.], ack 101, win 510, length 0\n";

/// Flags, relative Seq and Ack, Len, MSS and time in us of the packets in `tests/printed/forms`.
const SAME: [(u8, u32, u32, u32, u16, i64); 4] = [
    (SYN_FLAG, 0, 0, 0, 1460, 0),
    (SYN_FLAG | ACK_FLAG, 0, 1, 0, 1400, 100),
    (PSH | ACK_FLAG, 1, 1, 100, 0, 40_000),
    (ACK_FLAG, 1, 101, 0, 0, 80_000),
];

/// A form is a file: what it prints is the same.
#[test]
fn every_form_tells_the_same() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/printed/forms");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut count = 0;
    for path in files {
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(order) = utf16::order(&bytes) {
            let units = std::mem::take(&mut bytes);
            Utf16::new(units.as_slice(), order).read_to_end(&mut bytes).unwrap();
        }
        let (packets, about) =
            read_bytes(&bytes).unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
        let of = |(time_ns, packet): (i64, Result<Header, _>)| {
            (time_ns, packet.unwrap_or_else(|packet| panic!("{}: {packet:?}", path.display())))
        };
        let found: Vec<_> = packets.into_iter().map(of).collect();
        let first_ns = found[0].0;
        // The first numbers of each end.
        let isn = [found[0].1.seq, found[1].1.seq];
        let same = found.iter().enumerate().map(|(at, (time_ns, header))| {
            let ack = if header.flags & ACK_FLAG == 0 { 0 } else { header.ack - isn[1 - at % 2] };
            // These print none.
            let is_told = header.flags & SYN_FLAG != 0
                && !["network-monitor.txt", "fortigate.txt"]
                    .iter()
                    .any(|name| path.ends_with(name));
            let mss = if is_told { header.mss() } else { SAME[at % SAME.len()].4 };
            let seq = header.seq - isn[at % 2];
            (header.flags, seq, ack, header.len, mss, (time_ns - first_ns) / 1_000)
        });
        assert_eq!(same.collect::<Vec<_>>(), SAME, "{}", path.display());
        assert!(
            about.lines_without_packet == 0 || path.to_string_lossy().contains("ml.txt"),
            "{}",
            path.display()
        );
        count += 1;
    }
    assert!(count > 60);
}

#[test]
fn a_segment_has_the_numbers_that_were_printed() {
    let [syn, syn_ack, data, ack] = headers(&[SYN, SYN_ACK, DATA, ACK].concat())[..] else {
        panic!("four frames");
    };
    assert!(syn.flags == SYN_FLAG);
    assert_eq!((syn.seq, syn.mss(), syn.printed.options.window_shift), (5000, 1460, Some(7)));
    assert_eq!(syn.timestamps().map(|(value, _)| value), Some(7));
    assert_eq!((syn_ack.seq, syn_ack.ack, syn_ack.mss()), (9000, 5001, 1400));
    assert_eq!((data.seq, data.ack, data.len, data.window), (5001, 9001, 100, 502));
    assert!(ack.flags == ACK_FLAG && ack.len == 0);
    assert_eq!((ack.seq, ack.ack, ack.len), (9001, 5101, 0));
}

#[test]
fn what_was_pasted_from_the_middle_is_counted_from_there() {
    let next = DATA.replace("seq 1:101, ack 1,", "seq 101:131, ack 1,").replace("100: H", "30: H");
    let found = headers(&[DATA, ACK, &next].concat());
    assert_eq!(found.iter().map(|header| header.seq).collect::<Vec<_>>(), [1, 1, 101]);
    assert_eq!(found.iter().map(|header| header.ack).collect::<Vec<_>>(), [1, 101, 1]);
}

#[test]
fn what_pasting_adds_is_passed() {
    let text =
        format!("```\n$ tcpdump -n\n> {DATA}\t{DATA}\n\u{feff}{DATA}3 packets captured\n```");
    let (frames, about) = read(&text.replace('\n', "\r\n"));
    assert_eq!(frames.len(), 3);
    assert_eq!(about.lines_without_packet, 2);
}

#[test]
fn blocks_of_sack_are_counted_as_the_acks_are() {
    let dup = ACK.replace("length 0", "options [nop,nop,sack 1 {201:301}], length 0");
    let relative = [SYN, SYN_ACK, DATA, &dup].concat();
    let absolute = relative.replace("seq 1:101, ack 1,", "seq 5001:5101, ack 9001,");
    let absolute = absolute.replace("ack 101", "ack 5101").replace("201:301", "5201:5301");
    for text in [relative, absolute] {
        let found = *headers(&text).last().unwrap();
        assert!(found.ack == 5101 && found.sack_from == Some(5201), "{text}");
    }
}

#[test]
fn other_packets_keep_the_numbers_of_frames() {
    let others = [
        ("10:00:00.000001 IP 10.0.0.1.5000 > 10.0.0.2.53: 0+ A? a.b. (21)", PrintedPacket::NotTcp),
        (
            "10:00:00.000001 IP6 fe80::1 > ff02::1: ICMP6, router advertisement, length 24",
            PrintedPacket::NotTcp,
        ),
        (
            "10:00:00.000001 IP 1.1.1.1 > 2.2.2.2: GREv0, length 72: IP 10.0.0.1.4 > 10.0.0.2.80: UDP",
            PrintedPacket::NotTcp,
        ),
        (
            "10:00:00.000001 IP (tos 0x0, ttl 64, id 1, offset 0, flags [none], proto UDP (17), \
          length 49)\n    10.0.0.1.5000 > 10.0.0.2.53: 0+ A? a.b. (21)",
            PrintedPacket::NotTcp,
        ),
        (
            "10:00:00.000001 IP (tos 0x0, ttl 64, id 1, offset 80, flags [none], proto TCP (6), \
          length 44)\n    10.0.0.1 > 10.0.0.2: tcp",
            PrintedPacket::Fragment,
        ),
        ("10:00:00.000001 IP 10.0.0.1 > 10.0.0.2: ip-proto-6", PrintedPacket::Fragment),
        (
            "10:00:00.000001 ARP, Request who-has 10.0.0.1 tell 10.0.0.2, length 28",
            PrintedPacket::NotIp,
        ),
        (
            "10:00:00.000001 02:00:00:00:00:01 > 02:00:00:00:00:02, ethertype ARP (0x0806), \
          length 42: Request who-has 10.0.0.1 tell 10.0.0.2, length 28",
            PrintedPacket::NotIp,
        ),
        ("10:00:00.000001 IP 10.0.0.1.4000 > 10.0.0.2.80: [|tcp]", PrintedPacket::Unreadable),
        (
            "10:00:00.000001 IP 10.0.0.1.4000 > 10.0.0.2.80:  tcp 64 [bad hdr length 4 - too short, \
          < 20]",
            PrintedPacket::Quiet,
        ),
        (
            "10:00:00.000001 IP 10.0.0.1.4000 > 10.0.0.2.80: Flags [P.], seq 1:10",
            PrintedPacket::Unreadable,
        ),
        ("10:00:00.000001 IP 10.0.0.1.4000 > 1", PrintedPacket::Unreadable),
        // Nothing tells the sequence number of a pure ACK before all others of its sender.
        (ACK.trim_end(), PrintedPacket::Unreadable),
        // In an error of ICMP.
        (
            "10:00:00.100000 IP (tos 0x0, ttl 64, id 1, offset 0, flags [none], proto ICMP (1), \
          length 96)\n    10.0.0.9 > 10.0.0.1: ICMP 10.0.0.2 tcp port 80 unreachable, length \
          76\n\tIP (tos 0x0, ttl 64, id 1, offset 0, flags [none], proto TCP (6), length 68)\n    \
          10.0.0.1.4000 > 10.0.0.2.80: Flags [P.], seq 1:29, ack 1, win 8192, length 28",
            PrintedPacket::NotTcp,
        ),
    ];
    for (line, packet) in others {
        let (frames, about) = read(&format!("{line}\n{DATA}"));
        let found: Vec<_> = frames.iter().map(|(_, decoded)| decoded.err()).collect();
        assert_eq!(
            (&found[..], about.lines_without_packet),
            (&[Some(packet), None][..], 0),
            "{line}"
        );
    }
}

#[test]
fn flags_without_an_ack_and_options_that_were_cut_are_read() {
    let rst =
        "10:00:00.100000 IP 10.0.0.1.4000 > 10.0.0.2.80: Flags [R], seq 5101, win 0, length 0\n";
    let none = rst.replace("[R], seq 5101", "[none]");
    let cut = SYN.replace(",nop,wscale 7], length 0", ", [|tcp]");
    let found = headers(&[SYN, SYN_ACK, DATA, rst, &none, &cut].concat());
    assert_eq!((found[3].seq, found[3].flags), (5101, flags::RST));
    assert_eq!((found[4].seq, found[4].flags), (5101, 0));
    assert_eq!((found[5].mss(), found[5].printed.is_cut), (1460, true));
}

/// Mail programs that join lines mark where they did.
#[test]
fn the_plus_of_joined_lines_is_no_part_of_a_word() {
    let old =
        "10:00:00.045000 10.0.0.2.80 > 10.0.0.1.4000: S 9:9(0) +ack 5001 +win 17520 <mss 1460>\n";
    let both = headers(&[SYN, old].concat());
    assert_eq!((both[1].flags, both[1].ack), (SYN_FLAG | ACK_FLAG, 5001));
}

/// Who pastes lines without them would read that 63 bytes of room kept the server waiting.
#[test]
fn a_syn_printed_without_its_options_tells_no_window_scale() {
    let cut = SYN.replace("nop,wscale 7]", "[|tcp]");
    let bare = format!("{}, length 0\n", SYN.split_once(", options").unwrap().0);
    let listed = LISTED.replace(" WS=128", "[Packet size limited during capture]");
    assert!(headers(&listed)[0].printed.is_cut && !headers(LISTED)[0].printed.is_cut);
    let found = headers(&[SYN, &cut, &bare].concat());
    assert_eq!(found.iter().map(|syn| syn.printed.is_cut).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(found.iter().map(Header::mss).collect::<Vec<_>>(), [1460, 1460, 0]);
    assert!(found.iter().all(|syn| syn.len == 0));
}

#[test]
fn ipv6_and_segments_beyond_64_kb_are_read() {
    let text = "10:00:00.000000 IP6 fe80::1.4000 > 2001:db8::2.8080: Flags [P.], seq 1:70001, ack 1, \
                win 64, options [nop,nop,TS val 4294967295 ecr 66051], length 70000: HTTP\n";
    for text in
        [text, &text.replace("IP6 fe80::1", "IP 10.0.0.1").replace("2001:db8::2", "10.0.0.2")]
    {
        let found = headers(text)[0];
        assert_eq!(
            (found.len, found.timestamps().map(|(value, _)| value)),
            (70_000, Some(u32::MAX)),
            "{text}"
        );
        assert_eq!(found.timestamps().unwrap().1, 66051);
    }
}

const LISTED: &str = "\
    1   0.000000     10.0.0.1 → 10.0.0.2     TCP 74 4000 → 80 [SYN] Seq=0 Win=64240 Len=0 MSS=1460 SACK_PERM TSval=7 TSecr=0 WS=128
    2   0.000100     10.0.0.2 → 10.0.0.1     TCP 74 80 → 4000 [SYN, ACK] Seq=0 Ack=1 Win=65160 Len=0 MSS=1400 WS=512
    3   0.040000     10.0.0.1 → 10.0.0.2     TCP 166 [TCP Retransmission] 4000 → 80 [PSH, ACK] Seq=1 Ack=1 Win=64256 Len=100
    4   0.080000     10.0.0.2 → 10.0.0.1     TCP 78 80 → 4000 [ACK] Seq=1 Ack=101 Win=262144 Len=0 SLE=201 SRE=301 SLE=401 SRE=501
";

#[test]
fn a_packet_list_has_the_numbers_that_were_sent() {
    let [syn, syn_ack, data, ack] = headers(LISTED)[..] else { panic!("four frames") };
    assert!(syn.flags == SYN_FLAG);
    assert_eq!((syn.window, syn.mss(), syn.printed.options.window_shift), (64240, 1460, Some(7)));
    assert_eq!(syn.timestamps().map(|(value, _)| value), Some(7));
    assert_eq!((syn_ack.seq, syn_ack.ack, syn_ack.mss()), (0, 1, 1400));
    assert_eq!((data.seq, data.ack, data.len, data.window), (1, 1, 100, 64256 >> 7));
    assert!(ack.flags == ACK_FLAG && ack.len == 0 && ack.sack_from == Some(201));
    assert_eq!((ack.seq, ack.ack, ack.window), (1, 101, 512));
}

/// A request and a reply in two pieces, of which the list shows messages.
const MESSAGES: &str = "\
    1   0.000000 10.0.0.1 → 10.0.0.2 TCP 74 4000 → 80 [SYN] Seq=0 Win=64240 Len=0 MSS=1460
    2   0.000020 10.0.0.2 → 10.0.0.1 TCP 74 80 → 4000 [SYN, ACK] Seq=0 Ack=1 Win=65160 Len=0 MSS=1460
    3   0.000030 10.0.0.1 → 10.0.0.2 TCP 66 4000 → 80 [ACK] Seq=1 Ack=1 Win=64256 Len=0
    4   0.000100 10.0.0.1 → 10.0.0.2 HTTP 93 GET / HTTP/1.1\x20
    5   0.000130 10.0.0.2 → 10.0.0.1 TCP 105 HTTP/1.1 200 OK  [TCP segment of a reassembled PDU]
    6   0.044000 10.0.0.1 → 10.0.0.2 TCP 66 4000 → 80 [ACK] Seq=28 Ack=40 Win=64256 Len=0
    7   0.044020 10.0.0.2 → 10.0.0.1 HTTP 86 HTTP/1.1 200 OK\x20
    8   0.044030 10.0.0.1 → 10.0.0.2 TCP 66 4000 → 80 [ACK] Seq=28 Ack=60 Win=64256 Len=0
";

#[test]
fn messages_in_a_packet_list_get_the_numbers_that_the_rows_around_tell() {
    let numbers = |text: &str| {
        let (frames, about) = read(text);
        let of = |at: usize| frames[at].1.map(|header| (header.seq, header.ack, header.len)).ok();
        ([of(3), of(4), of(6)], about.messages_placed, about.messages_unplaced)
    };
    let expected = [Some((1, 1, 27)), Some((1, 28, 39)), Some((40, 28, 20))];
    assert_eq!(numbers(MESSAGES), (expected, 3, 0));
    // Both directions could have sent them, but for the rows that follow.
    let on_loopback = MESSAGES.replace("10.0.0.1", "127.0.0.1").replace("10.0.0.2", "127.0.0.1");
    assert_eq!(numbers(&on_loopback), (expected, 3, 0));
    // Pasted from the middle, where a message comes first.
    let from_the_middle = MESSAGES.lines().skip(3).collect::<Vec<_>>().join("\n");
    let (frames, about) = read(&from_the_middle);
    assert_eq!((about.messages_placed, about.messages_unplaced), (3, 0));
    let first = frames[0].1.unwrap();
    assert_eq!((first.seq, first.len), (1, 27));
    // A window that no row has printed yet is not closed.
    assert!(frames[1].1.unwrap().window > 0);
    // Sent again, as a list of two interfaces shows it.
    let again = "4 0.000101 10.0.0.1 → 10.0.0.2 TCP 93 [TCP Retransmission] 4000 → 80 [PSH, ACK] \
                 Seq=1 Ack=1 Win=64256 Len=27\n    5 ";
    assert_eq!(read(&MESSAGES.replacen("5 ", again, 1)).1.messages_placed, 3);
    // Without timestamps frames are shorter than Ethernet's least, or padded.
    let short = MESSAGES.replace("TCP 66", "TCP 54").replacen("TCP 54", "TCP 60", 1);
    let short = short.replace("93", "81").replace("105", "93").replace("HTTP 86", "HTTP 74");
    assert_eq!(numbers(&short), (expected, 3, 0));
}

/// A stall in the wrong connection would be certain of what nobody measured.
#[test]
fn a_message_that_fits_two_connections_proves_nothing() {
    let other = MESSAGES.replace("4000", "5000");
    let rows = MESSAGES.lines().zip(other.lines());
    let both: String = rows.flat_map(|(one, other)| [one, "\n", other, "\n"]).collect();
    for (text, expected) in [(both.as_str(), 3), (MESSAGES, 0)] {
        let (packets, about) = read(text);
        let is_inferred =
            |(_, packet): &&(i64, Result<Header, _>)| packet.unwrap().printed.is_inferred;
        let inferred = packets.iter().filter(is_inferred).count() as u64;
        assert_eq!(
            (inferred, about.messages_in_doubt, about.messages_unplaced),
            (expected, expected, 0)
        );
    }
}

/// Two connections that look like one would be judged by clocks that differ.
#[test]
fn of_two_captures_of_the_same_packets_one_is_read() {
    let first = [SYN, SYN_ACK, DATA, ACK].concat();
    let earlier = first.replace("10:00:00", "09:59:59");
    let (frames, about) = read(&[first.as_str(), "(at the server)\n", &earlier].concat());
    assert_eq!((frames, about.rows_copied), (read(&first).0, 4));
    // An excerpt before the whole; a SYN that several interfaces show.
    for text in [[SYN, SYN_ACK, &first].concat(), [SYN, SYN, SYN, &first].concat()] {
        let (frames, _) = read(&text);
        assert_eq!(frames[frames.len() - 2..], read(&first).0[2..], "{text}");
    }
    // Sent again, and another connection of the same ports.
    let again = SYN.replace("00.000000", "01.000000").replace("val 7", "val 1007");
    let other = again.replace("seq 5000", "seq 7000");
    for text in [[SYN, &again].concat(), [first.as_str(), &other].concat()] {
        assert_eq!(read(&text).1.rows_copied, 0, "{text}");
    }
}

#[test]
fn marks_that_rows_were_left_out_are_counted() {
    for mark in [
        "[...]",
        "...",
        "…",
        "<snip>",
        "-- cut here --",
        "(10 rows omitted)",
        "... (more)",
        "(4 more)",
        "non relevant packets removed",
    ] {
        let (frames, about) = read(&[SYN, mark, "\n", DATA].concat());
        assert_eq!((frames.len(), about.elisions, about.lines_without_packet), (2, 1, 0), "{mark}");
    }
    // Payload, as `-A` prints it.
    for line in ["```", "`.... .@......", "..", "E..<.@.."] {
        assert_eq!(read(&[SYN, line, "\n", DATA].concat()).1.elisions, 0, "{line}");
    }
}

#[test]
fn a_message_that_fits_no_connection_is_left_out_and_told() {
    let elsewhere = "9 0.100000 10.0.0.9 → 10.0.0.2 HTTP 72 HTTP/1.1 200 OK  (text/html)\n";
    let again = "9 0.100000 10.0.0.2 → 10.0.0.1 HTTP 86 [TCP Retransmission] HTTP/1.1 200 OK\n";
    let dns = "9 0.300000 10.0.0.9 → 10.0.0.2 DNS 72 Standard query 0x1 A a.b\n";
    for (row, packet, unplaced) in [
        (elsewhere, PrintedPacket::Unreadable, 1),
        (again, PrintedPacket::Unreadable, 1),
        (dns, PrintedPacket::NotTcp, 0),
    ] {
        let (frames, about) = read(&[MESSAGES, row].concat());
        assert_eq!((frames[8].1, about.messages_unplaced), (Err(packet), unplaced), "{row}");
    }
    assert!(refused(elsewhere).contains("messages alone"), "{}", refused(elsewhere));
}

#[test]
fn what_shows_no_packet_is_refused_by_its_name() {
    for (text, name) in [
        (
            "ESTAB 0 0 10.0.0.1:80 10.0.0.2:4\n\t cubic wscale:7,7 rto:204 rtt:1.2/0.3 ato:40\n",
            "ss -ti",
        ),
        ("TcpExtDelayedACKs              12                 0.0\n", "nstat"),
        ("TcpExt:\n    12 delayed acks sent\n", "netstat -s"),
        ("Attaching 2 probes...\n@usecs: \n[16K, 32K)   3 |@@@|\n", "bpftrace"),
        (
            "11/28-10:00:00.000000 10.0.0.1:4 -> 10.0.0.2:80\n***AP*** Seq: 0x1389  Ack: 0x2329  \
          Win: 0x1F6  TcpLen: 20\n",
            "snort",
        ),
        ("10:00:00.000000 IP 10.0.0.1.4 > 10.0.0.2.5: sctp (1) [DATA] (B)(E) [TSN: 1]\n", "SCTP"),
    ] {
        assert!(refused(text).contains(name), "{name}: {}", refused(text));
    }
}

/// A wait between two captures would be one that no program had.
#[test]
fn two_captures_in_one_text_are_no_conversation() {
    let [earlier, later] = ["10:00:00", "10:05:00"].map(|time| {
        let data = DATA.replace("10:00:00", time);
        let ack = ACK.replace("10:00:00", time);
        [data, ack].concat()
    });
    // Each counts from its own first row, which tcpdump prints as it is.
    let of = |text: &str, seq: &str, ack: &str| {
        text.replacen("seq 1:101, ack 1,", &format!("seq {seq}, ack {ack},"), 1)
    };
    let first = of(&earlier, "5001:5101", "9001") + &earlier.replace("00.0", "01.0");
    let second = of(&later, "7001:7101", "9101") + &later.replace("00.0", "01.0");
    let found = headers(&[&first, "4 packets captured\nlistening on eth0\n", &second].concat());
    let numbers: Vec<_> = found.iter().map(|header| header.seq).collect();
    assert_eq!(numbers[4..], [7001, 9101, 7002, 9101], "{numbers:?}");
    // Where the later one comes first, time goes back: one of them is read, and both are named.
    let text = ["Before:\n", &later, "After TCP_NODELAY\n", &earlier].concat();
    let (packets, about) = read(&text);
    assert_eq!((packets.len(), about.rows_copied, about.headings), (2, 2, 2));
}

#[test]
fn rows_out_of_order_are_sorted_and_that_is_said() {
    let in_order = [SYN, SYN_ACK, DATA, ACK].concat();
    let newest_first = [ACK, DATA, SYN_ACK, SYN].concat();
    let (frames, about) = read(&newest_first);
    assert_eq!((frames, about.is_sorted), (read(&in_order).0, true));
    let listed_newest_first = LISTED.lines().rev().collect::<Vec<_>>().join("\n");
    assert_eq!(read(&listed_newest_first).0, read(LISTED).0);
    assert!(!read(&in_order).1.is_sorted);
}

#[test]
fn a_text_that_begins_late_is_found_and_one_that_begins_too_late_is_not() {
    let before = "a line of a ticket, and of what was tried before\n";
    assert!(read_bytes([&before.repeat(2_000), DATA].concat().as_bytes()).is_ok());
    assert!(read_bytes([&before.repeat(200_000), DATA].concat().as_bytes()).is_err());
}

#[test]
fn a_line_without_an_end_takes_no_memory() {
    let mut text = DATA.as_bytes().to_vec();
    text.resize(3 << 20, b'x');
    text.extend(b"\n");
    text.extend(DATA.as_bytes());
    let mut packets = 0;
    let (mut bytes, mut text) = opened(&text);
    let allocated = allocation_counter::measure(|| {
        while text.next_packet(&mut bytes).unwrap().is_some() {
            packets += 1;
        }
    });
    assert_eq!(packets, 2);
    assert!(allocated.bytes_max < 1 << 20, "{} bytes", allocated.bytes_max);
}

#[test]
fn no_packet_takes_memory_of_its_own() {
    let text = [SYN, SYN_ACK].concat() + &[DATA, ACK].concat().repeat(1_000);
    let (mut bytes, mut text) = opened(text.as_bytes());
    let allocated =
        allocation_counter::measure(|| while text.next_packet(&mut bytes).unwrap().is_some() {});
    assert!(allocated.count_total < 20, "{} allocations", allocated.count_total);
}
