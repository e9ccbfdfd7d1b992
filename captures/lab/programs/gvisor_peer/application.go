package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"strconv"
	"strings"
	"sync"
	"time"
)

const readSize = 65536

// application runs a script on a connection and logs it as peer.c does.
type application struct {
	connection *connection
	clientPort int
	written    int
	background sync.WaitGroup
	reading    bool
	dice       *rand.Rand
	lock       sync.Mutex
	log        strings.Builder
}

func (a *application) note(at time.Time, format string, values ...any) {
	a.lock.Lock()
	defer a.lock.Unlock()
	fmt.Fprintf(&a.log, "%d %d %s\n", at.UnixNano(), a.clientPort, fmt.Sprintf(format, values...))
}

// run runs all words of a script of peer.c, then closes.
func (a *application) run(script string) error {
	for _, word := range strings.Fields(script) {
		name, value, _ := strings.Cut(word, ":")
		if err := a.do(name, value); err != nil {
			return fmt.Errorf("%s: %w", word, err)
		}
	}
	if a.reading { // let the other side finish
		if err := a.connection.CloseWrite(); err != nil {
			return err
		}
		a.background.Wait()
	}
	return a.connection.Close()
}

func (a *application) do(name, value string) error {
	switch name {
	case "write":
		return a.write(value)
	case "read":
		return a.readWord(value)
	case "pause":
		return a.pause(value)
	case "nodelay":
		a.note(time.Now(), "option nodelay %s", value)
		a.connection.endpoint.SocketOptions().SetDelayOption(value != "1")
		return nil
	case "background-read":
		a.reading = true
		a.background.Go(func() { _ = a.readUpTo(1 << 60) })
		return nil
	case "end":
		return a.connection.CloseWrite()
	}
	return errors.New("not known here")
}

func (a *application) write(length string) error {
	n, err := strconv.Atoi(length)
	if err != nil {
		return err
	}
	const text = "nagle-scan lab\n"
	payload := bytes.Repeat([]byte(text), n/len(text)+1)[:n]
	at := time.Now()
	sent, err := a.connection.Write(payload)
	a.note(at, "write %d %d", a.written, n)
	a.written += sent
	return err
}

func (a *application) readWord(amount string) error {
	if amount == "eof" {
		return a.readUpTo(1 << 60)
	}
	n, err := strconv.Atoi(amount)
	if err != nil {
		return err
	}
	return a.readUpTo(n)
}

// readUpTo reads so many bytes, or what comes before the end.
func (a *application) readUpTo(n int) error {
	buffer := make([]byte, readSize)
	for n > 0 {
		got, err := a.connection.Read(buffer[:min(n, readSize)])
		n -= got
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *application) pause(span string) error {
	from, to, isRange := strings.Cut(span, "-")
	low, err := strconv.Atoi(from)
	if err != nil {
		return err
	}
	if isRange {
		high, err := strconv.Atoi(to)
		if err != nil {
			return err
		}
		low += a.dice.Intn(high - low)
	}
	a.note(time.Now(), "pause %d", low)
	time.Sleep(time.Duration(low) * time.Microsecond)
	a.note(time.Now(), "resume")
	return nil
}
