package main

import (
	"errors"
	"net"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/link/tun"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	nic = 1
	mtu = 1500
)

// failure makes an error of the stack's own kind, which is nil where there is none.
func failure(what string, err tcpip.Error) error {
	if err == nil {
		return nil
	}
	return errors.New(what + ": " + err.String())
}

func address(text string) tcpip.Address {
	return tcpip.AddrFromSlice(net.ParseIP(text).To4())
}

// newStack has one address, on a TUN interface, and Nagle on as in other stacks (gVisor's default is off).
func newStack(tunName, own string) (*stack.Stack, error) {
	fd, err := tun.Open(tunName)
	if err != nil {
		return nil, err
	}
	link, err := fdbased.New(&fdbased.Options{FDs: []int{fd}, MTU: mtu})
	if err != nil {
		return nil, err
	}
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	nagle := tcpip.TCPDelayEnabled(true)
	subnet := tcpip.AddressWithPrefix{Address: address(own), PrefixLen: 24}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}})
	return s, errors.Join(
		failure("TCPDelayEnabled", s.SetTransportProtocolOption(tcp.ProtocolNumber, &nagle)),
		failure("NIC", s.CreateNIC(nic, link)),
		failure("address", s.AddProtocolAddress(nic, tcpip.ProtocolAddress{
			Protocol:          ipv4.ProtocolNumber,
			AddressWithPrefix: subnet,
		}, stack.AddressProperties{})),
	)
}

// connection is a connection and the endpoint whose options are set.
type connection struct {
	*gonet.TCPConn
	endpoint tcpip.Endpoint
}

// open accepts one connection at this end, or opens one to it; ready is called once it can come.
func open(s *stack.Stack, role string, end tcpip.FullAddress, ready func()) (*connection, error) {
	var queue waiter.Queue
	endpoint, failed := s.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &queue)
	if failed != nil {
		return nil, failure("endpoint", failed)
	}
	event, happened := waiter.NewChannelEntry(waiter.ReadableEvents | waiter.WritableEvents)
	queue.EventRegister(&event)
	defer queue.EventUnregister(&event)
	if role == "listen" {
		return accept(endpoint, end, ready, happened)
	}
	ready()
	failed = endpoint.Connect(end)
	if _, started := failed.(*tcpip.ErrConnectStarted); !started {
		return nil, failure("connect", failed)
	}
	<-happened
	return &connection{gonet.NewTCPConn(&queue, endpoint), endpoint}, failure("connect", endpoint.LastError())
}

func accept(endpoint tcpip.Endpoint, local tcpip.FullAddress, ready func(), incoming chan struct{}) (*connection, error) {
	if err := errors.Join(failure("bind", endpoint.Bind(local)), failure("listen", endpoint.Listen(1))); err != nil {
		return nil, err
	}
	ready()
	<-incoming
	accepted, queue, err := endpoint.Accept(nil)
	if err != nil {
		return nil, failure("accept", err)
	}
	return &connection{gonet.NewTCPConn(queue, accepted), accepted}, nil
}
