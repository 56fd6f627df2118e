package postgres

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// toTime returns the value of a column for a time, NULL for the zero time.
func toTime(t time.Time) (pgtype.Timestamptz, error) {
	if t.IsZero() {
		return pgtype.Timestamptz{}, nil
	}
	const first, last = -4712, 294276 // the years of PostgreSQL
	if t = t.UTC(); t.Year() <= first || t.Year() >= last {
		return pgtype.Timestamptz{}, fmt.Errorf("the time %v is not between 4712 BC and 294275: use a time in this range", t)
	}
	return pgtype.Timestamptz{Time: t.Truncate(time.Microsecond), Valid: true}, nil
}

// fromTime returns the zero time for NULL.
func fromTime(t pgtype.Timestamptz) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}

// toMonth returns the value of the column bucket. The zero time is January of the
// year 1.
func toMonth(t time.Time) (pgtype.Date, error) {
	t = t.UTC()
	if first := monthOf(t); !first.Equal(t) || t.Year() < 1 || t.Year() > 9998 {
		return pgtype.Date{}, fmt.Errorf("the bucket %v is not the start of a month: use the first day, 00:00 UTC", t)
	}
	return pgtype.Date{Time: t, Valid: true}, nil
}

// monthOf returns the start of the month of t.
func monthOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// notNil returns data for a column that is not NULL.
func notNil(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// isText reports whether PostgreSQL accepts s as text. No record has any other: see
// [storage.Tx.Decide].
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

func isTextKey(k storage.Key) bool { return isText(k.Space) && isText(k.Run) && isText(k.ID) }

// onlyText returns the values that PostgreSQL accepts.
func onlyText(values []string) []string {
	texts := make([]string, 0, len(values))
	for _, v := range values {
		if isText(v) {
			texts = append(texts, v)
		}
	}
	return texts
}

// pageSize returns the most records that a query with this limit returns.
func pageSize(limit int) int {
	if limit <= 0 || limit > storage.MaxPage {
		return storage.MaxPage
	}
	return limit
}
