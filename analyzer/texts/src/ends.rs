//! Hosts and ports as printed: `10.0.0.1.80`, `::1.8080`, or names (without `-n`).
//!
//! A host that has only a name gets an address that is kept for documentation (RFC 5737, RFC 3849),
//! and a service with a name that is not known here a port that no program uses. Reports list both.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Sender and receiver.
pub type SocketPair = [SocketAddr; 2];

/// The ends in order, and the place of the first one given among them.
pub fn keyed([from, to]: SocketPair) -> (SocketPair, usize) {
    if from <= to { ([from, to], 0) } else { ([to, from], 1) }
}

/// Longer names are none (RFC 1035, section 2.3.4).
const LONGEST: usize = 255;
/// There are no more addresses for names, and no more ports.
const MOST_HOSTS: usize = 3 * 254;
const MOST_PORTS: usize = 1_000;

/// Ports by the names of services that systems print (IANA registry; Red Hat's for 8080).
const SERVICES: &str = "\
    echo 7 discard 9 daytime 13 chargen 19 time 37 \
    http 80 www 80 https 443 http-alt 8080 webcache 8080 ftp-data 20 ftp 21 ssh 22 telnet 23 smtp 25 \
    domain 53 kerberos 88 pop3 110 sunrpc 111 nntp 119 epmap 135 loc-srv 135 netbios-ssn 139 imap \
    143 imap2 143 snmp 161 bgp 179 ldap 389 microsoft-ds 445 submissions 465 rtsp 554 submission 587 \
    ipp 631 ldaps 636 domain-s 853 rsync 873 imaps 993 pop3s 995 socks 1080 openvpn 1194 ms-sql-s \
    1433 oracle 1521 ncube-lm 1521 mqtt 1883 cisco-sccp 2000 nfs 2049 zookeeper 2181 docker 2375 \
    etcd-client 2379 etcd-server 2380 iscsi-target 3260 mysql 3306 ms-wbt-server 3389 svn 3690 epmd \
    4369 sip 5060 xmpp-client 5222 postgresql 5432 amqps 5671 amqp 5672 x11 6000 redis 6379 http- \
    proxy 8080 https-alt 8443 secure-mqtt 8883 git 9418 memcached 11211";

/// Names of the host itself.
const LOCALHOST: [&str; 4] =
    ["localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"];

/// The addresses that names stand for.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct EndNames {
    /// IPv4 and IPv6.
    hosts: [HashMap<String, IpAddr>; 2],
    ports: HashMap<String, u16>,
}

impl EndNames {
    /// The two ends of a segment, each printed as host and port; `None` if it is not an address.
    pub fn ends(&mut self, ends: [(&str, &str); 2], is_v6: bool) -> Option<SocketPair> {
        let is_v6 = is_v6 || ends.iter().any(|(host, _)| host.parse::<Ipv6Addr>().is_ok());
        let mut end =
            |(host, port)| Some(SocketAddr::new(self.host(host, is_v6)?, self.port(port)?));
        Some([end(ends[0])?, end(ends[1])?])
    }

    /// The names of hosts, by the addresses made up for them.
    pub fn hosts(&self) -> BTreeMap<IpAddr, String> {
        self.hosts.iter().flatten().map(|(name, addr)| (*addr, name.clone())).collect()
    }

    /// The names of services, by the ports made up for them.
    pub fn ports(&self) -> BTreeMap<u16, String> {
        self.ports.iter().map(|(name, port)| (*port, name.clone())).collect()
    }

    fn host(&mut self, host: &str, is_v6: bool) -> Option<IpAddr> {
        // The string that it begins.
        let host = host.trim_start_matches(['"', '\'']);
        if let Ok(addr) = host.parse::<IpAddr>() {
            return (addr.is_ipv6() == is_v6).then_some(addr);
        }
        let hosts = &mut self.hosts[usize::from(is_v6)];
        if let Some(addr) = hosts.get(host) {
            return Some(*addr);
        }
        let name = name(host)?;
        if let Some(addr) = hosts.get(&name) {
            return Some(*addr);
        }
        let addr = if LOCALHOST.contains(&host) {
            if is_v6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() }
        } else {
            documented(hosts.values().filter(|addr| !addr.is_loopback()).count(), is_v6)?
        };
        hosts.insert(name, addr);
        Some(addr)
    }

    fn port(&mut self, port: &str) -> Option<u16> {
        if let Ok(port) = port.parse() {
            return Some(port);
        }
        if let Some(port) = self.ports.get(port) {
            return Some(*port);
        }
        let mut words = SERVICES.split(' ');
        if words.any(|word| word.eq_ignore_ascii_case(port)) {
            return words.next()?.parse().ok();
        }
        let number = self.ports.len() + 1;
        (number <= MOST_PORTS).then_some(())?;
        Some(*self.ports.entry(name(port)?).or_insert(number as u16))
    }
}

/// The address of the next name.
fn documented(index: usize, is_v6: bool) -> Option<IpAddr> {
    (index < MOST_HOSTS).then_some(())?;
    let host = (index % 254 + 1) as u8;
    Some(match (is_v6, index / 254) {
        (true, _) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, index as u16 + 1).into(),
        (false, 0) => Ipv4Addr::new(192, 0, 2, host).into(),
        (false, 1) => Ipv4Addr::new(198, 51, 100, host).into(),
        (false, _) => Ipv4Addr::new(203, 0, 113, host).into(),
    })
}

/// The name as it may be shown: of a placeholder such as `<client ip>` the letters.
fn name(text: &str) -> Option<String> {
    let is_shown = |c: char| {
        c.is_ascii_alphanumeric()
            || "-_.+*".contains(c)
            || matches!(c, '\u{c0}'..='\u{24f}' | '\u{400}'..='\u{4ff}' | '\u{4e00}'..='\u{9fff}')
    };
    let mut shown: String = text.chars().map(|c| if is_shown(c) { c } else { '_' }).collect();
    shown.truncate(shown.trim_end_matches('_').len());
    let shown = shown.trim_start_matches('_');
    (1..=LONGEST).contains(&shown.len()).then(|| shown.to_owned())
}
