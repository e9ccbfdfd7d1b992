//! Who talks: four hosts, with addresses that share no byte with those of another world.

use std::net::IpAddr;

pub const HOSTS: u8 = 4;

/// Tells hosts apart that are the same in all but their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    One,
    Other,
}

impl World {
    fn byte(self, at: u8) -> u8 {
        match self {
            Self::One => 0x51 + at,
            Self::Other => 0xd1 + at,
        }
    }

    pub fn mac(self, host: u8) -> [u8; 6] {
        let mut mac = std::array::from_fn(|at| self.byte(at as u8));
        mac[0] &= 0xfc; // the bits of groups and of local addresses
        mac[5] = self.byte(host * 4);
        mac
    }

    pub fn v4(self, host: u8) -> [u8; 4] {
        [self.byte(5), self.byte(6), self.byte(7), self.byte(host * 5 + 1)]
    }

    pub fn v6(self, host: u8) -> [u8; 16] {
        std::array::from_fn(|at| self.byte(if at == 15 { host * 6 + 2 } else { at as u8 + 8 }))
    }

    /// All of a host's, as they stand in a frame.
    pub fn all(self, host: u8) -> [Vec<u8>; 3] {
        [self.mac(host).to_vec(), self.v4(host).to_vec(), self.v6(host).to_vec()]
    }

    /// The addresses as outputs print them.
    pub fn printed(self, host: u8) -> [String; 2] {
        [IpAddr::from(self.v4(host)), IpAddr::from(self.v6(host))].map(|addr| addr.to_string())
    }
}
