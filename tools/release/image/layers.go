package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	user        = 65532 // without a name on the host, and not root
	dataDir     = "/data"
	programPath = "/usr/local/bin/dormouse"
)

// baseLayer is everything but the program: certificate authorities for TLS, a user, its data
// directory and a directory for temporary files.
func (b *build) baseLayer() (v1.Layer, error) {
	license, err := os.ReadFile(b.license)
	if err != nil {
		return nil, err
	}
	return b.layer(func(t *tree) {
		t.dir("data", 0o700, user)
		t.dir("etc", 0o755, 0)
		t.file("etc/group", 0o644, fmt.Appendf(nil, "dormouse:x:%d:\n", user))
		t.file("etc/passwd", 0o644, fmt.Appendf(nil, "dormouse:x:%d:%d::%s:/sbin/nologin\n", user, user, dataDir))
		t.dir("etc/ssl", 0o755, 0)
		t.dir("etc/ssl/certs", 0o755, 0)
		t.file("etc/ssl/certs/ca-certificates.crt", 0o644, certificates())
		t.dir("tmp", 0o1777, 0)
		t.dir("usr", 0o755, 0)
		t.dir("usr/local", 0o755, 0)
		t.dir("usr/local/bin", 0o755, 0)
		t.dir("usr/share", 0o755, 0)
		t.dir("usr/share/dormouse", 0o755, 0)
		t.file("usr/share/dormouse/LICENSE", 0o644, license)
	})
}

func (b *build) programLayer(file string) (v1.Layer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return b.layer(func(t *tree) { t.file(programPath[1:], 0o755, text) })
}

// certificates are Mozilla's roots. One that counts only for certificates up to a date is left out:
// a file can't say the date.
func certificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			// it writes to memory, which doesn't fail
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}

func (b *build) layer(fill func(*tree)) (v1.Layer, error) {
	var packed bytes.Buffer
	t := &tree{tar: tar.NewWriter(&packed), build: b}
	fill(t)
	if err := errors.Join(t.err, t.tar.Close()); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
}

// tree writes files of a layer. The first error stays in err.
type tree struct {
	tar   *tar.Writer
	build *build
	err   error
}

func (t *tree) dir(name string, mode int64, owner int) {
	t.add(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode, Uid: owner, Gid: owner}, nil)
}

func (t *tree) file(name string, mode int64, text []byte) {
	t.add(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(text))}, text)
}

func (t *tree) add(h *tar.Header, text []byte) {
	if t.err != nil {
		return
	}
	h.ModTime, h.Format = t.build.created, tar.FormatPAX
	if t.err = t.tar.WriteHeader(h); t.err == nil {
		_, t.err = t.tar.Write(text)
	}
}
