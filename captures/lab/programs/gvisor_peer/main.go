// gvisor_peer connects file descriptor 0, a seqpacket socket, with a TCP connection of gVisor's netstack.
//
//	gvisor_peer TUN OWN-ADDRESS nagle|nodelay 0 listen|connect ADDRESS PORT
//
// Each message is one write to the connection. Prints "ready", then the client's port.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/link/tun"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

const (
	nic, mtu    = 1, 1500
	messageSize = 1 << 18
	// The stack dies with the program: time to end the connection.
	lingering = 300 * time.Millisecond
)

func must(err error) {
	if err != nil {
		log.Fatal("gvisor_peer: ", err)
	}
}

func check(what string, err tcpip.Error) {
	if err != nil {
		must(errors.New(what + ": " + err.String()))
	}
}

func address(text string) tcpip.Address {
	return tcpip.AddrFromSlice(net.ParseIP(text).To4())
}

// newStack has one address, on a TUN interface; gVisor's default is Nagle off.
func newStack(tunName, own string, nagle bool) *stack.Stack {
	fd, err := tun.Open(tunName)
	must(err)
	link, err := fdbased.New(&fdbased.Options{FDs: []int{fd}, MTU: mtu})
	must(err)
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	delay := tcpip.TCPDelayEnabled(nagle)
	subnet := tcpip.AddressWithPrefix{Address: address(own), PrefixLen: 24}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}})
	check("TCPDelayEnabled", s.SetTransportProtocolOption(tcp.ProtocolNumber, &delay))
	check("NIC", s.CreateNIC(nic, link))
	protocolAddress := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: subnet}
	check("address", s.AddProtocolAddress(nic, protocolAddress, stack.AddressProperties{}))
	return s
}

func open(s *stack.Stack, role string, end tcpip.FullAddress) (net.Conn, net.Addr) {
	if role == "listen" {
		listener, err := gonet.ListenTCP(s, end, ipv4.ProtocolNumber)
		must(err)
		fmt.Println("ready")
		c, err := listener.Accept()
		must(err)
		return c, c.RemoteAddr()
	}
	fmt.Println("ready")
	c, err := gonet.DialContextTCP(context.Background(), s, end, ipv4.ProtocolNumber)
	must(err)
	return c, c.LocalAddr()
}

func main() {
	tunName, own, option, role, to := os.Args[1], os.Args[2], os.Args[3], os.Args[5], os.Args[6]
	port, err := strconv.ParseUint(os.Args[7], 10, 16)
	must(err)
	s := newStack(tunName, own, option == "nagle")
	c, client := open(s, role, tcpip.FullAddress{Addr: address(to), Port: uint16(port)})
	fmt.Println(client.(*net.TCPAddr).Port)
	file, err := net.FileConn(os.Stdin)
	must(err)
	program := file.(*net.UnixConn)
	var received sync.WaitGroup
	received.Go(func() {
		_, _ = io.Copy(program, c)
		_ = program.CloseWrite()
	})
	for message := make([]byte, messageSize); ; {
		length, err := program.Read(message)
		if err != nil || length == 0 {
			break
		}
		_, err = c.Write(message[:length])
		must(err)
	}
	must(c.(*gonet.TCPConn).CloseWrite())
	received.Wait()
	_ = c.Close()
	time.Sleep(lingering)
}
