package livetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
)

// Authority is a private certificate authority, and a certificate of it for 127.0.0.1 that is used on both sides. All are paths of PEM files.
type Authority struct {
	CA, Certificate, Key string
}

// NewAuthority makes one.
func NewAuthority(test testing.TB) Authority {
	test.Helper()
	folder := test.TempDir()
	files := Authority{filepath.Join(folder, "ca.pem"), filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test"}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(test, err)
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(test, err)
	caText, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	check(test, err)
	leafText, err := x509.CreateCertificate(rand.Reader, leaf, ca, leafKey.Public(), caKey)
	check(test, err)
	keyText, err := x509.MarshalPKCS8PrivateKey(leafKey)
	check(test, err)
	for path, block := range map[string]*pem.Block{
		files.CA: {Type: "CERTIFICATE", Bytes: caText}, files.Certificate: {Type: "CERTIFICATE", Bytes: leafText}, files.Key: {Type: "PRIVATE KEY", Bytes: keyText},
	} {
		check(test, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	return files
}

// Config has a server use the certificate, and ask for one of the authority.
func (a Authority) Config() string {
	return fmt.Sprintf("[tls]\ncert = %q\nkey = %q\nclient_ca = %q\n", a.Certificate, a.Key, a.CA)
}

// Trusted trusts the authority, and shows the certificate.
func (a Authority) Trusted(test testing.TB) credentials.TransportCredentials {
	certificate, authority := a.read(test)
	return credentials.NewTLS(&tls.Config{RootCAs: authority, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
}

// Demanding is for a server: it shows the certificate, and demands one of the authority.
func (a Authority) Demanding(test testing.TB) credentials.TransportCredentials {
	certificate, authority := a.read(test)
	return credentials.NewTLS(&tls.Config{
		ClientCAs: authority, ClientAuth: tls.RequireAndVerifyClientCert, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12,
	})
}

func (a Authority) read(test testing.TB) (tls.Certificate, *x509.CertPool) {
	test.Helper()
	certificate, err := tls.LoadX509KeyPair(a.Certificate, a.Key)
	check(test, err)
	text, err := os.ReadFile(a.CA)
	check(test, err)
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(text)
	return certificate, authority
}
