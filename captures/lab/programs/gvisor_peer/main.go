// gvisor_peer is one end of a scripted TCP connection, run by gVisor's netstack on a TUN interface.
//
//	gvisor_peer --log FILE --tun NAME --own ADDRESS listen|connect ADDRESS PORT SCRIPT
//
// Scripts and log are those of peer.c, without 'info' lines.
package main

import (
	"fmt"
	"log"
	"math/rand"
	"net"
	"os"
	"strconv"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// lingering lets the stack end the connection: it dies with the program.
const lingering = 300 * time.Millisecond

func main() {
	if len(os.Args) != 11 {
		log.Fatal("see the top of main.go")
	}
	if err := run(os.Args[2], os.Args[4], os.Args[6], os.Args[7], os.Args[8], os.Args[9], os.Args[10]); err != nil {
		log.Fatal("gvisor_peer: ", err)
	}
}

func run(logFile, tunName, own, role, to, port, script string) error {
	serverPort, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return err
	}
	s, err := newStack(tunName, own)
	if err != nil {
		return err
	}
	end := tcpip.FullAddress{Addr: address(to), Port: uint16(serverPort)}
	c, err := open(s, role, end, func() { fmt.Println("ready") })
	if err != nil {
		return err
	}
	a := &application{connection: c, clientPort: clientPort(c, role), dice: rand.New(rand.NewSource(7))}
	a.note(time.Now(), "open %d", serverPort)
	if err := a.run(script); err != nil {
		return err
	}
	time.Sleep(lingering)
	a.lock.Lock()
	defer a.lock.Unlock()
	return os.WriteFile(logFile, []byte(a.log.String()), 0o644)
}

func clientPort(c *connection, role string) int {
	end := c.LocalAddr()
	if role == "listen" {
		end = c.RemoteAddr()
	}
	return end.(*net.TCPAddr).Port
}
