package toolbatch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/internal/livetest"
	"google.golang.org/grpc/codes"
)

func TestWhatCannotBeDialledIsSaid(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, each := range []struct {
		server string
		option toolbatch.Option
		words  string
	}{
		{"127.0.0.1:50051", nil, "expected http://HOST:PORT"},
		{"ftp://host:1", nil, "begins with none"},
		{"http://", nil, "names no host"},
		{"http://host:1/path", nil, "more than a host"},
		{"http://host:x", nil, "invalid port"},
		{"http://host:0", nil, "1 to 65535"},
		{"http://host:65536", nil, "1 to 65535"},
		{"unix:", nil, "begins with no /"},
		{"unix://socket", nil, "begins with no /"},
		{"http://host:1", toolbatch.WithCA(empty), "https:// only"},
		{"https://host:1", toolbatch.WithCA(empty), "found none in it"},
		{"https://host:1", toolbatch.WithCA(empty + "x"), "no such file"},
		{"https://host:1", toolbatch.WithClientCert(empty, ""), "found an empty one"},
		{"https://host:1", toolbatch.WithClientCert(empty, empty), "client certificate"},
		{"http://host:1", toolbatch.WithToken("from a file\n"), "token"},
		{"http://host:1", toolbatch.WithTenant("é"), "tenant"},
		{"http://host:1", toolbatch.WithGiveUpAfter(-time.Second), "expected more than 0"},
	} {
		var options []toolbatch.Option
		if each.option != nil {
			options = append(options, each.option)
		}
		if _, err := toolbatch.Dial(each.server, options...); err == nil || !strings.Contains(err.Error(), each.words) {
			t.Errorf("%s: expected an error with %q, found %v", each.server, each.words, err)
		}
	}
}

func TestTheEnvironmentNamesServerAndToken(t *testing.T) {
	server := livetest.Start(t, livetest.Setup{Config: "[[agents]]\nid = \"a\"\ntoken_env = \"AGENT_TOKEN\"\ntools = [\"execute_tool_batch\"]\n", Env: []string{"AGENT_TOKEN=0123456789abcdef0123456789abcdef"}})
	t.Setenv("TOOLBATCH_SERVER", server.URL)
	_, err := dial(t, "").Tools(t.Context())
	equal(t, "status", as[*toolbatch.RefusedError](t, err).Status, codes.Unauthenticated)
	t.Setenv("TOOLBATCH_TOKEN", "0123456789abcdef0123456789abcdef")
	tools, err := dial(t, "").Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "tool", tools[0].Name, "execute_tool_batch")
}

func TestAUnixSocket(t *testing.T) {
	server := livetest.Start(t, livetest.Setup{Unix: true})
	if _, err := dial(t, server.URL).Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestTLSWithAPrivateAuthorityAndAClientCertificate(t *testing.T) {
	files := livetest.NewAuthority(t)
	server := livetest.Start(t, livetest.Setup{Trusted: files.Trusted(t), Config: files.Config()})
	if _, err := dial(t, server.URL, toolbatch.WithCA(files.CA), toolbatch.WithClientCert(files.Certificate, files.Key)).Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := dial(t, server.URL, toolbatch.WithCA(files.CA), toolbatch.WithGiveUpAfter(200*time.Millisecond)).Tools(t.Context())
	as[*toolbatch.UnavailableError](t, err)
	_, err = dial(t, server.URL, toolbatch.WithGiveUpAfter(200*time.Millisecond)).Tools(t.Context())
	if gone := as[*toolbatch.UnavailableError](t, err); !strings.Contains(gone.Error(), "certificate") {
		t.Errorf("expected words on the certificate, found %v", gone)
	}
}
