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

// listen accepts one connection; ready is called once it can come.
func listen(s *stack.Stack, local tcpip.FullAddress, ready func()) (*connection, error) {
	var queue waiter.Queue
	endpoint, err := s.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &queue)
	if err != nil {
		return nil, failure("endpoint", err)
	}
	event, incoming := waiter.NewChannelEntry(waiter.ReadableEvents)
	queue.EventRegister(&event)
	if err := endpoint.Bind(local); err != nil {
		return nil, failure("bind", err)
	}
	if err := endpoint.Listen(1); err != nil {
		return nil, failure("listen", err)
	}
	ready()
	<-incoming
	accepted, acceptedQueue, err := endpoint.Accept(nil)
	if err != nil {
		return nil, failure("accept", err)
	}
	return &connection{gonet.NewTCPConn(acceptedQueue, accepted), accepted}, nil
}

// connect opens a connection; ready is called before.
func connect(s *stack.Stack, remote tcpip.FullAddress, ready func()) (*connection, error) {
	var queue waiter.Queue
	endpoint, err := s.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &queue)
	if err != nil {
		return nil, failure("endpoint", err)
	}
	event, connected := waiter.NewChannelEntry(waiter.WritableEvents)
	queue.EventRegister(&event)
	defer queue.EventUnregister(&event)
	ready()
	err = endpoint.Connect(remote)
	if _, started := err.(*tcpip.ErrConnectStarted); !started {
		return nil, failure("connect", err)
	}
	<-connected
	if err := endpoint.LastError(); err != nil {
		return nil, failure("connect", err)
	}
	return &connection{gonet.NewTCPConn(&queue, endpoint), endpoint}, nil
}
