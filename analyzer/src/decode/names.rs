//! Names in a capture filter. libpcap asks the system what they mean, and that may ask a server: so
//! they are refused, and what is left is known to libpcap itself.

use std::net::Ipv6Addr;

/// Words that libpcap's scanner returns as themselves (`scanner.l`), as far as they can be of use
/// here. They are words that libpcap has known for long: to an older one the others would be names.
const KEYWORDS: &str = "\
    dst src link ether ppp slip fddi tr wlan arp rarp ip sctp tcp udp icmp igmp igrp pim vrrp carp \
    ip6 icmp6 ah esp atalk aarp decnet lat sca moprc mopdl iso clnp stp ipx netbeui host net mask \
    port portrange proto protochain gateway type subtype direction dir address1 addr1 address2 \
    addr2 address3 addr3 address4 addr4 ra ta less greater byte broadcast multicast and or not len \
    length inbound outbound vlan mpls pppoed pppoes geneve tcpflags tcp-fin tcp-syn tcp-rst \
    tcp-push tcp-ack tcp-urg icmptype icmpcode";

/// After these libpcap looks a word up in a table of its own: kinds of 802.11 frames.
const OWN_TABLES: [&str; 4] = ["type", "subtype", "direction", "dir"];

/// The first name in `expression` that libpcap would look up.
pub fn first(expression: &str) -> Option<&str> {
    let (mut before, mut rest) = ("", expression);
    let begins = |byte: char| byte.is_ascii_alphanumeric() || ":\\".contains(byte);
    let goes_on = |byte: char| byte.is_ascii_alphanumeric() || ":-_.".contains(byte);
    while let Some(at) = rest.find(begins) {
        let (between, word) = rest.split_at(at);
        let len = word[1..].find(|byte| !goes_on(byte)).map_or(word.len(), |len| len + 1);
        let (word, after) = word.split_at(len);
        if !between.trim().is_empty() {
            before = "";
        }
        // A name does not end with these.
        if !is_known(word.trim_end_matches(['-', '_']), before) {
            return Some(word);
        }
        (before, rest) = (word, after);
    }
    None
}

fn is_known(word: &str, before: &str) -> bool {
    // An offset and a length, `tcp[12:4]`: letters after a colon may be the end of an address, and
    // a name may begin within them.
    let (first, lengths) = word.split_once(':').unwrap_or((word, "0"));
    is_plain(first) && lengths.split(':').all(is_decimal)
        || word.parse::<Ipv6Addr>().is_ok()
        || [':', '-'].iter().any(|&sign| is_mac(word, sign))
        || before == "portrange" && word.split('-').count() == 2 && word.split('-').all(is_decimal)
        || OWN_TABLES.contains(&before) && !word.contains([':', '\\'])
}

fn is_plain(word: &str) -> bool {
    KEYWORDS.split(' ').any(|known| known == word)
        || word.split('.').count() <= 4 && word.split('.').all(is_number)
}

fn is_number(word: &str) -> bool {
    let hex = word.strip_prefix("0x").or(word.strip_prefix("0X"));
    is_decimal(word) || hex.is_some_and(is_hex)
}

fn is_decimal(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_hex(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_mac(word: &str, sign: char) -> bool {
    let mut bytes = word.split(sign);
    word.split(sign).count() == 6 && bytes.all(|byte| byte.len() <= 2 && is_hex(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_addresses_numbers_and_keywords_hold_no_name() {
        for expression in [
            "",
            "tcp port 80 and not (src host 10.0.0.1 or dst net 192.168.0.0/16)",
            "net 10 or net 172.16 or net 10.1.2.0 mask 255.255.255.0",
            "host 2001:db8::1 or host ::1 or host ::ffff:10.0.0.1 or net fe80::/10",
            "ether host 00:1b:21:A0:b1:c2 or ether src 0-1-2-a-B-c",
            "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 && tcp[12:1]>>4 > 0x5",
            "((ip[2:2]-((ip[0]&0xf)<<2)) - 20) != 0 and tcp[0x0d:1] = 2",
            "portrange 6000-6008 and less 100",
            "vlan 5 and wlan type data subtype qos-data",
        ] {
            assert_eq!(first(expression), None, "{expression}");
        }
    }

    #[test]
    fn whatever_the_system_would_be_asked_for_is_a_name() {
        for (expression, name) in [
            ("host example.com", "example.com"),
            ("tcp and src localhost", "localhost"),
            ("port http", "http"),
            ("port 80 or https", "https"),
            ("net loopback", "loopback"),
            ("ether host gw", "gw"),
            ("ip proto \\tcp", "\\tcp"),
            ("host \\_x", "\\_x"),
            ("host TCP", "TCP"),
            ("host 10.0.0.1.", "10.0.0.1."),
            ("host 10.0.0.1.2", "10.0.0.1.2"),
            ("host 1-2", "1-2"),
            ("portrange 1-2 or 3-4", "3-4"),
            ("portrange (1-2)", "1-2"),
            ("portrange 1-http", "1-http"),
            ("host 0x", "0x"),
            ("host 0xg", "0xg"),
            ("host 80a", "80a"),
            ("host_x", "host_x"),
            ("(abc)", "abc"),
            // libpcap's scanner takes the longest address it finds; what is left over is a name.
            ("host 1:2:3:4:5:0xab", "1:2:3:4:5:0xab"),
            ("host ::0xab", "::0xab"),
            ("ether host 1:2:3:4:5:ah", "1:2:3:4:5:ah"),
            ("host 2001:db8::1x", "2001:db8::1x"),
            ("host 2001:db8", "2001:db8"),
            ("tcp.org", "tcp.org"),
            ("host type:foo", "type:foo"),
        ] {
            assert_eq!(first(expression), Some(name), "{expression}");
        }
    }
}
