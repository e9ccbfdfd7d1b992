//! The two ends of a connection.

use crate::named::named;
use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

named! {
    /// One end of a connection, and the direction of what it sends.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    #[repr(u8)]
    enum Side {
        #[default]
        Client = "client",
        Server = "server",
    }
}

impl Side {
    pub const BOTH: [Side; 2] = [Side::Client, Side::Server];

    pub fn other(self) -> Self {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// Address and port of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub addr: IpAddr,
    pub port: u16,
}

impl Display for Endpoint {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        SocketAddr::new(self.addr, self.port).fmt(out)
    }
}

/// Both ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ends {
    pub client: Endpoint,
    pub server: Endpoint,
}

/// Both ends in 16 bytes: those of IPv6 are boxed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackedEnds {
    /// Client, then server.
    V4([(Ipv4Addr, u16); 2]),
    Other(Box<Ends>),
}

const _: () = assert!(size_of::<PackedEnds>() == 16, "a quarter of a cache line");

impl PackedEnds {
    pub fn new(ends: Ends) -> Self {
        let Ends { client, server } = ends;
        match (client.addr, server.addr) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                Self::V4([(from, client.port), (to, server.port)])
            }
            _ => Self::Other(Box::new(ends)),
        }
    }

    pub fn unpack(&self) -> Ends {
        match self {
            Self::V4(both) => {
                let [client, server] =
                    both.map(|(addr, port)| Endpoint { addr: addr.into(), port });
                Ends { client, server }
            }
            Self::Other(ends) => **ends,
        }
    }
}
