//! Identifiers that tell tunnels apart.

/// The tunnel that a segment came in: a number that differs where the identifiers of its layers do;
/// VNI (VXLAN, Geneve), key (GRE), session (ERSPAN), TEID (GTP-U). Outer addresses, MPLS labels and
/// VLAN tags are none: they change on the way of one connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tunnel(u64);

impl Tunnel {
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Enters one more, of this kind and with this identifier.
    pub fn enter(&mut self, kind: TunnelKind, id: u32) {
        /// An odd number: no two identifiers of a kind become one.
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = self.0.wrapping_mul(FACTOR) ^ (kind as u64) << 32 ^ u64::from(id);
    }

    #[cfg(test)]
    pub fn of_test(id: u32) -> Self {
        let mut tunnel = Self::default();
        tunnel.enter(TunnelKind::Network, id);
        tunnel
    }
}

/// The kind of an identifier.
#[derive(Debug, Clone, Copy)]
pub enum TunnelKind {
    Network = 1,
    Gre,
    Erspan,
    Gtp,
}
