package durable

import (
	"encoding/json"
	"testing"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// bodies belong to steps that have succeeded, as most of them do.
var bodies = map[string]record.Step{
	"first attempt": {
		Name: "charge", Function: "example.com/pay.(*Client).Charge", Arguments: "amount:0123456789abcdef/b:00",
		Policy: "pay", Attempts: 1, Last: "0123456789abcdef", First: time.Unix(1e9, 5).UTC(), Ended: time.Unix(2e9, 0).UTC(),
		Result: &record.Payload{JSON: json.RawMessage(`{"id":"\u003c1\"é","n":[-1.5e+3,0,{}],"ok":true,"none":null}`)},
	},
	"retried": {
		Name: "charge", Attempts: 3, Correlation: "00f0", Granted: 1,
		Call:   retry.CallState{Attempts: 2, Waited: time.Second, Deadline: time.Unix(1e9, 0).UTC()},
		Result: &record.Payload{JSON: json.RawMessage(`""`)},
	},
	"codec":    {Name: "<name> & \u2028", Result: &record.Payload{Bytes: []byte{0, 1, 2, 0xff}}},
	"imported": {Name: "charge", Imported: true, Limit: 3, Result: &record.Payload{JSON: json.RawMessage("-0")}},
	"child":    {Name: "start", Child: "one/2", Result: &record.Payload{JSON: json.RawMessage("[]")}},
}

// TestScanOfSteps: the usual bodies need no json.Unmarshal.
func TestScanOfSteps(t *testing.T) {
	for name, body := range bodies {
		r := storage.Record{Key: storage.Key{Kind: storage.KindStep}, Version: 1, Status: storage.StatusSucceeded}
		if err := record.EncodeStep(&r, &body); err != nil {
			t.Fatal(err)
		}
		l := newLedger(readAhead)
		got, ok := l.scan(&r)
		if want := finishedOf(r.Status, &body); !ok || !equalSteps(&got, &want) {
			t.Errorf("%s: %s: got %+v, %v, want %+v", name, r.Body, got, ok, want)
		}
	}
}

func equalSteps(a, b *finishedStep) bool {
	return a.status == b.status && a.imported == b.imported && a.function == b.function &&
		string(a.arguments) == string(b.arguments) && string(a.result) == string(b.result) && a.body == nil && b.body == nil
}

// FuzzScan: a scan accepts only bodies that the decoder accepts, and finds the same
// in them.
func FuzzScan(f *testing.F) {
	for _, body := range bodies {
		data, err := json.Marshal(body)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, text := range []string{
		`{"name":"a","attempts":01,"result":{"json":1}}`, `{"attempts":1,"name":"a","result":{"json":1}}`,
		`{"name":"a","result":{"json":1.,"bytes":"AA=="}}`, `{"name":"a","result":{"json":[1e]}} `,
		`{"name":"a","first":"2026-02-30T00:00:00Z","result":{"bytes":"AA="}}`, `{"Name":"a","":1}`,
		`{"function":"\u12g0","result":{"json":"\ud800"}}`,
		`{"function":"` + "\xff" + `","result":{"json":"` + "\xff" + `"}}`,
		`{"keys":1234567890123456789,"open":{"fence":-1},"unit":{},"call":{},"result":null}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := newLedger(readAhead)
		r := storage.Record{Key: storage.Key{Kind: storage.KindStep}, Version: 1, Status: storage.StatusSucceeded, Body: data}
		got, ok := l.scan(&r)
		if !ok {
			return
		}
		body, err := record.Decode[record.Step](r)
		if err != nil {
			t.Fatalf("a scan accepts %s: %v", data, err)
		}
		if want := finishedOf(r.Status, &body); !equalSteps(&got, &want) {
			t.Errorf("%s: got %+v, want %+v", data, got, want)
		}
	})
}

// TestScanOfBytes: a scan leaves base64 that is wrong to the decoder.
func TestScanOfBytes(t *testing.T) {
	for text, want := range map[string]bool{"a2V5": true, "a2V": false, "%": false} {
		l := newLedger(readAhead)
		r := storage.Record{Status: storage.StatusSucceeded, Body: []byte(`{"name":"a","attempts":1,"result":{"bytes":"` + text + `"}}`)}
		if _, got := l.scan(&r); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
