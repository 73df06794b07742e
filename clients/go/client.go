package toolbatch

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"
)

const (
	// defaultServer is where a server without a configuration listens.
	defaultServer = "http://127.0.0.1:50051"
	// maxMessageBytes is the largest result and room for what is around it.
	maxMessageBytes = (64 + 1) << 20
)

// connectParams has the connection come back at least as fast as the client asks for it.
var connectParams = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
	MinConnectTimeout: 5 * time.Second,
}

// alive has a connection that is dead without a word noticed while a stream is open.
var alive = keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}

// ErrClosed is found, by errors.Is, in errors of requests and streams of a client that was closed.
var ErrClosed = errors.New("the client is closed")

// Client talks to one server. It may be used by any number of goroutines at once.
type Client struct {
	connection  *grpc.ClientConn
	batches     toolbatchv1.BatchServiceClient
	tasks       toolbatchv1.TaskServiceClient
	tools       toolbatchv1.ToolServiceClient
	giveUpAfter time.Duration
	// closed is closed with the client.
	closed chan struct{}
	close  func()
}

// Dial makes a client for a server: http://HOST:PORT (h2c), https://HOST:PORT or unix:/PATH. An empty one is that of the environment's
// TOOLBATCH_SERVER, else http://127.0.0.1:50051. It connects with the first request, so an error is about what was given: an address or a file
// that cannot be used.
func Dial(server string, options ...Option) (*Client, error) {
	chosen := settings{token: os.Getenv("TOOLBATCH_TOKEN"), giveUpAfter: defaultGiveUpAfter}
	for _, option := range options {
		option(&chosen)
	}
	if chosen.giveUpAfter <= 0 {
		return nil, fmt.Errorf("toolbatch: WithGiveUpAfter: expected more than 0, found %s", chosen.giveUpAfter)
	}
	if server == "" {
		server = os.Getenv("TOOLBATCH_SERVER")
	}
	if server == "" {
		server = defaultServer
	}
	address, err := parseServer(server)
	if err != nil {
		return nil, err
	}
	transport, err := chosen.transport(address)
	if err != nil {
		return nil, err
	}
	identity, err := chosen.identity()
	if err != nil {
		return nil, err
	}
	dialOptions := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithConnectParams(connectParams),
		grpc.WithKeepaliveParams(alive),
		// A name server's words on which requests to repeat are not to be followed.
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)),
		grpc.WithUserAgent("toolbatch-go"),
	}
	if len(identity) > 0 {
		dialOptions = append(dialOptions, grpc.WithPerRPCCredentials(identity))
	}
	connection, err := grpc.NewClient(address.target, append(dialOptions, chosen.dialOptions...)...)
	if err != nil {
		return nil, fmt.Errorf("toolbatch: server %q: %w", server, err)
	}
	closed := make(chan struct{})
	return &Client{
		connection:  connection,
		batches:     toolbatchv1.NewBatchServiceClient(connection),
		tasks:       toolbatchv1.NewTaskServiceClient(connection),
		tools:       toolbatchv1.NewToolServiceClient(connection),
		giveUpAfter: chosen.giveUpAfter,
		closed:      closed,
		close:       sync.OnceFunc(func() { close(closed) }),
	}, nil
}

// Close ends the connection, and with it every request and every stream, whose error is ErrClosed. Batches go on.
func (c *Client) Close() error {
	c.close()
	return c.connection.Close()
}

// Conn gives the connection, for the parts of the contract that Client has no method for:
// toolbatchv1.NewTaskServiceClient(client.Conn()).ListSteps(…).
func (c *Client) Conn() grpc.ClientConnInterface { return c.connection }
