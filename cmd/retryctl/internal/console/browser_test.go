package console

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

var screenshots = flag.String("screenshots", "", "write the screenshots of the documentation to this `folder`")

// browser starts Chromium, which the tests need: install Debian's package chromium.
func browser(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1240, 900))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("the tests need a browser, as from: apt-get install chromium: %v", err)
	}
	return ctx
}

// messages are what a page has written to the console of the browser, and its
// requests to other hosts.
type messages struct {
	mu   sync.Mutex
	list []string
}

func (m *messages) add(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, fmt.Sprintf(format, args...))
}

// take returns the messages so far, and forgets them.
func (m *messages) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.list
	m.list = nil
	return list
}

// watch collects the messages of a tab.
func watch(t *testing.T, ctx context.Context, base string) *messages {
	m := new(messages)
	err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventConsoleAPICalled:
			m.add("console.%s", ev.Type)
		case *runtime.EventExceptionThrown:
			m.add("exception: %s", ev.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			m.add("%s: %s", ev.Entry.Level, ev.Entry.Text)
		case *network.EventRequestWillBeSent:
			if u := ev.Request.URL; !strings.HasPrefix(u, base+"/") && !strings.HasPrefix(u, "data:") {
				m.add("request to %s", u)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// shot is a screenshot of the documentation.
type shot struct {
	name, path string
	width      int64
	height     int64
	dark       bool
	open       string // what is clicked before
}

var shots = []shot{
	{name: "overview", path: "/", width: 1240, height: 1000},
	{name: "run", path: "/run?id=settle-today", width: 1240, height: 800},
	{name: "run-dark", path: "/run?id=settle-today", width: 1240, height: 800, dark: true},
	{name: "group", path: "/group?run=import-7&id=copy", width: 1240, height: 680},
	{name: "step", path: "/step?run=agent-run-12&id=implement%2Fauth", width: 1240, height: 760},
	{name: "doubt", path: "/step?run=ledger-close&id=Ledger.Post%2F2026-11", width: 1240, height: 840, open: "summary"},
	{name: "dead", path: "/dead", width: 1240, height: 760, open: ".bulk summary"},
	{name: "policy", path: "/policy?file=retry.yaml&name=bank", width: 1240, height: 520},
	{name: "phone", path: "/run?id=settle-today", width: 390, height: 844},
}

// TestScreenshots writes the pictures of docs/operate.md, with -screenshots:
//
//	go test -run Screenshots ./internal/console -screenshots $PWD/../../docs/console
//
// Their font is that of Debian's package fonts-liberation.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		return
	}
	url := serveDemo(t)
	ctx := browser(t)
	for _, s := range shots {
		scheme := "light"
		if s.dark {
			scheme = "dark"
		}
		scale := 1.0
		if s.width < 600 {
			scale = 2
		}
		actions := []chromedp.Action[chromedp.Void]{
			chromedp.EmulateViewport(s.width, s.height, chromedp.EmulateScale(scale)),
			media(scheme), chromedp.Navigate(url + s.path), chromedp.WaitReady("footer"), chromedp.Sleep(500 * time.Millisecond),
		}
		if s.open != "" {
			actions = append(actions, chromedp.Click(s.open))
		}
		if err := chromedp.Do(ctx, actions...); err != nil {
			t.Fatal(err)
		}
		data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := writePicture(filepath.Join(*screenshots, s.name+".png"), data); err != nil {
			t.Fatal(err)
		}
	}
}

// media sets the color scheme that the user prefers.
func media(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}

// writePicture writes a screenshot with a palette: a third of the size.
func writePicture(name string, data []byte) error {
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return err
	}
	out := image.NewPaletted(picture.Bounds(), palette(picture))
	draw.Draw(out, out.Bounds(), picture, picture.Bounds().Min, draw.Src)
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, out); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

// palette returns the 256 most frequent colors of a picture.
func palette(picture image.Image) (colors color.Palette) {
	counts := map[color.NRGBA]int{}
	bounds := picture.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(counts), func(a, b color.NRGBA) int { return counts[b] - counts[a] })
	for _, c := range frequent[:min(len(frequent), 256)] {
		colors = append(colors, c)
	}
	return colors
}

// TestBrowser uses the console in a browser: pages with hostile texts write nothing to
// the console and ask no other host, updates arrive, and forms work.
func TestBrowser(t *testing.T) {
	e := newStore(t)
	keepHostile(e)
	for i := range 3 {
		e.fail(fmt.Sprint("order/", i), quick("charge", 2), "a", errDown)
	}
	url := serve(t, Config{
		Client: e.Engine.Admin(), Store: hostile[0], Write: true, Policies: []*policy.File{policyFile(t)},
	})
	ctx := browser(t)
	m := watch(t, ctx, url)
	do := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if err := chromedp.Do(limited, actions...); err != nil {
			t.Fatal(err)
		}
	}
	quiet := func(what string) {
		t.Helper()
		for _, text := range m.take() {
			t.Errorf("%s: %s", what, text)
		}
	}
	do(chromedp.Navigate(url + "/runs"))
	quiet("the first page")
	for _, script := range []string{"console.error('x')", "setTimeout(() => { throw 1 })",
		"new Image().src = 'http://evil.example/'"} {
		evaluate[any](t, ctx, script+"; 1")
		evaluate[any](t, ctx, "new Promise((done) => setTimeout(done, 50))")
		if len(m.take()) == 0 {
			t.Errorf("%s is not noticed", script)
		}
	}

	t.Run("pages", func(t *testing.T) { testBrowserPages(t, ctx, e, m, url) })
	t.Run("live", func(t *testing.T) { testBrowserLive(t, ctx, e, m, url) })
	t.Run("forms", func(t *testing.T) { testBrowserForms(t, ctx, e, m, url) })
	quiet("at the end")
}

// evaluate returns the value of an expression in the page.
func evaluate[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// await waits until an expression is true in the page, or in one that it leads to.
func await(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression))
		switch {
		case err == nil:
			return
		case ctx.Err() != nil:
			t.Fatalf("%s does not become true: %v", expression, err)
		}
	}
}

func testBrowserPages(t *testing.T, ctx context.Context, e *testStore, m *messages, url string) {
	paths := []string{"/", "/runs", "/dead", "/shared", "/policies", "/policy?file=retry.yaml&name=charge",
		"/run?id=group"}
	for g, err := range e.Admin().Groups(t.Context(), admin.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, link("/group", "run", g.Run, "id", g.Group))
	}
	for _, text := range hostile {
		paths = append(paths, link("/run", "id", text))
		for s, err := range e.Admin().Steps(t.Context(), admin.Filter{Run: text}) {
			if err != nil {
				t.Fatal(err)
			}
			paths = append(paths, link("/step", "run", s.Run, "id", s.Step))
		}
	}
	for _, screen := range []struct {
		width int64
		paths []string
	}{{390, paths}, {1240, paths[:8]}} {
		width := screen.width
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 800)); err != nil {
			t.Fatal(err)
		}
		for _, path := range screen.paths {
			if err := chromedp.Do(ctx, chromedp.Navigate(url+path)); err != nil {
				t.Fatal(path, err)
			}
			for _, text := range m.take() {
				t.Errorf("%s: %s", path, text)
			}
			if wide := evaluate[int64](t, ctx, "document.documentElement.scrollWidth"); wide > width {
				t.Errorf("%s: the page is %d pixels wide on a screen of %d", path, wide, width)
			}
			const cut = "[...document.querySelectorAll('.stack')]" +
				".filter((t) => t.scrollWidth > t.parentElement.clientWidth).length"
			if n := evaluate[int](t, ctx, cut); n > 0 {
				t.Errorf("%s: %d lists are wider than a screen of %d pixels", path, n, width)
			}
			const foreign = "document.querySelectorAll('main script, main iframe, [onload], [onerror], [onmouseover]').length"
			if n := evaluate[int](t, ctx, foreign); n > 0 {
				t.Errorf("%s: %d elements were stored", path, n)
			}
		}
	}
}

// An update arrives whoever has changed the store, and disturbs nobody who writes.
func testBrowserLive(t *testing.T, ctx context.Context, e *testStore, m *messages, url string) {
	if err := chromedp.Do(ctx, chromedp.Navigate(url+"/step?run=order%2F0&id=charge%2Fa")); err != nil {
		t.Fatal(err)
	}
	await(t, ctx, "document.querySelector('h1 .pill').textContent === 'dead letter'")
	await(t, ctx, "document.getElementById('live').textContent === 'live'")
	err := e.Admin().Requeue(t.Context(), "order/0", "charge/a", admin.RequeueBy(admin.By("ada", "somewhere else")))
	if err != nil {
		t.Fatal(err)
	}
	await(t, ctx, "document.querySelector('h1 .pill').textContent === 'open'")
	await(t, ctx, "document.querySelector('#list').textContent.includes('somewhere else')")

	// A tab that nobody sees is not connected, and shows what has changed when it is seen.
	const see = "Object.defineProperty(document, 'hidden', {value: %t, configurable: true});" +
		"document.dispatchEvent(new Event('visibilitychange'))"
	if err := chromedp.Do(ctx, chromedp.Navigate(url+"/run?id=order%2F0")); err != nil {
		t.Fatal(err)
	}
	await(t, ctx, "document.getElementById('live').textContent === 'live'")
	evaluate[bool](t, ctx, fmt.Sprintf(see, true))
	await(t, ctx, "document.getElementById('live').hidden")
	if err := e.Admin().Pause(t.Context(), "order/0"); err != nil {
		t.Fatal(err)
	}
	evaluate[bool](t, ctx, fmt.Sprintf(see, false))
	await(t, ctx, "document.querySelector('h1 .pill').textContent === 'paused'")
	for _, text := range m.take() {
		t.Error(text)
	}
}

func testBrowserForms(t *testing.T, ctx context.Context, e *testStore, m *messages, url string) {
	do := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if err := chromedp.Do(limited, actions...); err != nil {
			t.Fatal(err)
		}
	}
	do(chromedp.Navigate(url+"/step?run=order%2F1&id=charge%2Fa"), chromedp.Click("details:first-of-type summary"),
		chromedp.SendKeys("details[open] [name=by]", "grace"),
		chromedp.SendKeys("details[open] [name=why]", "the bank is back"),
		chromedp.Click("details[open] form button"), chromedp.WaitVisible(".notice"))
	if got := e.status("order/1", "charge/a"); got != storage.StatusOpen {
		t.Errorf("the step is %v, want open", got)
	}
	await(t, ctx, "document.querySelector('#list').textContent.includes('by grace: the bank is back')")

	// All rows of the page are checked by one box, and an update keeps them checked.
	do(chromedp.Navigate(url+"/dead?name=charge"), chromedp.Click("#all"), chromedp.Click(".bulk summary"))
	if got := evaluate[int](t, ctx, "document.querySelectorAll('input[name=letter]:checked').length"); got != 1 {
		t.Errorf("%d boxes are checked, want 1", got)
	}
	e.fail("order/3", quick("charge", 1), "a", errDown)
	await(t, ctx, "document.querySelectorAll('input[name=letter]').length === 2")
	if got := evaluate[int](t, ctx, "document.querySelectorAll('input[name=letter]:checked').length"); got != 1 {
		t.Errorf("%d boxes are checked after an update, want 1", got)
	}
	do(chromedp.SendKeys(".bulk [name=why]", "nobody needs it"), chromedp.Click(".bulk .danger"))
	await(t, ctx, "document.querySelector('h1 .pill')?.textContent === 'done'")
	if got := e.status("order/2", "charge/a"); got != storage.StatusDiscarded {
		t.Errorf("the dead letter is %v, want discarded", got)
	}
	if got := e.status("order/3", "charge/a"); got != storage.StatusDead {
		t.Errorf("a dead letter that was not checked is %v", got)
	}
	// The keyboard reaches the content first.
	do(chromedp.Navigate(url+"/runs"), chromedp.KeyEvent("\t"))
	if got := evaluate[string](t, ctx, "document.activeElement.className"); got != "skip" {
		t.Errorf("the first key leads to %q, want the link to the content", got)
	}
	for _, text := range m.take() {
		t.Error(text)
	}
}
