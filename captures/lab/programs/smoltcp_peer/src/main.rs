//! One end of a scripted TCP connection, run by smoltcp on a TUN interface.
//!
//! `smoltcp_peer --log FILE --tun NAME --own ADDRESS listen|connect ADDRESS PORT SCRIPT`
//!
//! Scripts and log are those of `peer.c`, with the word `ack-delay:US`, and without `info` lines.

mod application;
mod script;

use std::error::Error;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::time::Duration;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Medium, TunTapInterface, wait};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr};

use application::Application;

const BUFFER_BYTES: usize = 1 << 18;
const CLIENT_PORT: u16 = 49_321;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, _, log, _, tun, _, own, role, address, port, script] = words.as_slice() else {
        return Err("see the top of main.rs".into());
    };
    let script = script::parse(script)?;
    let mut peer = Peer::new(tun, own.parse()?)?;
    let server_port: u16 = port.parse()?;
    if role == "listen" {
        peer.socket().listen(server_port)?;
    } else {
        peer.connect(address.parse()?, server_port)?;
    }
    println!("ready");
    peer.work_until(Socket::may_send);
    let client_port = peer.client_port(server_port);
    let mut application = Application::new(script, client_port, server_port);
    peer.run(&mut application);
    std::fs::write(log, application.log)?;
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
        let socket = self.socket();
        let ends = [socket.local_endpoint(), socket.remote_endpoint()];
        ends.iter()
            .flatten()
            .map(|end| end.port)
            .find(|&port| port != server_port)
            .unwrap_or(0)
    }

    /// Lets the stack take in and send what there is.
    fn poll(&mut self) {
        self.interface
            .poll(Instant::now(), &mut self.device, &mut self.sockets);
    }

    /// Sleeps until a packet, a timer of the stack, or so long.
    fn sleep(&mut self, longest: Option<Duration>) {
        let stack = self.interface.poll_delay(Instant::now(), &self.sockets);
        let delay = [stack, longest.map(Into::into)].into_iter().flatten().min();
        // Only a broken TUN interface fails here, and then no packet comes: the runner ends us.
        let _ = wait(self.device.as_raw_fd(), delay);
    }

    /// Lets the stack work until its socket is as wanted.
    fn work_until(&mut self, wanted: impl Fn(&Socket<'static>) -> bool) {
        self.poll();
        while !wanted(self.socket()) {
            self.sleep(None);
            self.poll();
        }
    }

    fn run(&mut self, application: &mut Application) {
        loop {
            while application.step(self.socket()) {
                self.poll();
            }
            if application.is_done() {
                break;
            }
            self.sleep(application.sleep());
            self.poll();
        }
        self.socket().close();
        self.work_until(|socket| matches!(socket.state(), State::Closed | State::TimeWait));
        self.poll();
    }
}
