package memory

import (
	"encoding/binary"
	"math"
	"strings"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A dueList has the keys of the records of a [Store] that are due at some time,
// by kind, namespace, handler, descending priority and then by that time.
type dueList struct{ keys keyList }

// dueKey returns the entry of a record. Its parts order as those of the record do:
// no text has a NUL byte.
func dueKey(r *storage.Record) storage.Key {
	return storage.Key{
		Kind: r.Key.Kind, Space: r.Key.Space + "\x00" + r.Handler, Run: rankText(r.Priority) + timeText(r.Due),
		ID: r.Key.Run + "\x00" + r.Key.ID,
	}
}

// timeText returns a text for each time, which orders as the times do.
func timeText(t time.Time) string {
	var text [12]byte
	binary.BigEndian.PutUint64(text[:], uint64(t.Unix())^1<<63)
	binary.BigEndian.PutUint32(text[8:], uint32(t.Nanosecond()))
	return string(text[:])
}

// replace notes that the record before, if it exists, is replaced by after, if
// that does.
func (l *dueList) replace(before, after storage.Record) {
	if before.Version != 0 && !before.Due.IsZero() {
		l.keys.remove(dueKey(&before))
	}
	if after.Version != 0 && !after.Due.IsZero() {
		l.keys.insert(dueKey(&after))
	}
}

// due calls f for the keys of the records of one handler that are due by a time,
// those with the highest priority first and among them those that have been due
// longest, until it returns false.
func (l *dueList) due(kind storage.Kind, space, handler string, by time.Time, f func(storage.Key) bool) {
	first, last := storage.Key{Kind: kind, Space: space + "\x00" + handler}, timeText(by)
	for more := true; more; {
		more = false
		for entry := range l.keys.after(first) {
			if entry.Kind != kind || entry.Space != first.Space {
				return
			}
			if entry.Run[rankSize:] > last { // and so is the rest of this priority
				first.Run, more = entry.Run[:rankSize]+afterAll, true
				break
			}
			run, id, _ := strings.Cut(entry.ID, "\x00")
			if !f(storage.Key{Kind: kind, Space: space, Run: run, ID: id}) {
				return
			}
		}
	}
}

// afterAll follows every [timeText].
var afterAll = strings.Repeat("\xff", 13)

const rankSize = 2

// rankText returns a text for each priority. The text of a higher one comes first.
func rankText(priority int16) string {
	return string(binary.BigEndian.AppendUint16(nil, uint16(math.MaxInt16-int32(priority))))
}
