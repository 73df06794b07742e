package toolbatch

import (
	"context"
	"fmt"
)

// identity is the metadata that says who asks.
type identity map[string]string

// identity gives the metadata, and an error where HTTP/2 cannot carry it.
func (s *settings) identity() (identity, error) {
	metadata := identity{}
	if s.token != "" {
		if err := checkHeader("token", s.token, '!'); err != nil {
			return nil, err
		}
		metadata["authorization"] = "Bearer " + s.token
	}
	if s.tenant != "" {
		if err := checkHeader("tenant", s.tenant, ' '); err != nil {
			return nil, err
		}
		metadata["toolbatch-tenant"] = s.tenant
	}
	return metadata, nil
}

// checkHeader says what is wrong with a header's value, without showing it: it may be a secret.
func checkHeader(what, value string, first byte) error {
	for at := range len(value) {
		if value[at] < first || value[at] > '~' {
			return fmt.Errorf("toolbatch: %s: expected printable ASCII characters, %q to '~', found %q after %d of them", what, first, value[at], at)
		}
	}
	return nil
}

// GetRequestMetadata gives what every request carries.
func (i identity) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return i, nil
}

// RequireTransportSecurity says that a server behind a proxy on the same machine may be spoken to without TLS.
func (i identity) RequireTransportSecurity() bool { return false }
