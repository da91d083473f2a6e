// Command image writes Dormouse's container image as an OCI layout: from scratch, one layer for
// each part, one image for each platform. It needs no container engine and no network, and the same
// inputs give the same image.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	var b build
	flag.StringVar(&b.out, "out", "dist/image", "directory of the OCI layout; it is replaced")
	flag.StringVar(&b.version, "version", "devel", "version of the program")
	flag.StringVar(&b.revision, "revision", "", "commit that was built")
	flag.StringVar(&b.license, "license", "LICENSE", "file of the license")
	created := flag.Int64("created", 0, "when the commit was made, in Unix seconds; times in the image are this one")
	flag.Func("binary", "PLATFORM=FILE, such as linux/arm64=dist/dormouse; may be given more than once", b.addBinary)
	flag.Parse()
	b.created = time.Unix(*created, 0).UTC()
	if err := b.write(); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// build is what an image is made of.
type build struct {
	out, version, revision, license string

	created  time.Time
	binaries []binary
}

// binary is the program for a platform.
type binary struct {
	platform v1.Platform
	file     string
}

func (b *build) addBinary(pair string) error {
	name, file, found := strings.Cut(pair, "=")
	platform, err := v1.ParsePlatform(name)
	if !found || err != nil || platform.OS == "" || platform.Architecture == "" {
		return fmt.Errorf("%q is not PLATFORM=FILE, such as linux/arm64=dist/dormouse", pair)
	}
	b.binaries = append(b.binaries, binary{*platform, file})
	return nil
}

// write replaces the layout. It holds one index, which refers to an image for each platform, so
// that crane pushes it as it is.
func (b *build) write() error {
	if len(b.binaries) == 0 {
		return errors.New("name at least one program with -binary PLATFORM=FILE")
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, binary := range b.binaries {
		image, err := b.image(binary)
		if err != nil {
			return err
		}
		platform := binary.platform
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	annotated, ok := mutate.Annotations(index, b.labels()).(v1.ImageIndex)
	if !ok {
		return errors.New("an index with annotations is no index")
	}
	// A layout of another build is replaced; anything else that has the name is kept.
	if _, err := os.Stat(filepath.Join(b.out, "oci-layout")); err == nil {
		if err := os.RemoveAll(b.out); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(b.out), 0o755); err != nil {
		return err
	}
	to, err := layout.Write(b.out, empty.Index)
	if err != nil {
		return err
	}
	return to.AppendIndex(annotated)
}

// image is the image for one platform. The layer with the program comes last, so that images of two
// versions share the one before it.
func (b *build) image(of binary) (v1.Image, error) {
	base, err := b.baseLayer()
	if err != nil {
		return nil, err
	}
	program, err := b.programLayer(of.file)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image,
		mutate.Addendum{Layer: base, History: v1.History{CreatedBy: "certificates, user, /data, /tmp", Created: v1.Time{Time: b.created}}},
		mutate.Addendum{Layer: program, History: v1.History{CreatedBy: "dormouse " + b.version, Created: v1.Time{Time: b.created}}})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Variant = of.platform.OS, of.platform.Architecture, of.platform.Variant
	file.Created = v1.Time{Time: b.created}
	file.Config = b.config()
	return mutate.ConfigFile(image, file)
}

// config says how the image starts. The example listens on all interfaces of the container, where
// it asks callers for a token.
func (b *build) config() v1.Config {
	return v1.Config{
		User:         fmt.Sprintf("%d:%d", user, user),
		WorkingDir:   dataDir,
		Entrypoint:   []string{programPath},
		Cmd:          []string{"dev", "--example", "--addr", "0.0.0.0:8420"},
		Env:          []string{"PATH=" + filepath.Dir(programPath), "container=oci"},
		ExposedPorts: map[string]struct{}{"8420/tcp": {}},
		StopSignal:   "SIGTERM",
		Labels:       b.labels(),
	}
}

func (b *build) labels() map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title":       "Dormouse",
		prefix + "description": "Runs AI agents that wait for human approval",
		prefix + "source":      "https://github.com/dormouse-dev/dormouse",
		prefix + "licenses":    "Apache-2.0",
		prefix + "version":     b.version,
		prefix + "revision":    b.revision,
		prefix + "created":     b.created.Format(time.RFC3339),
	}
}
