// Head and body in two writes: go_server PORT nagle|nodelay. Go sets TCP_NODELAY by itself.
package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
)

func answer(writer http.ResponseWriter, _ *http.Request) {
	writer.Header().Set("Content-Length", "300")
	writer.WriteHeader(http.StatusOK)
	writer.(http.Flusher).Flush()
	_, _ = writer.Write([]byte(strings.Repeat("x", 300)))
}

func accepted(base context.Context, connection net.Conn) context.Context {
	if os.Args[2] == "nagle" {
		_ = connection.(*net.TCPConn).SetNoDelay(false)
	}
	return base
}

func main() {
	server := http.Server{Addr: ":" + os.Args[1], Handler: http.HandlerFunc(answer), ConnContext: accepted}
	_ = server.ListenAndServe()
}
