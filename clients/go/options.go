package toolbatch

import (
	"time"

	"google.golang.org/grpc"
)

// defaultGiveUpAfter is how long a client goes on while no stream is open, where nobody says otherwise.
const defaultGiveUpAfter = time.Minute

// Option changes how Dial connects.
type Option func(*settings)

type settings struct {
	token, tenant           string
	ca, certificate, key    string
	giveUpAfter             time.Duration
	dialOptions             []grpc.DialOption
	clientCertificateWanted bool
}

// WithToken sends a bearer token with every request. Without this option it is that of the environment's TOOLBATCH_TOKEN; an empty one sends
// none. Over http:// it can be read on the way.
func WithToken(token string) Option { return func(s *settings) { s.token = token } }

// WithTenant names the tenant that an operator acts in; agents have that of their token.
func WithTenant(tenant string) Option { return func(s *settings) { s.tenant = tenant } }

// WithCA trusts the authorities of a PEM file instead of those of the system. For https:// only.
func WithCA(path string) Option { return func(s *settings) { s.ca = path } }

// WithClientCert shows the server a certificate; two PEM files, the first with the chain. For https:// only.
func WithClientCert(certificate, key string) Option {
	return func(s *settings) { s.certificate, s.key, s.clientCertificateWanted = certificate, key, true }
}

// WithGiveUpAfter bounds how long the client goes on trying while no stream is open and no event comes; above 0, one minute if not given.
func WithGiveUpAfter(limit time.Duration) Option { return func(s *settings) { s.giveUpAfter = limit } }

// WithDialOptions hands options to grpc-go, such as interceptors and stats handlers for tracing.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(s *settings) { s.dialOptions = append(s.dialOptions, options...) }
}
