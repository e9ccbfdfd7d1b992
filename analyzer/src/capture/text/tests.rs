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
fn absolute_numbers_are_taken_as_they_are() {
    let absolute = DATA.replace("seq 1:101, ack 1,", "seq 5001:5101, ack 9001,");
    let ack = ACK.replace("ack 101", "ack 5101");
    let relative = headers(&[SYN, SYN_ACK, DATA, ACK].concat());
    assert_eq!(headers(&[SYN, SYN_ACK, &absolute, &ack].concat()), relative);
}

#[test]
fn what_was_pasted_from_the_middle_is_counted_from_there() {
    let next = DATA.replace("seq 1:101, ack 1,", "seq 101:131, ack 1,").replace("100: H", "30: H");
    let found = headers(&[DATA, ACK, &next].concat());
    assert_eq!(found.iter().map(|header| header.seq).collect::<Vec<_>>(), [1, 1, 101]);
    assert_eq!(found.iter().map(|header| header.ack).collect::<Vec<_>>(), [1, 101, 1]);
}

#[test]
fn blocks_of_sack_are_counted_as_the_acks_are() {
    let dup = ACK.replace("length 0", "options [nop,nop,sack 1 {201:301}], length 0");
    let relative = [SYN, SYN_ACK, DATA, ACK, &dup].concat();
    let absolute = relative.replace("seq 1:101, ack 1,", "seq 5001:5101, ack 9001,");
    let absolute = absolute.replace("ack 101", "ack 5101").replace("201:301", "5201:5301");
    for text in [relative, absolute] {
        let found = *headers(&text).last().unwrap();
        assert!(found.ack == 5101 && found.options.is_sack_from(5201), "{text}");
    }
}

#[test]
fn a_pure_ack_before_all_others_of_its_sender_is_left_out() {
    let (frames, _) = read(&[ACK, DATA].concat());
    assert_eq!(frames[0].1, Err(Skip::Cut));
    assert!(frames[1].1.is_ok());
}

#[test]
fn a_packet_of_two_lines_is_one_frame_and_its_ip_identification_is_kept() {
    let head =
        "IP (tos 0x0, ttl 64, id 33233, offset 0, flags [DF], proto TCP (6), length 140)\n    ";
    let text = DATA.replace("IP 10", &format!("{head}10"));
    let text = text.replace("[P.], ", "[P.], cksum 0xfe30 (incorrect -> 0xbcdb), ");
    let found = headers(&text.repeat(2));
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].ip_id, found[0].len), (33233, 100));
}

#[test]
fn what_a_mail_program_broke_is_put_together() {
    let broken = DATA
        .replace("Flags", "\nFlags")
        .replace("seq", "\r\nseq")
        .replace("win 502,", "win 502,\r\n>");
    assert_eq!(headers(&broken), headers(DATA));
}

#[test]
fn headers_of_the_link_layer_are_passed() {
    let mac = "02:00:0a:0a:02:01 > 02:00:0a:0a:02:02, ethertype";
    for before in [
        format!("{mac} IPv4 (0x0800), length 154: "),
        format!("{mac} 802.1Q (0x8100), length 158: vlan 5, p 0, ethertype IPv4 (0x0800), "),
        "eth0  In  IP ".to_owned(),
        "lo    In  ifindex 1 00:00:00:00:00:00 ethertype IPv4 (0x0800), length 160: ".to_owned(),
        "AF IPv4 (2), length 144: ".to_owned(),
    ] {
        assert_eq!(headers(&DATA.replace("IP ", &before)), headers(DATA), "{before}");
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
fn payload_and_indented_details_count_as_lines_of_their_packet() {
    let text = format!("{DATA}\t0x0000:  4500 003c 9211 4000\n\tGET / HTTP/1.1\n\n");
    let (frames, about) = read(&text);
    assert_eq!((frames.len(), about.lines_without_packet), (1, 0));
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
            "10:00:00.000001 IP 1.1.1.1 > 2.2.2.2: GREv0, length 72: IP 10.0.0.1.4 > 10.0.0.2.80: \
          Flags [P.], seq 0:28, ack 1, win 8192, length 28",
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
fn packets_within_icmp_errors_and_tunnels_are_none() {
    let text = "10:00:00.100000 IP (tos 0x0, ttl 64, id 1, offset 0, flags [none], proto ICMP (1), \
                length 96)\n    10.0.0.9 > 10.0.0.1: ICMP 10.0.0.2 tcp port 80 unreachable, length \
                76\n\tIP (tos 0x0, ttl 64, id 1, offset 0, flags [none], proto TCP (6), length 68)\n\
                \x20   10.0.0.1.4000 > 10.0.0.2.80: Flags [P.], seq 1:29, ack 1, win 8192, length 28\n";
    let (frames, about) = read(&[DATA, text].concat());
    assert_eq!((frames.len(), frames[1].1), (2, Err(Skip::NotTcp)));
    assert_eq!(about.lines_without_packet, 0);
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

#[test]
fn names_stand_for_addresses_that_are_told() {
    let text = DATA.replace("10.0.0.1.4000", "web-1.example.4000").replace("2.80", "2.http");
    let back = ACK.replace("10.0.0.1.4000", "web-1.example.4000").replace("2.80", "2.http");
    let mut capture = open([text, back].concat().as_bytes()).unwrap();
    for expected in [[192, 0, 2, 1, 10, 0, 0, 2], [10, 0, 0, 2, 192, 0, 2, 1]] {
        let frame = capture.next_frame().unwrap();
        assert_eq!(frame.data[12..20], expected);
    }
    assert!(capture.next_frame().is_none());
    assert_eq!(capture.about_text().unwrap().made_up, ["192.0.2.1 is web-1.example"]);
}

#[test]
fn localhost_needs_no_explanation_and_an_unknown_service_does() {
    let text = DATA.replace("10.0.0.1.4000", "localhost.4000").replace("0.0.2.80", "0.0.2.my-app");
    let (frames, about) = read(&text);
    assert!(frames[0].1.is_ok());
    assert_eq!(about.made_up, ["port 1 is my-app"]);
}

#[test]
fn times_count_on_over_midnight_and_from_packet_to_packet() {
    let at = |clock: &str| DATA.replace("10:00:00.040000", clock);
    let times = |clocks: &[&str]| {
        let text: String = clocks.iter().map(|clock| at(clock)).collect();
        let (frames, about) = read(&text);
        let first = frames[0].0;
        (frames.iter().map(|(time_ns, _)| time_ns - first).collect::<Vec<_>>(), about.has_dates)
    };
    let midnight = ["23:59:59.999000", "00:00:00.041000"];
    assert_eq!(times(&midnight), (vec![0, 42_000_000], false));
    let gaps = ["00:00:00.000000", "00:00:00.040000", "00:00:00.000010", "00:00:00.000005"];
    assert_eq!(times(&gaps), (vec![0, 40_000_000, 40_010_000, 40_015_000], false));
    let dates = ["2023-12-31 23:59:59.999999999", "2024-01-01 00:00:00.000000001"];
    assert_eq!(times(&dates), (vec![0, 2], true));
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
fn packet_lists_of_all_versions_are_read() {
    let times = |text: &str| {
        let (frames, about) = read(text);
        assert!(frames.iter().all(|(_, decoded)| decoded.is_ok()), "{text}");
        (frames.iter().map(|(time_ns, _)| time_ns - frames[0].0).collect::<Vec<_>>(), about)
    };
    let expected = times(LISTED).0;
    assert_eq!(expected, [0, 100_000, 40_000_000, 80_000_000]);
    for (from, to) in [("→", "->"), ("→", ">"), ("0.1 → 10", "0.1   10"), ("   ", "\t")] {
        assert_eq!(times(&LISTED.replace(from, to)).0, expected, "{to}");
    }
    for (time, is_dated) in [("10:00:0", false), ("2026-11-21 10:00:0", true), ("179524735", true)]
    {
        let (found, about) = times(&LISTED.replace("   0.", &format!(" {time}0.")));
        assert_eq!((found, about.has_dates), (expected.clone(), is_dated), "{time}");
    }
}

#[test]
fn hosts_of_which_a_packet_list_shows_messages_are_not_judged() {
    let message = "5 0.100000 10.0.0.2 → 10.0.0.1 HTTP 72 HTTP/1.1 200 OK  (text/html)\n";
    let other = "6 0.200000 10.0.0.9 → 10.0.0.2 TCP 72 5 → 80 [ACK] Seq=1 Ack=1 Win=9 Len=0\n";
    let dns = "7 0.300000 10.0.0.9 → 10.0.0.2 DNS 72 Standard query 0x1 A a.b\n";
    let (frames, about) = read(&[LISTED, message, other, dns].concat());
    let skipped: Vec<_> = frames.iter().map(|(_, decoded)| decoded.err()).collect();
    assert_eq!(skipped[..5], [Some(Skip::Cut); 5]);
    assert_eq!(skipped[5..], [None, Some(Skip::NotTcp)]);
    assert_eq!(about.packets_unnumbered, 1);
    assert!(refused(message).contains("tcpdump -nvv"));
}

#[test]
fn a_text_without_what_is_needed_is_refused_with_what_to_do() {
    let quiet = "10:00:00.000000 IP 10.0.0.1.4000 > 10.0.0.2.80: tcp 16\n";
    assert!(refused(quiet).contains("without -q"), "{}", refused(quiet));
    let timeless = DATA.replace("10:00:00.040000 ", "");
    assert!(refused(&timeless).contains("printed with -t"), "{}", refused(&timeless));
    let in_two_lines = timeless.replace("IP ", "IP (tos 0x0, proto TCP (6), length 60)\n    ");
    assert!(refused(&in_two_lines).contains("printed with -t"));
}

#[test]
fn a_text_without_packets_is_no_capture() {
    for text in [
        "a text file, quite long enough for a header\n",
        "10:00:00.040000 IP 10.0.0.1.5 > 10.0.0.2.53: 0+ A? a.b. (21)\n",
        "2026-11-21 07:49:11.435718 INFO request took 40 ms, waiting for ack\n",
    ] {
        assert!(
            refused(text).contains("nor text that tcpdump or tshark printed"),
            "{}",
            refused(text)
        );
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

#[test]
fn arbitrary_changes_never_panic() {
    const PIECES: &[u8] = b"0123456789.:,[] >\n-\xff\0SP{}|sack=";
    let text = [SYN, SYN_ACK, DATA, ACK, "12 2026-11-21 10:00:00.000000 IP6 ::1.80 > "].concat();
    let mut state = 1_u32;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    for _ in 0..20_000 {
        let mut bytes = [SYN, LISTED, &text].concat().into_bytes();
        for _ in 0..random(12) {
            if bytes.len() == SYN.len() {
                break;
            }
            let at = SYN.len() + random(bytes.len() - SYN.len());
            let piece = PIECES[random(PIECES.len())];
            match random(3) {
                0 => bytes[at] = piece,
                1 => bytes.insert(at, piece),
                _ => bytes.truncate(at),
            }
        }
        let mut capture = open(&bytes).unwrap();
        while let Some(frame) = capture.next_frame() {
            let _ = decode::segment(frame.link_type, frame.data, frame.wire_len);
        }
    }
}
