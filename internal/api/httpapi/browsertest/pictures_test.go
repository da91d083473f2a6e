package browsertest

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the pictures in testdata/pictures anew")

// pictures is where those pictures are with which a page is compared.
const pictures = "testdata/pictures"

// What a page may differ in from its picture: so much in a channel of any pixel, and more in so
// many pixels of a thousand.
const (
	tolerance    = 16
	mostOfMillis = 1
)

// fonts is a configuration with the fonts of node_modules alone, so that pages look the same on
// every machine.
func fonts(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("node_modules", "dejavu-fonts-ttf", "ttf"))
	if _, missing := os.Stat(dir); err != nil || missing != nil {
		t.Fatalf("run .ci/browser, which installs the fonts: %v %v", err, missing)
	}
	own := t.TempDir()
	for _, name := range []string{"DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono", "DejaVuSansMono-Bold"} {
		if err := os.Symlink(filepath.Join(dir, name+".ttf"), filepath.Join(own, name+".ttf")); err != nil {
			t.Fatal(err)
		}
	}
	at, mono := filepath.Join(own, "fonts.conf"), ""
	for _, name := range []string{"ui-monospace", "monospace", "Menlo", "Consolas"} {
		mono += fmt.Sprintf("<match target=\"pattern\"><test name=\"family\"><string>%s</string></test><edit name=\"family\" mode=\"assign\" binding=\"strong\"><string>DejaVu Sans Mono</string></edit></match>\n", name)
	}
	text := fmt.Sprintf("<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">\n<fontconfig><dir>%s</dir><cachedir>%s</cachedir>\n%s</fontconfig>\n", own, own, mono)
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return at
}

// view is how a screen is looked at.
type view struct {
	scheme string
	width  int64
}

var views = []view{{"light", 390}, {"light", 1280}, {"dark", 390}, {"dark", 1280}}

func (v view) String() string { return fmt.Sprintf("%s-%d", v.scheme, v.width) }

// look sets the size and the colours of what is open.
func (v view) look(t *testing.T, ctx context.Context) {
	t.Helper()
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: v.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
	if err == nil {
		err = chromedp.Do(ctx, chromedp.EmulateViewport(v.width, 844))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// kept are the views that a picture is kept of. In the others, everything is in the same place as
// in the one of the same width, and axe measures the colours.
func (v view) kept() bool {
	return v.scheme == "light" && v.width == 390 || v.scheme == "dark" && v.width == 1280
}

// places is where everything is that is drawn.
const places = `[...document.body.querySelectorAll("*")].filter((e) => e.checkVisibility()).map((e) => { const r = e.getBoundingClientRect(); return e.tagName + [r.x, r.y, r.width, r.height].map(Math.round); }).join(" ")`

// compare compares what is open with its picture, if one is kept, or keeps one.
func compare(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	shot, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(pictures, name+".png")
	now, err := png.Decode(bytes.NewReader(shot))
	if err == nil && *update {
		err = os.WriteFile(at, small(now), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(at)
	if err != nil {
		t.Fatalf("there is no picture of this screen; look at it, and keep it with .ci/browser -run EveryScreen -update: %v", err)
	}
	want, err := png.Decode(bytes.NewReader(kept))
	if err != nil {
		t.Fatal(err)
	}
	if differs := difference(want, now); differs != "" {
		to := filepath.Join(os.TempDir(), "dormouse-"+name+".png")
		t.Errorf("%s: %s; it looks as in %s, %v. If that is right, keep it with .ci/browser -run EveryScreen -update", name, differs, to, os.WriteFile(to, shot, 0o600))
	}
}

// difference says how two pictures differ; empty if no one would see it.
func difference(want, got image.Image) string {
	if want.Bounds() != got.Bounds() {
		return fmt.Sprintf("%v pixels, and were %v", got.Bounds().Max, want.Bounds().Max)
	}
	differ, box := 0, want.Bounds()
	for y := range box.Max.Y {
		for x := range box.Max.X {
			if apart(color.RGBAModel.Convert(want.At(x, y)).(color.RGBA), color.RGBAModel.Convert(got.At(x, y)).(color.RGBA)) > tolerance {
				differ++
			}
		}
	}
	if differ*1000 <= mostOfMillis*box.Dx()*box.Dy() {
		return ""
	}
	return fmt.Sprintf("%d of %d pixels differ", differ, box.Dx()*box.Dy())
}

// small is a picture in few colours: those that it has most of, and for others one of these that is
// near.
func small(of image.Image) []byte {
	const near = 10
	count := map[color.RGBA]int{}
	out := image.NewPaletted(of.Bounds(), nil)
	all := make([]color.RGBA, len(out.Pix))
	for i := range all {
		all[i] = color.RGBAModel.Convert(of.At(i%out.Stride, i/out.Stride)).(color.RGBA)
		count[all[i]]++
	}
	used := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	at := map[color.RGBA]uint8{}
	for _, c := range used {
		i := slices.IndexFunc(out.Palette, func(p color.Color) bool { return apart(c, p.(color.RGBA)) <= near })
		if i < 0 {
			i = len(out.Palette)
			out.Palette = append(out.Palette, c)
		}
		at[c] = uint8(min(i, 255))
	}
	for i, c := range all {
		out.Pix[i] = at[c]
	}
	var file bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&file, out); err != nil {
		panic(err)
	}
	return file.Bytes()
}

// apart is how far two colours are apart in the channel in which they are most.
func apart(a, b color.RGBA) int { return max(gap(a.R, b.R), gap(a.G, b.G), gap(a.B, b.B)) }

func gap(a, b uint8) int { return max(int(a), int(b)) - min(int(a), int(b)) }

// The comparison sees a word that is missing and a colour that is another, and not how the edges of
// letters were smoothed.
func TestPicturesAreCompared(t *testing.T) {
	t.Parallel()
	draw := func(change func(*image.RGBA)) image.Image {
		p := image.NewRGBA(image.Rect(0, 0, 100, 100))
		for i := range p.Pix {
			p.Pix[i] = uint8(200 + i%4*16)
		}
		change(p)
		return p
	}
	same := draw(func(*image.RGBA) {})
	for name, tt := range map[string]struct {
		change func(*image.RGBA)
		seen   bool
	}{
		"nothing":    {func(*image.RGBA) {}, false},
		"smoothing":  {func(p *image.RGBA) { p.Pix[40] += 16; p.Pix[81] -= 16 }, false},
		"ten pixels": {func(p *image.RGBA) { clear(p.Pix[:40]) }, false},
		"a letter":   {func(p *image.RGBA) { clear(p.Pix[:44]) }, true},
		"a colour": {func(p *image.RGBA) {
			for i := 0; i < len(p.Pix); i += 4 {
				p.Pix[i] -= 17
			}
		}, true},
	} {
		if got := difference(same, draw(tt.change)); (got != "") != tt.seen {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := difference(same, image.NewRGBA(image.Rect(0, 0, 100, 101))); got == "" {
		t.Error("it doesn't see another size")
	}
	back, err := png.Decode(bytes.NewReader(small(same)))
	if err != nil || difference(same, back) != "" {
		t.Errorf("what is kept is another picture: %v", err)
	}
}

// Pictures that belong to no screen are removed, and all together are small.
func keepsOnly(t *testing.T, names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pictures, "*.png"))
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for _, file := range files {
		name := filepath.Base(file)
		if slices.Contains(names, name[:len(name)-len(".png")]) {
			at, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			size += at.Size()
		} else if !*update || os.Remove(file) != nil {
			t.Errorf("%s is the picture of no screen; remove it", file)
		}
	}
	const most = 3 << 19
	if t.Logf("%d pictures, %d kB", len(names), size>>10); size > most {
		t.Errorf("the pictures have %d bytes, and may have %d", size, most)
	}
}
