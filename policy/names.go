package policy

import "github.com/retrygen/retrygen/policy/rules"

// nameRules lists the rules about names in a file: of its own definitions, and of
// Go symbols, which only the generator checks.
var nameRules = []rules.Rule{
	{
		ID: "P901", Title: "undefined name", Severity: rules.Error,
		Reports: "A policy, error class, scope, breaker, budget or group is named that the file does not " +
			"define.",
		Why: "Without the definition there is no limit to apply. A misspelt `breaker: upsteam` would leave the " +
			"call without a breaker.",
		Wrong: "version: 1\npolicies:\n  read: {extends: api}",
		Right: "version: 1\npolicies:\n  api: {max_attempts: 4}\n  read: {extends: api}",
		NotReported: []string{
			"The built-in error classes.",
		},
		Fix:     "Define it, or correct the name; the message suggests a similar one.",
		Related: []string{"P902", "P903"},
	},
	{
		ID: "P903", Title: "cycle", Severity: rules.Error,
		Reports: "Policies extend each other, or scopes are within each other, in a cycle.",
		Why:     "The settings of such a policy cannot be resolved.",
		Wrong:   "version: 1\npolicies:\n  api: {extends: read}\n  read: {extends: api}",
		Right:   "version: 1\npolicies:\n  api: {max_attempts: 4}\n  read: {extends: api}",
		NotReported: []string{
			"Two policies that extend the same one.",
		},
		Fix:     "Remove one of the references that the message lists.",
		Related: []string{"P901"},
	},
	{
		ID: "P904", Title: "symbol that cannot be bound", Severity: rules.Error,
		Reports: "A key of `bind`, or another name of a Go symbol in the file, does not name a function, " +
			"method or type that a wrapper can be generated for.",
		Why: "A renamed function would lose its wrapper silently. Generation fails instead, at the line of the " +
			"binding.",
		Wrong: "version: 1\npolicies:\n  read: {}\nbind:\n  Fetch(): read",
		Right: "version: 1\npolicies:\n  read: {}\nbind:\n  Fetch: read",
		NotReported: []string{
			"Symbols of other packages: they are loaded, and bound if they are exported.",
			"Methods of an interface with `none`, which are passed through.",
		},
		Fix: "Write the symbol as `go doc` does: `Fetch`, `Client.Fetch` or `net/http.Client.Do`. The message " +
			"names the cause.",
		Related: []string{"P906", "P911"},
	},
	{
		ID: "P906", Title: "time limit, key or durable call without a context", Severity: rules.Error,
		Reports: "A policy that is durable or has a time limit, or a binding with `idempotent: key`, serves a " +
			"function without a `context.Context` or `*http.Request` parameter.",
		Why: "A time limit reaches the function only through its context. Without one a hanging attempt runs " +
			"on, and the caller waits forever. The durable run of a call is in its context, too.",
		Wrong: "version: 1\n" +
			"policies:\n" +
			"  read: {timeout: 20s}\n" +
			"bind:\n" +
			"  Fetch: read # func Fetch(id int) error",
		Right: "version: 1\n" +
			"policies:\n" +
			"  read: {timeout: 20s}\n" +
			"bind:\n" +
			"  Fetch: read # func Fetch(ctx context.Context, id int) error",
		NotReported: []string{
			"Policies without time limits that are not durable.",
			"Functions that take an `*http.Request`, which carries a context, for time limits.",
		},
		Fix: "Add the parameter, or use a policy without time limits. Only the generator reports it, because " +
			"it reads the Go code.",
		Related: []string{"P407", "P910"},
	},
	{
		ID: "P907", Title: "missing or unknown version", Severity: rules.Error,
		Reports: "The file does not begin with `version: 1`.",
		Why:     "The version defines how to read the rest. A later version may give a key another meaning.",
		Wrong:   "policies:\n  read: {}",
		Right:   "version: 1\npolicies:\n  read: {}",
		NotReported: []string{
			"Comments above the version.",
		},
		Fix:     "Begin the file with `version: 1`.",
		Related: []string{"P100"},
	},
	{
		ID: "P910", Title: "time limit on a stream", Severity: rules.Error,
		Reports: "A policy with a time limit is bound to a function that returns a stream, which is used after " +
			"the call under the call's context.",
		Why: "The limit ends while the caller still reads. Downloads stop in the middle, rows end early, and " +
			"the error appears far from the policy.",
		Wrong: "version: 1\n" +
			"policies:\n" +
			"  read: {timeout: 20s}\n" +
			"bind:\n" +
			"  Open: read # func Open(ctx context.Context) (io.ReadCloser, error)",
		Right: "version: 1\n" +
			"policies:\n" +
			"  read: {timeout: 20s}\n" +
			"bind:\n" +
			"  Load: read # func Load(ctx context.Context) ([]byte, error)",
		NotReported: []string{
			"Files and connections, which have deadlines of their own.",
			"Cursors whose `Next` takes a context.",
			"Structs that contain an `*http.Response`, which is usually kept for its status and header.",
		},
		Fix: "Bind a function that reads the stream to its end, or use a policy without time limits. Streams " +
			"are channels, iterators, readers and writers to close, rows, transactions, types with `Recv`, " +
			"`Next` or `Scan`, and lists or structs of these.",
		Related: []string{"P906", "P912"},
	},
	{
		ID: "P911", Title: "package that cannot be generated for", Severity: rules.Error,
		Reports: "The Go package of the policy file cannot be read, or a file that retrygen did not write is " +
			"in the place of `retry_gen.go`.",
		Why: "Wrappers of a package that does not parse, or of one of two packages in a folder, could be " +
			"wrong. The existing file is left unchanged.",
		Wrong: "version: 1\npolicies:\n  read: {}\nbind:\n  Fetch: read # func Fetch( error",
		Right: "version: 1\npolicies:\n  read: {}\nbind:\n  Fetch: read # func Fetch() error",
		NotReported: []string{
			"Type errors in the rest of the package: only what is bound has to compile.",
		},
		Fix:     "Correct the Go code at the reported place, or rename the other file.",
		Related: []string{"P904"},
	},
	{
		ID: "P912", Title: "retry of an input that can be read only once", Severity: rules.Error,
		Reports: "A policy that retries is bound to a function that takes a reader whose static type cannot be " +
			"rewound: only an `io.Seeker` or the body of an `*http.Request` can.",
		Why: "The first attempt reads the input. The next one sends nothing, and the server may accept it: an " +
			"upload becomes an empty file.",
		Wrong: "version: 1\n" +
			"policies:\n" +
			"  write: {}\n" +
			"bind:\n" +
			"  Put: write # func Put(ctx context.Context, in io.Reader) error",
		Right: "version: 1\n" +
			"policies:\n" +
			"  write: {}\n" +
			"bind:\n" +
			"  Put: write # func Put(ctx context.Context, in io.ReadSeeker) error",
		NotReported: []string{
			"`io.Seeker` parameters and fields, and the body of an `*http.Request` with `GetBody`: the wrapper " +
				"rewinds them.",
			"Values in an interface, whose type is not known.",
			"Random bytes: readers named rand or random.",
		},
		Fix: "Take a `[]byte` or an `io.ReadSeeker`, or use a policy with `max_attempts: 1`. If rewinding " +
			"fails at run time, the call ends with `retry.ErrSpent`.",
		Related: []string{"P913", "RL205"},
	},
	{
		ID: "P913", Title: "retry that repeats output", Severity: rules.Warning,
		Reports: "A policy that retries is bound to a function that takes a writer, a connection, a channel or " +
			"an iterator.",
		Why: "Output of a failed attempt stays. An attempt that fails after half a file leaves that half in " +
			"front of the whole file, and the call succeeds.",
		Wrong: "version: 1\n" +
			"policies:\n" +
			"  read: {}\n" +
			"bind:\n" +
			"  Copy: read # func Copy(ctx context.Context, to io.Writer) error",
		Right: "version: 1\n" +
			"policies:\n" +
			"  read: {}\n" +
			"bind:\n" +
			"  Load: read # func Load(ctx context.Context) ([]byte, error)",
		NotReported: []string{
			"Logs: writers with log in their name.",
			"Channels of `struct{}` that are only received from.",
		},
		Fix: "Return the result and write it after the call succeeded. If the function undoes its output " +
			"before it fails, write `# retrygen:ignore P913` and the reason.",
		Related: []string{"P912", "P704"},
	},
	{
		ID: "P914", Title: "retry that does not see the HTTP status", Severity: rules.Warning,
		Reports: "A policy that retries is bound to a function from `*http.Request` to `*http.Response`, such " +
			"as `http.Client.Do`.",
		Why: "It returns no error for status 503 or 429. The policy does not retry them, ignores " +
			"`Retry-After`, and the breaker counts them as successes.",
		Wrong: "version: 1\npolicies:\n  read: {}\nbind:\n  net/http.Client.Do: read",
		Right: "version: 1\n" +
			"policies:\n" +
			"  read: {}\n" +
			"bind:\n" +
			"  Fetch: read # func Fetch(req *http.Request) (*User, error)",
		NotReported: []string{
			"Functions that return another type, which may turn a status into an error.",
			"Policies with `max_attempts: 1`.",
		},
		Fix: "Give the `http.Client` an `httpretry.Transport`, or bind a function that returns an error for " +
			"such a status.",
		Related: []string{"P701"},
	},
	{
		ID: "P916", Title: "result of a durable call that cannot be recorded", Severity: rules.Error,
		Reports: "A durable policy is bound to a function that returns no error, or a result that JSON does not " +
			"restore: a function, a channel, an interface, a complex number, or a struct with unexported fields.",
		Why: "After a restart the call returns the recorded result. A field that is not recorded would silently " +
			"be zero in the second process only. Without an error, a call outside of a run could not fail.",
		Wrong: "version: 1\n" +
			"policies:\n" +
			"  open: {durable: true}\n" +
			"bind:\n" +
			"  Open: {policy: open, id: name} # func Open(ctx context.Context, name string) (io.ReadCloser, error)",
		Right: "version: 1\n" +
			"policies:\n" +
			"  load: {durable: true}\n" +
			"bind:\n" +
			"  Load: {policy: load, id: name} # func Load(ctx context.Context, name string) ([]byte, error)",
		NotReported: []string{
			"Types with `MarshalJSON` and `UnmarshalJSON`, or with `MarshalText` and `UnmarshalText`.",
			"Fields that a tag leaves out: `json:\"-\"` says that they need not survive.",
			"The error, which is recorded with its reason, class, status and text.",
		},
		Fix: "Return exported fields, or give the type `MarshalJSON` and `UnmarshalJSON`. Only the generator " +
			"reports it, because it reads the Go code.",
		Related: []string{"P910", "P917"},
	},
	{
		ID: "P917", Title: "parameter that cannot identify a durable step", Severity: rules.Error,
		Reports: "A name in `id` is not a parameter of the bound function, or is one that is variadic, or not a " +
			"string, an integer, a boolean or an `encoding.TextMarshaler`.",
		Why: "The id has to be the same in every process. A pointer or a float may not be, and a `String` method " +
			"may hide a part of the value, so that two orders become one step.",
		Wrong: "version: 1\n" +
			"policies:\n" +
			"  charge: {durable: true}\n" +
			"bind:\n" +
			"  Charge: {policy: charge, id: order} # func Charge(ctx context.Context, order *Order) error",
		Right: "version: 1\n" +
			"policies:\n" +
			"  charge: {durable: true}\n" +
			"bind:\n" +
			"  Charge: {policy: charge, id: orderID} # func Charge(ctx context.Context, orderID string) error",
		NotReported: []string{
			"Named types whose underlying type is a string, an integer or a boolean.",
			"Parameters that `id` does not name: a call that changes them fails with `durable.ErrChanged`.",
		},
		Fix: "Name a parameter of such a type, or give its type `MarshalText`. Only the generator reports it, " +
			"because it reads the Go code.",
		Related: []string{"P915", "P916"},
	},
	{
		ID: "P920", Title: "name of a durable step that disappears", Severity: rules.Warning,
		Reports: "A durable step in the existing `retry_gen.go` has a name that no step of the policy file has, " +
			"in `step`, `formerly` or the symbol.",
		Why: "Runs find what they have recorded by the name. Under another one, an open run executes the step " +
			"again: the card is charged twice.",
		Wrong: "version: 1\n" +
			"policies:\n" +
			"  charge: {durable: true}\n" +
			"bind:\n" +
			"  ChargeCard: {policy: charge, id: orderID} # was Charge in the generated file",
		Right: "version: 1\n" +
			"policies:\n" +
			"  charge: {durable: true}\n" +
			"bind:\n" +
			"  ChargeCard: {policy: charge, id: orderID, formerly: Charge}",
		NotReported: []string{
			"The same change in a second run, since the generated file has the new name then.",
			"Other parameters in `id`, which change the steps in the same way.",
			"Policy files that are removed.",
		},
		Fix: "List the older name in `formerly` of the step that replaces it, or keep it as `step`. If no open run " +
			"has the step, there is nothing to do. Only the generator reports it.",
		Related: []string{"P917", "P918"},
	},
}
