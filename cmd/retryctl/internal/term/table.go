package term

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// A Style is the color of a cell.
type Style string

// The styles, as parameters of the control sequence SGR.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Blue   Style = "34"
)

// A Cell is a text in a table. It need not be clean.
type Cell struct {
	Text  string
	Style Style
}

// Text returns a cell without a style.
func Text(s string) Cell { return Cell{Text: s} }

// A Table writes rows in aligned columns. Only the text of the last column is cut to
// the width of the terminal: ids can always be copied. Empty texts are shown as a
// hyphen.
type Table struct {
	out    *bufio.Writer
	color  bool
	width  int // of the terminal; 0: not a terminal, nothing is cut
	header []string
	rows   [][]Cell
	widths []int // of the rows that were written: later pages stay aligned
	page   int   // the number of rows after which a page is written
}

// Page is the number of rows that are aligned together.
const Page = 500

// NewTable returns a table on w with the names of its columns.
func NewTable(w io.Writer, color bool, header ...string) *Table {
	return &Table{out: bufio.NewWriter(w), color: color, width: Columns(w), header: header, page: Page}
}

// Whole makes the table write all texts whole, whatever the width of the terminal is.
func (t *Table) Whole() *Table {
	t.width = 0
	return t
}

// Row adds a row. A page of rows is written when it is full.
func (t *Table) Row(cells ...Cell) error {
	for i := range cells {
		if cells[i].Text = Clean(cells[i].Text); cells[i].Text == "" {
			cells[i].Text = "-"
		}
	}
	if t.rows = append(t.rows, cells); len(t.rows) < t.page {
		return nil
	}
	return t.Flush()
}

// Stream makes the table write each row at once, with columns of at least these
// widths, for rows that arrive one by one.
func (t *Table) Stream(widths ...int) error {
	t.page, t.widths = 1, widths
	return t.Flush()
}

// Flush writes the rows that were added. The names of the columns are written first,
// also if there are no rows.
func (t *Table) Flush() error {
	if t.header != nil {
		names := make([]Cell, len(t.header))
		for i, name := range t.header {
			names[i] = Cell{name, Bold}
		}
		t.rows, t.header = slices.Insert(t.rows, 0, names), nil
	}
	for _, row := range t.rows {
		for i, cell := range row {
			if i >= len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], Width(cell.Text))
		}
	}
	for _, row := range t.rows {
		t.write(row)
	}
	t.rows = t.rows[:0]
	return t.out.Flush()
}

// write writes a row. The padding of the last column is omitted.
func (t *Table) write(row []Cell) {
	const gap = "  "
	used := 0
	for i, cell := range row {
		text := cell.Text
		last := i == len(row)-1
		if last && t.width > 0 {
			// Where ids leave no room, a line longer than the terminal is better than no text.
			text = Cut(text, max(t.width-used, 20))
		}
		t.out.WriteString(Paint(text, cell.Style, t.color))
		if !last {
			t.out.WriteString(strings.Repeat(" ", t.widths[i]-Width(text)) + gap)
			used += t.widths[i] + len(gap)
		}
	}
	t.out.WriteByte('\n')
}

// Paint returns a clean text with the control sequences of a style, if color is set.
func Paint(text string, style Style, color bool) string {
	if !color || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// Columns returns the width of the terminal that w is, or 0 if it is none. The
// environment variable COLUMNS wins, as it does for other programs.
func Columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
