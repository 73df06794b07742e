package livetest

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// Proxy stands before a server and cuts its connections.
type Proxy struct {
	// URL is where clients find it.
	URL string
	// Connections counts those that were made.
	Connections atomic.Int32
}

// Cut starts a proxy that cuts each connection after so many bytes of the server.
func Cut(test testing.TB, server *Server, after int64) *Proxy {
	test.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(test, err)
	test.Cleanup(func() { _ = listener.Close() })
	proxy := &Proxy{URL: "http://" + listener.Addr().String()}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			proxy.Connections.Add(1)
			go cut(client, server.Address, after)
		}
	}()
	return proxy
}

func cut(client net.Conn, address string, after int64) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(server, client) }()
	_, _ = io.CopyN(client, server, after)
}
