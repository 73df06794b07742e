package toolbatch_test

import (
	"encoding/binary"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// serveHTTP serves raw answers in HTTP/2, for what no gRPC server sends but a proxy before it may.
func serveHTTP(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handle, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + listener.Addr().String()
}

// frame is an event as it goes over the wire.
func frame(t *testing.T, event *toolbatchv1.BatchEvent) []byte {
	t.Helper()
	message, err := proto.Marshal(&toolbatchv1.ExecuteBatchResponse{Event: event})
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

func TestAStreamThatAProxyCutsOffIsTakenUpAgain(t *testing.T) {
	first, second := frame(t, started(1)), frame(t, finished(2, completed))
	for name, cut := range map[string]func(http.ResponseWriter){
		"after the headers": func(http.ResponseWriter) {},
		"without trailers":  func(to http.ResponseWriter) { _, _ = to.Write(first) },
		"with UNAVAILABLE":  func(to http.ResponseWriter) { _, _ = to.Write(first); to.Header().Set("Grpc-Status", "14") },
		"within a message": func(to http.ResponseWriter) {
			_, _ = to.Write(first)
			_, _ = to.Write(second[:9])
			to.Header().Set("Grpc-Status", "14")
		},
		"within its length":  func(to http.ResponseWriter) { _, _ = to.Write(first); _, _ = to.Write(second[:2]) },
		"by a reset":         func(to http.ResponseWriter) { _, _ = to.Write(first); panic(http.ErrAbortHandler) },
		"with a status page": func(to http.ResponseWriter) { to.WriteHeader(http.StatusBadGateway) },
	} {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int32
			url := serveHTTP(t, func(to http.ResponseWriter, request *http.Request) {
				to.Header().Set("Content-Type", "application/grpc")
				to.Header().Set("Trailer", "Grpc-Status")
				if tries.Add(1) == 1 {
					cut(to)
					return
				}
				if strings.HasSuffix(request.URL.Path, "/ExecuteBatch") {
					_, _ = to.Write(first)
				}
				_, _ = to.Write(second)
				to.Header().Set("Grpc-Status", "0")
			})
			events := collect(t, 0, dial(t, url, toolbatch.WithGiveUpAfter(5*time.Second)).Run(t.Context(), toolbatch.Batch{}))
			equal(t, "events", len(events), 2)
			equal(t, "tries", tries.Load(), 2)
		})
	}
}

func TestARequestThatIsNotRepeatedIsMadeOnce(t *testing.T) {
	var tries atomic.Int32
	url := serveHTTP(t, func(to http.ResponseWriter, _ *http.Request) {
		tries.Add(1)
		to.Header().Set("Content-Type", "application/grpc")
		to.Header().Set("Trailer", "Grpc-Status")
		to.WriteHeader(http.StatusOK)
		to.Header().Set("Grpc-Status", "14")
	})
	client := dial(t, url)
	_, err := client.CallTool(t.Context(), toolbatch.DirectCall{TaskID: "T", Tool: "post"})
	as[*toolbatch.UnavailableError](t, err)
	_, err = client.SetVariable(t.Context(), "T", "", 1)
	as[*toolbatch.UnavailableError](t, err)
	_, err = client.CancelBatch(t.Context(), "b", true)
	as[*toolbatch.UnavailableError](t, err)
	equal(t, "tries", tries.Load(), 3)
}

func TestAPageThatIsNoAnswerIsRefused(t *testing.T) {
	url := serveHTTP(t, func(to http.ResponseWriter, _ *http.Request) { to.WriteHeader(http.StatusNotFound) })
	_, err := dial(t, url).Result(t.Context(), toolbatch.Batch{})
	equal(t, "status", as[*toolbatch.RefusedError](t, err).Status, codes.Unimplemented)
}
