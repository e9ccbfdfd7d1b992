//! Texts as they are pasted.

use crate::capture::error::ScanError;
use crate::capture::text::AboutText;
use crate::capture::{Capture, InputEnd};
use crate::decode::{self, Header, Skip};
use std::io::Cursor;

fn open(text: &[u8]) -> Result<Capture, ScanError> {
    Capture::new(Box::new(Cursor::new(text.to_vec())), "pasted")
}

type HeaderOrSkip = Result<Header, Skip>;

/// Each frame with its time, and what is said of the text.
fn read(text: &str) -> (Vec<(i64, HeaderOrSkip)>, AboutText) {
    let mut capture = open(text.as_bytes()).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = capture.next_frame() {
        let segment = decode::segment(frame.link_type, frame.data, frame.wire_len);
        frames.push((frame.time_ns, segment.map(|segment| segment.header())));
    }
    assert_eq!(capture.end(), Some(&InputEnd::Complete));
    (frames, capture.about_text().unwrap())
}

fn headers(text: &str) -> Vec<Header> {
    read(text).0.into_iter().map(|(_, decoded)| decoded.unwrap()).collect()
}

fn refused(text: &str) -> String {
    open(text.as_bytes()).err().unwrap().to_string()
}

const SYN: &str = "10:00:00.000000 IP 10.0.0.1.4000 > 10.0.0.2.80: Flags [S], seq 5000, win 64240, \
                   options [mss 1460,sackOK,TS val 7 ecr 0,nop,wscale 7], length 0\n";
const SYN_ACK: &str = "10:00:00.000100 IP 10.0.0.2.80 > 10.0.0.1.4000: Flags [S.], seq 9000, \
                       ack 5001, win 65160, options [mss 1400], length 0\n";
const DATA: &str = "10:00:00.040000 IP 10.0.0.1.4000 > 10.0.0.2.80: Flags [P.], seq 1:101, ack 1, \
                    win 502, length 100: HTTP: GET / HTTP/1.1\n";
const ACK: &str =
    "10:00:00.080000 IP 10.0.0.2.80 > 10.0.0.1.4000: Flags [.], ack 101, win 510, length 0\n";

#[test]
fn a_segment_has_the_numbers_that_were_printed() {
    let [syn, syn_ack, data, ack] = headers(&[SYN, SYN_ACK, DATA, ACK].concat())[..] else {
        panic!("four frames");
    };
    assert!(syn.is_opening());
    assert_eq!((syn.seq, syn.options.mss(), syn.options.window_scale()), (5000, 1460, Some(7)));
    assert_eq!(syn.options.tsval(), Some(7));
    assert_eq!((syn_ack.seq, syn_ack.ack, syn_ack.options.mss()), (9000, 5001, 1400));
    assert_eq!((data.seq, data.ack, data.len, data.window), (5001, 9001, 100, 502));
    assert!(ack.is_pure_ack());
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
fn all_forms_of_tcpdump_tell_the_same() {
    let text = [SYN, SYN_ACK, DATA, ACK].concat();
    let replaced = |pairs: &[(&str, &str)]| {
        pairs.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to))
    };
    let mac = "02:00:0a:0a:02:01 > 02:00:0a:0a:02:02, ethertype";
    let vlan = format!("{mac} 802.1Q (0x8100), length 158: vlan 5, p 0, ethertype IPv4 (0x0800), ");
    let tunnelled =
        "IP 198.51.100.2.26898 > 198.51.100.1.4789: VXLAN, flags [I] (0x08), vni 4096\nIP ";
    let head = "IP (tos 0x0, ttl 64, offset 0, flags [DF], proto TCP (6), length 140)\n    10";
    let forms: [&[(&str, &str)]; 19] = [
        // Sequence numbers as they were sent (`-S`), and blocks of SACK.
        &[("seq 1:101, ack 1,", "seq 5001:5101, ack 9001,"), ("ack 101", "ack 5101")],
        // What a mail program broke, or `-v`.
        &[("Flags", "\nFlags"), ("seq", "\r\nseq"), ("win ", "\r\n> win ")],
        &[("IP 10", head), ("[P.], ", "[P.], cksum 0xfe30 (incorrect -> 0xbcdb), ")],
        &[("IP 10", head), ("10:00:00", "pod-1  | 10:00:00"), ("\n ", "\npod-1  |  ")],
        &[("IP ", &format!("{mac} IPv4 (0x0800), length 154: "))],
        &[("IP ", &vlan)],
        &[("IP ", "eth0  In  IP ")],
        &[("IP ", "lo    In  ifindex 1 00:00:00:00:00:00 ethertype IPv4 (0x0800), length 160: ")],
        &[("IP ", "AF IPv4 (2), length 144: ")],
        &[("length 100: HTTP", "length 100: HTTP\n\t0x0000:  4500 003c\n\n\tHTTP")],
        &[("10:00:00", "     1\t10:00:00")],
        &[("10:00:00", "2026-11-26T09:00:00.044020123Z 10:00:00")],
        &[("10:00:00", "Nov 26 09:00:00 host tcpdump[77]: 10:00:00")],
        &[("10:00:00", "\"10:00:00")],
        &[(">", "&gt;"), ("[S]", "<span>&#91;</span>S]"), ("\n", "<br/>\n")],
        &[("IP ", tunnelled)],
        &[("IP ", "IP 1.1.1.1 > 2.2.2.2: GREv0, length 64: IP ")],
        &[("IP ", "IP 1.1.1.1 > 2.2.2.2: IP ")],
        &[("IP ", "IP 1.1.1.1.2 > 2.2.2.2.6081: Geneve, Flags [none], vni 0x1: IP ")],
    ];
    let expected = read(&text).0;
    for form in forms {
        let text = replaced(form);
        let (frames, about) = read(&text);
        assert_eq!((frames, about.lines_without_packet), (expected.clone(), 0), "{text}");
    }
}

#[test]
fn what_pasting_adds_is_passed() {
    let text =
        format!("```\n$ tcpdump -n\n> {DATA}\t{DATA}\n\u{feff}{DATA}3 packets captured\n```");
    let (frames, about) = read(&text.replace('\n', "\r\n"));
    assert_eq!(frames.len(), 3);
    assert_eq!(about.lines_without_packet, 4);
}

#[test]
fn utf_16_is_read() {
    let text = [SYN, SYN_ACK, DATA, ACK].concat();
    let expected = read(&text).0.len();
    for (mark, to_bytes) in [
        (vec![0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]),
        (vec![0xfe, 0xff], u16::to_be_bytes),
        (vec![], u16::to_le_bytes),
    ] {
        let bytes = [mark, text.encode_utf16().flat_map(to_bytes).collect()].concat();
        let mut capture = open(&bytes).unwrap();
        assert_eq!(std::iter::from_fn(|| capture.next_frame().map(|_| ())).count(), expected);
    }
}

#[test]
fn old_versions_of_tcpdump_are_read() {
    let old = "\
10:00:00.000000 10.0.0.1.4000 > 10.0.0.2.80: S 5000:5000(0) win 64240 <mss 1460,nop,nop,sackOK> (DF)
10:00:00.000100 IP (tos 0x0, ttl 64, id 7, offset 0, flags [DF], proto: TCP (6), length: 44) \
10.0.0.2.www > 10.0.0.1.4000: S, cksum 0xb7f2 (correct), 9000:9000(0) ack 5001 win 65160 <mss 1400>
10:00:00.040000 IP 10.0.0.1.4000 > 10.0.0.2.80: P 1:101(100) ack 1 win 502
10:00:00.080000 10.0.0.2.80 > 10.0.0.1.4000: . ack 101 win 510 <nop,nop,timestamp 5 7> (DF) [tos 0x8]
";
    let of = |text: &str| headers(text).iter().map(numbers).collect::<Vec<_>>();
    assert_eq!(of(old), of(&[SYN, SYN_ACK, DATA, ACK].concat()));
}

#[test]
fn blocks_of_sack_are_counted_as_the_acks_are() {
    let dup = ACK.replace("length 0", "options [nop,nop,sack 1 {201:301}], length 0");
    let relative = [SYN, SYN_ACK, DATA, &dup].concat();
    let absolute = relative.replace("seq 1:101, ack 1,", "seq 5001:5101, ack 9001,");
    let absolute = absolute.replace("ack 101", "ack 5101").replace("201:301", "5201:5301");
    for text in [relative, absolute] {
        let found = *headers(&text).last().unwrap();
        assert!(found.ack == 5101 && found.options.is_sack_from(5201), "{text}");
    }
}

#[test]
fn other_packets_keep_the_numbers_of_frames() {
    let others = [
        ("10:00:00.000001 IP 10.0.0.1.5000 > 10.0.0.2.53: 0+ A? a.b. (21)", Skip::NotTcp),
        (
            "10:00:00.000001 IP6 fe80::1 > ff02::1: ICMP6, router advertisement, length 24",
            Skip::NotTcp,
        ),
        (
            "10:00:00.000001 IP 1.1.1.1 > 2.2.2.2: GREv0, length 72: IP 10.0.0.1.4 > 10.0.0.2.80: UDP",
            Skip::NotTcp,
        ),
        (
            "10:00:00.000001 IP (tos 0x0, ttl 64, id 1, offset 0, flags [none], proto UDP (17), \
          length 49)\n    10.0.0.1.5000 > 10.0.0.2.53: 0+ A? a.b. (21)",
            Skip::NotTcp,
        ),
        (
            "10:00:00.000001 IP (tos 0x0, ttl 64, id 1, offset 80, flags [none], proto TCP (6), \
          length 44)\n    10.0.0.1 > 10.0.0.2: tcp",
            Skip::Fragment,
        ),
        ("10:00:00.000001 IP 10.0.0.1 > 10.0.0.2: ip-proto-6", Skip::Fragment),
        ("10:00:00.000001 ARP, Request who-has 10.0.0.1 tell 10.0.0.2, length 28", Skip::NotIp),
        (
            "10:00:00.000001 02:00:00:00:00:01 > 02:00:00:00:00:02, ethertype ARP (0x0806), \
          length 42: Request who-has 10.0.0.1 tell 10.0.0.2, length 28",
            Skip::NotIp,
        ),
        ("10:00:00.000001 IP 10.0.0.1.4000 > 10.0.0.2.80: [|tcp]", Skip::Cut),
        (
            "10:00:00.000001 IP 10.0.0.1.4000 > 10.0.0.2.80:  tcp 64 [bad hdr length 4 - too short, \
          < 20]",
            Skip::Cut,
        ),
        ("10:00:00.000001 IP 10.0.0.1.4000 > 10.0.0.2.80: Flags [P.], seq 1:10", Skip::Cut),
        ("10:00:00.000001 IP 10.0.0.1.4000 > 1", Skip::Cut),
        // Nothing tells the sequence number of a pure ACK before all others of its sender.
        (ACK.trim_end(), Skip::Cut),
        // In an error of ICMP.
        (
            "10:00:00.100000 IP (tos 0x0, ttl 64, id 1, offset 0, flags [none], proto ICMP (1), \
          length 96)\n    10.0.0.9 > 10.0.0.1: ICMP 10.0.0.2 tcp port 80 unreachable, length \
          76\n\tIP (tos 0x0, ttl 64, id 1, offset 0, flags [none], proto TCP (6), length 68)\n    \
          10.0.0.1.4000 > 10.0.0.2.80: Flags [P.], seq 1:29, ack 1, win 8192, length 28",
            Skip::NotTcp,
        ),
    ];
    for (line, skip) in others {
        let (frames, about) = read(&format!("{line}\n{DATA}"));
        let found: Vec<_> = frames.iter().map(|(_, decoded)| decoded.err()).collect();
        assert_eq!(
            (&found[..], about.lines_without_packet),
            (&[Some(skip), None][..], 0),
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
    assert_eq!((found[3].seq, found[3].flags), (5101, decode::RST));
    assert_eq!((found[4].seq, found[4].flags), (5101, 0));
    assert_eq!((found[5].options.mss(), found[5].options.is_cut()), (1460, true));
}

/// Who pastes lines without them would read that 63 bytes of room kept the server waiting.
#[test]
fn a_syn_printed_without_its_options_tells_no_window_scale() {
    let cut = SYN.replace("nop,wscale 7]", "[|tcp]");
    let bare = format!("{}, length 0\n", SYN.split_once(", options").unwrap().0);
    let found = headers(&[SYN, &cut, &bare].concat());
    assert_eq!(
        found.iter().map(|syn| syn.options.is_cut()).collect::<Vec<_>>(),
        [false, true, true]
    );
    assert_eq!(found.iter().map(|syn| syn.options.mss()).collect::<Vec<_>>(), [1460, 1460, 0]);
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
        assert_eq!((found.len, found.options.tsval()), (70_000, Some(u32::MAX)), "{text}");
        assert_eq!(found.options.echo(), Some(0x0203));
    }
}

/// Each line of a text as `form` makes it.
fn each_line(text: &str, form: impl FnMut(&str) -> String) -> String {
    text.lines().map(form).collect::<Vec<_>>().join("\n") + "\n"
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
    assert!(syn.is_opening());
    assert_eq!((syn.window, syn.options.mss(), syn.options.window_scale()), (64240, 1460, Some(7)));
    assert_eq!(syn.options.tsval(), Some(7));
    assert_eq!((syn_ack.seq, syn_ack.ack, syn_ack.options.mss()), (0, 1, 1400));
    assert_eq!((data.seq, data.ack, data.len, data.window), (1, 1, 100, 64256 >> 7));
    assert!(ack.is_pure_ack() && ack.options.is_sack_from(201));
    assert_eq!((ack.seq, ack.ack, ack.window), (1, 101, 512));
}

#[test]
fn packet_lists_of_all_versions_tell_the_same() {
    let expected = headers(LISTED);
    for (from, to, has_dates) in [
        ("→", "->", false),
        ("→", "&rarr;", false),
        ("→", "â†’", false),
        ("→", "\u{fffd}", false),
        ("→", "?", false),
        ("0.1 → 10", "0.1   10", false),
        ("   ", "\t", false),
        ("   0.", " 10:00:00.", false),
        ("   0.", " 2026-11-21 10:00:00.", true),
        ("   0.", " 1795247350.", true),
    ] {
        let text = LISTED.replace(from, to);
        let (frames, about) = read(&text);
        let found: Vec<_> = frames.iter().map(|(_, decoded)| decoded.unwrap()).collect();
        assert_eq!((found, about.has_dates), (expected.clone(), has_dates), "{text}");
        assert_eq!(frames[3].0 - frames[0].0, 80_000_000, "{text}");
    }
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

#[test]
fn a_message_that_fits_two_connections_is_told() {
    let other = MESSAGES.replace("4000", "5000");
    let mut others = other.lines();
    let both = each_line(MESSAGES, |row| format!("{row}\n{}", others.next().unwrap()));
    let (_, about) = read(&both);
    assert_eq!(
        (about.messages_placed, about.messages_unplaced, about.messages_in_doubt),
        (6, 0, 3)
    );
    assert_eq!(read(MESSAGES).1.messages_in_doubt, 0);
}

#[test]
fn a_message_that_fits_no_connection_is_left_out_and_told() {
    let elsewhere = "9 0.100000 10.0.0.9 → 10.0.0.2 HTTP 72 HTTP/1.1 200 OK  (text/html)\n";
    let again = "9 0.100000 10.0.0.2 → 10.0.0.1 HTTP 86 [TCP Retransmission] HTTP/1.1 200 OK\n";
    let dns = "9 0.300000 10.0.0.9 → 10.0.0.2 DNS 72 Standard query 0x1 A a.b\n";
    for (row, skip, unplaced) in
        [(elsewhere, Skip::Cut, 1), (again, Skip::Cut, 1), (dns, Skip::NotTcp, 0)]
    {
        let (frames, about) = read(&[MESSAGES, row].concat());
        assert_eq!((frames[8].1, about.messages_unplaced), (Err(skip), unplaced), "{row}");
    }
    assert!(refused(elsewhere).contains("messages alone"), "{}", refused(elsewhere));
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

/// Number, time, source, destination, protocol, length and info.
type Cells<'a> = [&'a str; 7];
type RowForm = fn(Cells<'_>) -> String;

#[test]
fn columns_may_stand_before_after_and_between_the_addresses() {
    let expected = headers(LISTED);
    let forms: [(&str, RowForm); 7] = [
        ("", |[n, t, s, d, p, l, i]| {
            format!("{n}\t2025-07-08 15:00:0{t}\t3.65\t0.26\t{s}\t{d}\t{p}\t{l}\t{i}")
        }),
        ("", |[n, t, s, d, p, l, i]| {
            format!("{n} 2012-12-12 18:19:0{t} 0.000000 {s} {d} {p} {l} {i}")
        }),
        ("", |[_, t, s, d, p, l, i]| format!("{t} {s} → {d} {p} {l} {i} 0.000017")),
        ("", |[n, t, s, d, p, l, i]| format!("{n} {t} {s} 4000 {d} 80 0 {p} {l} {i}")),
        ("", |cells| format!("\"{}\"", cells.join("\",\""))),
        (
            "\"No.\",\"Delta\",\"Source\",\"Time\",\"Destination\",\"Protocol\",\"Length\",\"Info\"\n",
            |[n, t, s, d, p, l, i]| {
                format!("\"{n}\",\"9.5\",\"{s}\",\"{t}\",\"{d}\",\"{p}\",\"{l}\",\"{i}\"")
            },
        ),
        (
            "No.  Delta  Time  Source  Destination  Protocol Length Info\n",
            |[n, t, s, d, p, l, i]| format!("{n} 9.500000 {t} {s} {d} {p} {l} {i}"),
        ),
    ];
    for (header, form) in forms {
        let rows = each_line(LISTED, |line| {
            let (before, info) = line.split_at(line.find("TCP ").unwrap());
            let words = before.split_whitespace().filter(|word| *word != "→");
            let mut cells: Vec<&str> = words.collect();
            cells.extend(info.splitn(3, ' '));
            form(cells.try_into().unwrap())
        });
        let text = [header, &rows].concat();
        let (frames, about) = read(&text);
        let found: Vec<_> = frames.iter().map(|(_, decoded)| decoded.unwrap()).collect();
        assert_eq!((found, about.lines_without_packet), (expected.clone(), 0), "{text}");
        assert_eq!(frames[3].0 - frames[0].0, 80_000_000, "{text}");
    }
}

/// The packets of LISTED, by the names of fields.
const FIELDS: &str = "\
frame.time_epoch\tip.src\tipv6.src\ttcp.srcport\tip.dst\tipv6.dst\ttcp.dstport\ttcp.flags\ttcp.seq\ttcp.ack\ttcp.len\ttcp.window_size\ttcp.options.mss_val
1795247351.000000000\t10.0.0.1\t\t4000\t10.0.0.2\t\t80\t0x0002\t0\t0\t0\t64240\t1460
1795247351.000100000\t10.0.0.2\t\t80\t10.0.0.1\t\t4000\t0x0012\t0\t1\t0\t65160\t1400
1795247351.040000000\t10.0.0.1\t\t4000\t10.0.0.2\t\t80\t0x0018\t1\t1\t100\t64256\t
1795247351.050000000\t10.0.0.1\t\t\t10.0.0.2\t\t\t\t\t\t\t\t
";

fn numbers(header: &Header) -> (u8, u32, u32, u32, u16) {
    (header.flags, header.seq, header.ack, header.len, header.options.mss())
}

#[test]
fn fields_are_read_by_their_names() {
    let expected: Vec<_> = headers(LISTED)[..3].iter().map(numbers).collect();
    let quoted = FIELDS.replace('\t', "\",\"").replace('\n', "\"\n\"");
    let quoted = format!("\"{}", quoted.trim_end_matches('"'));
    let letters = FIELDS.replace("0x0002", "··········S·").replace("0x0012", "·······A··S·");
    let letters = letters.replace("0x0018", "·······AP···");
    for text in [FIELDS, &FIELDS.replace('\t', ","), &FIELDS.replace('\t', ";"), &quoted, &letters]
    {
        let (frames, about) = read(text);
        let found: Vec<_> =
            frames[..3].iter().map(|(_, decoded)| numbers(&decoded.unwrap())).collect();
        assert_eq!((found, about.has_dates), (expected.clone(), true), "{text}");
        assert_eq!((frames[3].1, frames[2].0 - frames[0].0), (Err(Skip::NotTcp), 40_000_000));
    }
    let lacking = refused(&FIELDS.replace("tcp.seq", "tcp.stream").replace("tcp.len", "ip.ttl"));
    assert!(lacking.contains("without the fields tcp.seq, tcp.len: add them"), "{lacking}");
}

/// tshark's newer versions, and JSON, are read where they are installed.
#[test]
fn details_of_old_versions_are_read() {
    let details = "\
Frame 1: 74 bytes on wire (592 bits), 74 bytes captured (592 bits)
    Epoch Time: 1795247351.000000000 seconds
Internet Protocol Version 4, Src: 10.0.0.1 (10.0.0.1), Dst: 10.0.0.2 (10.0.0.2)
    Flags: 0x02 (Don't Fragment)
Transmission Control Protocol, Src Port: terabase (4000), Dst Port: http (80), Seq: 0, Len: 0
    Flags: 0x002 (SYN)
    Window size value: 64240
        TCP Option - Maximum segment size: 1460 bytes
            MSS Value: 1460
";
    assert_eq!(
        headers(details).iter().map(numbers).collect::<Vec<_>>(),
        [numbers(&headers(LISTED)[0])]
    );
}

#[test]
fn a_text_without_what_is_needed_is_refused_with_what_to_do() {
    let timeless = DATA.replace("10:00:00.040000 ", "");
    let quiet = "10:00:00.000000 IP 10.0.0.1.4000 > 10.0.0.2.80: tcp 16\n";
    for (text, reason) in [
        (quiet, "printed with -q"),
        (timeless.as_str(), "with -t"),
        (&timeless.replace("IP ", "IP (tos 0x0, proto TCP (6), length 60)\n    "), "with -t"),
        (
            &DATA.replace("10.0.0.1.4000", "CLIENT").replace("10.0.0.2.80", "SERVER"),
            "without ports",
        ),
        (&DATA.replace(".4000", "").replace(".80", ""), "without ports"),
        ("21:29:48.050247 IP 192.0.2.2.8302 > 1", "cut off"),
    ] {
        let refused = refused(text);
        assert!(refused.contains(reason) && refused.contains("tcpdump -nvv -r"), "{refused}");
    }
    for other in [
        "10:00:00.040000 IP 10.0.0.1.5 > 10.0.0.2.53: 0+ A? a.b. (21)\n",
        "2026-11-21 07:49:11.435718 INFO request took 40 ms > 10 ms, waiting for ack\n",
    ] {
        assert!(refused(other).contains("nor text that tcpdump or tshark printed"), "{other}");
    }
}

#[test]
fn a_text_that_begins_late_is_found_and_one_that_begins_too_late_is_not() {
    let before = "a line of a ticket, and of what was tried before\n";
    assert!(open([&before.repeat(2_000), DATA].concat().as_bytes()).is_ok());
    assert!(open([&before.repeat(200_000), DATA].concat().as_bytes()).is_err());
}

#[test]
fn a_line_without_an_end_takes_no_memory() {
    let mut text = DATA.as_bytes().to_vec();
    text.resize(64 << 20, b'x');
    text.extend(b"\n");
    text.extend(DATA.as_bytes());
    let mut capture = open(&text).unwrap();
    let mut frames = 0;
    let allocated = allocation_counter::measure(|| {
        while capture.next_frame().is_some() {
            frames += 1;
        }
    });
    assert_eq!(frames, 2);
    assert!(allocated.bytes_max < 1 << 20, "{} bytes", allocated.bytes_max);
}

#[test]
fn no_packet_takes_memory_of_its_own() {
    let text = [SYN, SYN_ACK].concat() + &[DATA, ACK].concat().repeat(1_000);
    let mut capture = open(text.as_bytes()).unwrap();
    let allocated = allocation_counter::measure(|| while capture.next_frame().is_some() {});
    assert!(allocated.count_total < 20, "{} allocations", allocated.count_total);
}
