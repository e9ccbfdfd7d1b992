//! Connects file descriptor 0, a seqpacket socket, with a TCP connection of smoltcp.
//!
//! `smoltcp_peer TUN OWN-ADDRESS nagle|nodelay ACK-DELAY-US listen|connect ADDRESS PORT`
//!
//! Each message is one write to the connection. Prints `ready`, then the client's port.

use std::error::Error;
use std::io::stdin;
use std::net::{Ipv4Addr, Shutdown};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixDatagram;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Medium, TunTapInterface, wait};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpCidr};

const BUFFER_BYTES: usize = 1 << 18;
const CLIENT_PORT: u16 = 49_321;
/// smoltcp can wait for one file descriptor only: this often the other one is looked at.
const STEP: Duration = Duration::from_micros(10);

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, tun, own, option, ack_delay_us, role, address, port] = words.as_slice() else {
        return Err("see the top of main.rs".into());
    };
    let mut peer = Peer::new(tun, own.parse()?)?;
    let port: u16 = port.parse()?;
    peer.socket().set_nagle_enabled(option == "nagle");
    let delay = Duration::from_micros(ack_delay_us.parse()?);
    peer.socket().set_ack_delay(Some(delay));
    if role == "listen" {
        peer.socket().listen(port)?;
    } else {
        peer.connect(address.parse()?, port)?;
    }
    println!("ready");
    while !peer.socket().may_send() {
        peer.work();
    }
    println!("{}", peer.client_port(port));
    let program = UnixDatagram::from(stdin().as_fd().try_clone_to_owned()?);
    program.set_nonblocking(true)?;
    peer.forward(&program);
    Ok(())
}

/// The stack with its one socket.
struct Peer {
    device: TunTapInterface,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
}

impl Peer {
    fn new(tun: &str, own: Ipv4Addr) -> Result<Self, Box<dyn Error>> {
        let mut device = TunTapInterface::new(tun, Medium::Ip)?;
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = Instant::now().total_micros().unsigned_abs();
        let mut interface = Interface::new(config, &mut device, Instant::now());
        let mut result = Ok(());
        interface.update_ip_addrs(|addresses| {
            result = addresses.push(IpCidr::new(own.into(), 24));
        });
        result.map_err(|_| "no room for the address")?;
        let [a, b, c, _] = own.octets();
        interface
            .routes_mut()
            .add_default_ipv4_route(Ipv4Addr::new(a, b, c, 1))?;
        let buffer = || SocketBuffer::new(vec![0; BUFFER_BYTES]);
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(Socket::new(buffer(), buffer()));
        Ok(Self {
            device,
            interface,
            sockets,
            handle,
        })
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    fn connect(&mut self, address: Ipv4Addr, port: u16) -> Result<(), Box<dyn Error>> {
        let context = self.interface.context();
        let socket = self.sockets.get_mut::<Socket>(self.handle);
        Ok(socket.connect(context, (address, port), CLIENT_PORT)?)
    }

    fn client_port(&mut self, server_port: u16) -> u16 {
        let ends = [
            self.socket().local_endpoint(),
            self.socket().remote_endpoint(),
        ];
        let mut ports = ends.iter().flatten().map(|end| end.port);
        ports.find(|&port| port != server_port).unwrap_or(0)
    }

    /// Lets the stack take in and send what there is, and waits a little for more.
    fn work(&mut self) {
        self.interface
            .poll(Instant::now(), &mut self.device, &mut self.sockets);
        // Only a broken TUN interface fails here, and then no packet comes: the runner ends us.
        let _ = wait(self.device.as_raw_fd(), Some(STEP));
    }

    /// Writes each message of the program to the connection, and hands it what comes; until both have ended.
    fn forward(&mut self, program: &UnixDatagram) {
        let mut message = vec![0; BUFFER_BYTES];
        let mut is_open = true;
        while !matches!(self.socket().state(), State::Closed | State::TimeWait) {
            let socket = self.socket();
            match program.recv(&mut message) {
                Ok(0) if is_open => {
                    socket.close();
                    is_open = false;
                }
                Ok(length @ 1..) => {
                    let sent = socket.send_slice(&message[..length]);
                    assert_eq!(sent, Ok(length), "the send buffer had room");
                }
                _ => {}
            }
            if socket.can_recv() {
                let _ = socket.recv(|data| (program.send(data).unwrap_or(0), ()));
            }
            if !socket.may_recv() && !socket.can_recv() {
                let _ = program.shutdown(Shutdown::Write);
            }
            self.work();
        }
    }
}
