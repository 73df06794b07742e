package toolbatch

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// address is where a server is, as grpc-go names it.
type address struct {
	server string
	target string
	secure bool
}

func parseServer(server string) (address, error) {
	if path, ok := strings.CutPrefix(server, "unix:"); ok {
		// unix:///PATH is the same path, with an empty authority before it.
		if rest, ok := strings.CutPrefix(path, "//"); ok {
			path = rest
		}
		if !strings.HasPrefix(path, "/") {
			return address{}, wrongServer(server, "its path begins with no /")
		}
		return address{server: server, target: (&url.URL{Scheme: "unix", Path: path}).String()}, nil
	}
	parsed, err := url.Parse(server)
	if err != nil {
		return address{}, wrongServer(server, err.Error())
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" {
		return address{}, wrongServer(server, "it begins with none of them")
	}
	if parsed.Hostname() == "" {
		return address{}, wrongServer(server, "it names no host")
	}
	if strings.Trim(parsed.Path, "/") != "" || parsed.RawQuery != "" || parsed.Fragment != "" || parsed.User != nil {
		return address{}, wrongServer(server, "it has more than a host and a port")
	}
	port := parsed.Port()
	if number, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || number == 0) {
		return address{}, wrongServer(server, "its port is none of 1 to 65535")
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[parsed.Scheme]
	}
	return address{server: server, target: "dns:///" + net.JoinHostPort(parsed.Hostname(), port), secure: parsed.Scheme == "https"}, nil
}

func wrongServer(server, why string) error {
	return fmt.Errorf("toolbatch: server %q: expected http://HOST:PORT, https://HOST:PORT or unix:/PATH; %s", server, why)
}

// transport gives the credentials of a connection, from the files that were named.
func (s *settings) transport(to address) (credentials.TransportCredentials, error) {
	if !to.secure {
		if s.ca != "" || s.clientCertificateWanted {
			return nil, fmt.Errorf("toolbatch: server %q: a CA or a client certificate is of use with https:// only", to.server)
		}
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.ca != "" {
		pem, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, fmt.Errorf("toolbatch: CA: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("toolbatch: CA %s: expected a PEM file with certificates, found none in it", s.ca)
		}
	}
	if s.clientCertificateWanted {
		if s.certificate == "" || s.key == "" {
			return nil, errors.New("toolbatch: WithClientCert: expected the paths of a certificate and of its key, found an empty one")
		}
		certificate, err := tls.LoadX509KeyPair(s.certificate, s.key)
		if err != nil {
			return nil, fmt.Errorf("toolbatch: client certificate %s, key %s: %w", s.certificate, s.key, err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	return credentials.NewTLS(config), nil
}
