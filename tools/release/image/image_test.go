package main

import (
	"archive/tar"
	"crypto/x509"
	"debug/elf"
	"encoding/pem"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

var program = flag.String("program", "", "the program for this machine; .ci/image builds it")

// host is the platform of this machine's image.
var host = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}

// built writes a layout with the image of this machine.
func built(t *testing.T) build {
	t.Helper()
	if *program == "" || runtime.GOOS != "linux" {
		t.Skip("needs -program, the program for Linux; run .ci/image")
	}
	b := build{out: filepath.Join(t.TempDir(), "image"), version: "v1.2.3", revision: "abc", license: "../../../LICENSE",
		created: time.Unix(1_790_000_000, 0).UTC(), binaries: []binary{{host, *program}}}
	if err := b.write(); err != nil {
		t.Fatal(err)
	}
	return b
}

// pull finds the image of this machine in the layout, as a container engine does.
func pull(t *testing.T, b build) (v1.Image, *v1.ConfigFile) {
	t.Helper()
	all, err := layout.ImageIndexFromPath(b.out)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := all.IndexManifest()
	if err != nil || len(outer.Manifests) != 1 {
		t.Fatalf("the layout holds %+v, %v; want one index, which crane pushes", outer, err)
	}
	index, err := all.ImageIndex(outer.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := index.IndexManifest()
	if err != nil || len(inner.Manifests) != 1 || !inner.Manifests[0].Platform.Equals(host) {
		t.Fatalf("the index holds %+v, %v", inner, err)
	}
	image, err := index.Image(inner.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return image, config
}

// unpack extracts the image's files into a directory of its own, with their owners if the test may.
func unpack(t *testing.T, image v1.Image) (root string, headers map[string]*tar.Header) {
	t.Helper()
	root, headers = t.TempDir(), map[string]*tar.Header{}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	files := mutate.Extract(image)
	defer files.Close()
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return root, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Clean(h.Name)
		headers[name] = h
		if err := extract(filepath.Join(root, name), h, r); err != nil {
			t.Fatal(err)
		}
	}
}

func extract(path string, h *tar.Header, r io.Reader) error {
	switch h.Typeflag {
	case tar.TypeDir:
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
	case tar.TypeReg:
		text, err := io.ReadAll(r)
		// the last layer comes first, before the directories that it is put into
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755)); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	default:
		return errors.New(h.Name + " is neither a file nor a directory")
	}
	if os.Geteuid() == 0 {
		if err := os.Lchown(path, h.Uid, h.Gid); err != nil {
			return err
		}
	}
	return os.Chmod(path, h.FileInfo().Mode())
}

func TestTheImageHasTheProgramAndLittleElse(t *testing.T) {
	image, config := pull(t, built(t))
	root, headers := unpack(t, image)
	for name, want := range map[string]struct {
		mode  fs.FileMode
		owner int
	}{
		"usr/local/bin/dormouse":            {0o755, 0},
		"etc/ssl/certs/ca-certificates.crt": {0o644, 0},
		"etc/passwd":                        {0o644, 0},
		"etc/group":                         {0o644, 0},
		"usr/share/dormouse/LICENSE":        {0o644, 0},
		"data":                              {fs.ModeDir | 0o700, user},
		"tmp":                               {fs.ModeDir | fs.ModeSticky | 0o777, 0},
	} {
		h := headers[name]
		if h == nil || h.FileInfo().Mode() != want.mode || h.Uid != want.owner || h.Gid != want.owner {
			t.Errorf("%s: %+v, want %v of user %d", name, h, want.mode, want.owner)
		}
	}
	files := 0
	for name, h := range headers {
		if h.Typeflag != tar.TypeDir {
			files++
		}
		if h.FileInfo().Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			t.Errorf("%s runs as another user", name)
		}
	}
	if files != 5 {
		t.Errorf("%d files: %v", files, headers)
	}
	isStatic(t, filepath.Join(root, programPath))
	hasCertificates(t, filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))
	if layers, err := image.Layers(); err != nil || len(layers) != 2 || config.Config.Labels["org.opencontainers.image.version"] != "v1.2.3" {
		t.Errorf("%d layers, %v, labels %v", len(layers), err, config.Config.Labels)
	}
}

// isStatic checks that a program needs no other file to start.
func isStatic(t *testing.T, path string) {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s is linked dynamically", path)
		}
	}
}

func hasCertificates(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Error(err)
		}
		n++
	}
	if n < 100 {
		t.Errorf("%d certificate authorities", n)
	}
}

func TestTheImageStartsTheExampleAsAnOrdinaryUser(t *testing.T) {
	_, config := pull(t, built(t))
	c := config.Config
	if c.User != "65532:65532" || c.WorkingDir != "/data" || !slices.Equal(c.Entrypoint, []string{"/usr/local/bin/dormouse"}) ||
		strings.Join(c.Cmd, " ") != "dev --example --addr 0.0.0.0:8420" || len(c.ExposedPorts) != 1 {
		t.Errorf("the image starts with %+v", c)
	}
}

func TestTheSameInputsGiveTheSameImage(t *testing.T) {
	one, _ := pull(t, built(t))
	other, _ := pull(t, built(t))
	first, err1 := one.Digest()
	second, err2 := other.Digest()
	if errors.Join(err1, err2) != nil || first != second {
		t.Errorf("%s and %s, %v", first, second, errors.Join(err1, err2))
	}
}

func TestAWrongPlatformIsRefused(t *testing.T) {
	for _, pair := range []string{"", "linux/amd64", "linux=x", "a/b/c/d=x"} {
		if err := new(build).addBinary(pair); err == nil {
			t.Errorf("%q is taken", pair)
		}
	}
}
