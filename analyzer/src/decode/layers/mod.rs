//! From a captured frame to the innermost IP packet, through tunnels, as tshark finds it.
//!
//! A layer is what the bytes that are left begin with. Each step reads one header; no step is taken
//! twice at the same layer without bytes read, and their number is limited.

mod ether;
mod gre;
mod link;
mod ppp;
mod udp;
mod wlan;

#[cfg(test)]
mod tests;

pub use ether::ETHERTYPE_IPV4;

use crate::decode::ip::{self, Content};
use crate::decode::tunnel::{Tunnel, TunnelKind};
use crate::decode::{Segment, Skip};
use etherparse::IpNumber;

/// Headers that are walked through: some eight tunnels in each other. Wireshark goes on to 500.
const MOST_LAYERS: usize = 32;

/// The protocol of the bytes that are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    /// A frame of a link type.
    Link(u32),
    /// The protocol that this `EtherType`, or length, announces.
    Type(u16),
    Ip,
    /// IEEE 802.2.
    Llc,
    Mpls,
    Ppp,
    Wlan,
    Nflog,
}

/// The next layer and its bytes.
type Step<'a> = Result<(Layer, &'a [u8]), Skip>;

/// The innermost segment of a frame, and what it lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Innermost<'a> {
    pub segment: Segment<'a>,
    /// The IP packet, with whatever follows it.
    pub packet: &'a [u8],
    /// There is more around it than a link layer of known addresses, and VLAN tags.
    pub is_wrapped: bool,
}

/// Walks through a frame of this length on the wire.
#[inline]
pub fn innermost(link_type: u32, frame: &[u8], wire_len: u32) -> Result<Innermost<'_>, Skip> {
    let (mut layer, mut rest) = (Layer::Link(link_type), frame);
    let (mut tunnel, mut is_wrapped) = (Tunnel::default(), false);
    for _ in 0..MOST_LAYERS {
        (layer, rest) = match layer {
            Layer::Ip => {
                let before = (frame.len() - rest.len()) as u32;
                match ip::content(rest, wire_len.saturating_sub(before))? {
                    Content::Segment(segment) => {
                        let segment = Segment { tunnel, ..segment };
                        return Ok(Innermost { segment, packet: rest, is_wrapped });
                    }
                    Content::Other(protocol, rest) => {
                        is_wrapped = true;
                        by_protocol(protocol, rest, &mut tunnel)?
                    }
                    Content::Fragment(protocol, rest) => return Err(fragment(protocol, rest)),
                }
            }
            Layer::Link(link_type) => link::payload(link_type, rest)?,
            Layer::Type(kind) => ether::payload(kind, rest)?,
            Layer::Llc => ether::llc(rest)?,
            Layer::Ppp => ppp::payload(rest)?,
            Layer::Wlan => wlan::payload(rest)?,
            Layer::Mpls => ether::mpls(rest)?,
            Layer::Nflog => link::nflog(rest)?,
        };
        is_wrapped |= !matches!(layer, Layer::Ip | Layer::Type(_));
    }
    Err(Skip::TooDeep)
}

/// Why a fragment is not analysed: one that cannot hold a segment is called what it is.
fn fragment(protocol: IpNumber, rest: &[u8]) -> Skip {
    match by_protocol(protocol, rest, &mut Tunnel::default()) {
        Err(other @ (Skip::NotTcp | Skip::Esp | Skip::Ah)) if protocol != IpNumber::TCP => other,
        _ => Skip::Fragment,
    }
}

fn by_protocol<'a>(protocol: IpNumber, rest: &'a [u8], tunnel: &mut Tunnel) -> Step<'a> {
    match protocol {
        // RFC 2003, RFC 4213.
        IpNumber::IPV4 | IpNumber::IPV6 => Ok((Layer::Ip, rest)),
        IpNumber::GRE => gre::payload(rest, tunnel),
        IpNumber::UDP => udp::payload(rest, tunnel),
        // RFC 4023.
        IpNumber::MPLS_IN_IP => Ok((Layer::Mpls, rest)),
        // RFC 3378: version and reserved bits, then a frame.
        IpNumber::ETHER_IP => Ok((ETHERNET, take::<2>(rest)?.1)),
        IpNumber::ENCAPSULATING_SECURITY_PAYLOAD => Err(Skip::Esp),
        IpNumber::AUTHENTICATION_HEADER => Err(Skip::Ah),
        _ => Err(Skip::NotTcp),
    }
}

const ETHERNET: Layer = Layer::Link(crate::capture::link::ETHERNET);

/// The next bytes and those after them.
#[inline]
fn take<const LEN: usize>(bytes: &[u8]) -> Result<(&[u8; LEN], &[u8]), Skip> {
    bytes.split_first_chunk().ok_or(Skip::Cut)
}

fn skip(bytes: &[u8], len: usize) -> Result<&[u8], Skip> {
    bytes.get(len..).ok_or(Skip::Cut)
}
