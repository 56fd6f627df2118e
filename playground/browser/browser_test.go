package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const root = "../.."

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

// serveLocal starts retrygen ui with a file, and returns the address of the page.
func serveLocal(t *testing.T, file string) (url string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "retrygen")
	if out, err := exec.Command("go", "build", "-o", program, root+"/cmd/retrygen").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := exec.CommandContext(t.Context(), program, "ui", file)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	var stderr bytes.Buffer
	c.Stderr = &stderr
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Wait() }) // the context has ended
	line, err := bufio.NewReader(stdout).ReadString('\n')
	m := regexp.MustCompile(`at (http://\S+)/;`).FindStringSubmatch(line)
	if err != nil || m == nil {
		t.Fatalf("retrygen ui printed %q: %v: %s", line, err, &stderr)
	}
	return strings.TrimSuffix(m[1], "/")
}

// serveStatic serves the files of playground/static.sh, and returns the address of the page.
// The policy of their content is what a strict server allows.
func serveStatic(t *testing.T) (url string) {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command(root+"/playground/static.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; "+
			"style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'")
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A tab is a tab of the browser. It collects what the page writes to the console of the
// browser, and its requests to other hosts.
type tab struct {
	*testing.T
	ctx  context.Context
	base string

	mu       sync.Mutex
	messages []string
}

// open opens a page in a new tab, and waits until the first problems are shown.
func open(t *testing.T, browser context.Context, base, path string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	p := &tab{T: t, ctx: ctx, base: base}
	// Creates the tab, which ends with this context.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventConsoleAPICalled:
			p.note("console.%s", ev.Type)
		case *runtime.EventExceptionThrown:
			p.note("exception: %s", ev.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			p.note("%s: %s", ev.Entry.Level, ev.Entry.Text)
		case *network.EventRequestWillBeSent:
			u := ev.Request.URL
			if !strings.HasPrefix(u, base+"/") && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:"+base) {
				p.note("request to %s", u)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate(base + path))
	p.await("$('.summary')?.textContent")
	return p
}

func (p *tab) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages = append(p.messages, fmt.Sprintf(format, args...))
}

// quiet fails if the page has written messages.
func (p *tab) quiet() {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.messages {
		p.Errorf("the page: %s", m)
	}
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.Fatal(err)
	}
}

// names defines what the expressions of the tests use: the playground, and $ and $$ for the
// elements in its shadow tree.
const names = `const page = document.getElementById('playground')?.playground, root = page?.editor.view.root,
	$ = (s) => root?.querySelector(s), $$ = (s) => [...root?.querySelectorAll(s) ?? []]; `

// value returns the value of an expression in the page.
func value[T any](p *tab, expression string) T {
	p.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](
		"(async () => { "+names+"return "+expression+" })()", chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return v
}

// await waits until an expression is true in the page.
func (p *tab) await(expression string) {
	p.Helper()
	for end := time.Now().Add(time.Minute); !value[bool](p, "Boolean("+expression+")"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("%s does not become true; the page has %s", expression, value[string](p, "root?.textContent ?? ''"))
		}
	}
}

// click clicks an element of the shadow tree.
func (p *tab) click(selector string) { p.Helper(); value[bool](p, "($('"+selector+"').click(), true)") }

// write replaces the text of the file.
func (p *tab) write(text string) {
	p.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		p.Fatal(err)
	}
	value[bool](p, "(page.editor.open({name: 'retry.yaml', text: "+string(quoted)+"}), true)")
}

// typed enters characters as keys at the end of the file.
func (p *tab) typed(keys string) {
	p.Helper()
	value[bool](p, "(page.editor.view.focus(), "+
		"page.editor.view.dispatch({selection: {anchor: page.editor.text.length}}), true)")
	for _, key := range keys {
		if key == '\n' {
			p.do(enter)
		} else {
			p.do(chromedp.KeyEvent(string(key)))
		}
	}
}

// enter presses the key. chromedp.KeyEvent also enters the character, whether or not the page
// has handled the key, which no keyboard does.
var enter = chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
	for _, kind := range []input.DispatchKeyEventType{kb.KeyRawDown, kb.KeyUp} {
		key := input.DispatchKeyEventParams{Type: kind, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13}
		if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, key); err != nil {
			return err
		}
	}
	return nil
})

const started = "version: 1\npolicies:\n  fetch:\n    timeout: 20s\n    initial_delay: 1s\n    jitter: full\n"

// TestPlayground uses both pages as somebody does.
func TestPlayground(t *testing.T) {
	chrome := browser(t)
	file := filepath.Join(t.TempDir(), "retry.yaml")
	if err := os.WriteFile(file, []byte(started), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Run("local", func(t *testing.T) {
		url := serveLocal(t, file)
		p := open(t, chrome, url, "/")
		if got := value[string](p, "page.editor.text"); got != started {
			t.Errorf("the page begins with %q", got)
		}
		testPage(t, chrome, p, url, "/")
		if text, err := os.ReadFile(file); err != nil || string(text) != started {
			t.Errorf("the file is %q, %v", text, err)
		}
	})
	t.Run("static", func(t *testing.T) {
		url := serveStatic(t)
		p := open(t, chrome, url, "/")
		times := value[struct{ Instantiated, First float64 }](p, "page.backend.times")
		t.Logf("instantiated in %.0f ms, first check in %.0f ms", times.Instantiated, times.First)
		testPage(t, chrome, p, url, "/")
	})
}

func testPage(t *testing.T, chrome context.Context, p *tab, url, path string) {
	testTyping(p)
	testTabs(p)
	p.write("version: 1\npolicies:\n  ünïcode: {timeout: 1s}\n")
	p.await("$('.problems li')?.textContent.includes('3:3')")
	p.click(".share")
	p.await("location.hash !== ''")
	other := open(t, chrome, url, path+value[string](p, "location.hash"))
	if got, want := value[string](other, "page.editor.text"), value[string](p, "page.editor.text"); got != want {
		t.Errorf("the link has %q, want %q", got, want)
	}
	other.quiet()
	testExamples(p)
	testScreens(p)
	p.quiet()
}

// testTyping types a mistake, corrects it, and completes a key.
func testTyping(p *tab) {
	p.write(started)
	p.typed("    max_atempts: 3\n")
	p.await("$('.cm-lintRange-error')?.textContent === 'max_atempts'")
	p.await("$('.problems li')?.textContent.includes('did you mean max_attempts?')")
	if got := value[string](p, "$('.problems .at').textContent"); got != "7:5" {
		p.Errorf("the problem is at %s, want 7:5", got)
	}
	p.click(".problems .fix")
	p.await("page.editor.text.includes('    max_attempts: 3\\n')")
	p.await("$('.summary').textContent === 'no problems'")

	p.write(strings.TrimSuffix(started, "\n"))
	p.typed("\nattempt_t")
	p.await("$('.cm-tooltip-autocomplete li[aria-selected]')?.textContent.startsWith('attempt_timeout')")
	time.Sleep(200 * time.Millisecond) // the editor ignores keys that follow a list at once
	p.do(enter)
	p.await("page.editor.text.endsWith('jitter: full\\n    attempt_timeout: ')")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.await("$('.cm-tooltip-autocomplete') === null")

	p.do(chromedp.KeyEvent(kb.Tab)) // leaves the editor
	if value[bool](p, "page.editor.view.hasFocus") {
		p.Error("the keyboard cannot leave the editor")
	}
}

// testTabs looks at each tab.
func testTabs(p *tab) {
	p.write(started)
	p.await("$('#panel-explain').textContent.includes('policy fetch (retry.yaml:3)')")
	p.click("#tab-picture")
	p.await("$('#panel-picture img')?.naturalWidth > 100")
	p.click("#tab-convert")
	p.await("$('#panel-convert .shown').textContent.length > 20 && $('.kind').length > 3")
	p.write(strings.Replace(started, "timeout: 20s", "timeout: 20", 1))
	p.await("$('.problems .rule')?.textContent === 'P103'")
	p.click(".problems .rule")
	p.await("$('#panel-rule').textContent.startsWith('P103')")
	p.click("#tab-storm")
	p.await("$('#panel-storm .shown').textContent.includes('has an error')")
	p.write(strings.Replace(started, "timeout: 20s", "max_attempts: 2", 1))
	p.await("$('.stale').hidden === false")
	p.click(".simulate")
	p.await("$('#panel-storm img')?.naturalWidth > 100 || $('#panel-storm .shown').textContent.includes('Storm capacity')")
	p.click(".simulate") // stops the second storm
	p.await("$('.simulate').textContent === 'Simulate again'")
	p.click("#tab-explain")
}

// testExamples opens each example. All but two are right.
func testExamples(p *tab) {
	n := value[int](p, "$('.examples').length")
	for i := range n - 1 {
		p.write("")
		p.await("page.checked === ''")
		title := value[string](p, fmt.Sprintf("(() => { const s = $('.examples'); s.value = '%d'; "+
			"s.dispatchEvent(new Event('change')); return s.options[%d].text })()", i, i+1))
		p.await("page.editor.text !== '' && page.checked === page.editor.text")
		errors := value[int](p, "$$('.problems .pill.error').length")
		if wrong := title == "With mistakes" || title == "nginx"; wrong != (errors > 0) {
			p.Errorf("the example %s has %d errors", title, errors)
		}
		system := value[string](p, "$('.system').textContent")
		if isForeign := strings.Contains("Envoy nginx Resilience4j", title); isForeign != (system != "") {
			p.Errorf("the example %s is %q", title, system)
		}
	}
}

// testScreens looks at the page on a phone, in both themes.
func testScreens(p *tab) {
	for _, width := range []int64{390, 1240} {
		p.do(chromedp.EmulateViewport(width, 800))
		if wide := value[int64](p, "document.documentElement.scrollWidth"); wide > width {
			p.Errorf("the page is %d pixels wide on a screen of %d", wide, width)
		}
	}
	back := "getComputedStyle(document.body).backgroundColor"
	light := value[string](p, back)
	p.click(".theme")
	p.click(".theme")
	if dark := value[string](p, back); dark == light {
		p.Errorf("both themes have the ground %s", dark)
	}
	p.click(".theme")
}
