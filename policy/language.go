package policy

import (
	"slices"

	"github.com/retrygen/retrygen/policy/rules"
)

// Language lists what is reported about how a file is written, whatever its
// policies mean, by id. Wrong and Right are whole files.
var Language = []rules.Rule{
	{
		ID: "P001", Title: "an ignore without effect",
		Doc:   "A comment ignores a rule that reports nothing there.",
		Wrong: "{version: 1, policies: {read: {max_attempts: 4}}} # retrygen:ignore P405 it never takes that long",
		Right: "{version: 1, policies: {read: {max_attempts: 4}}}",
	},
	{
		ID: "P002", Title: "an ignore that cannot be obeyed",
		Doc:   "A comment ignores a rule without saying why, or one that cannot be ignored: only rules about what a policy means can, P2… to P8…, P913 and P914.",
		Wrong: "{version: 1, policies: {read: {max_attempts: 4, attempt_timeout: 5s, timeout: 15s}}} # retrygen:ignore P405",
		Right: "{version: 1, policies: {read: {max_attempts: 4, attempt_timeout: 5s, timeout: 15s}}} # retrygen:ignore P405 it never takes that long",
	},
	{
		ID: "P100", Title: "not a policy file",
		Doc:   "The file is empty, too large, or not one document of YAML in UTF-8 with common line ends; or it has a thousand errors, of which more are not shown.",
		Wrong: "{version: 1",
		Right: "{version: 1}",
	},
	{
		ID: "P101", Title: "unknown key",
		Doc:   "A key that the language does not have. Nothing is ignored silently: a misspelt limit would be none.",
		Wrong: "{version: 1, policies: {read: {max_atempts: 4}}}",
		Right: "{version: 1, policies: {read: {max_attempts: 4}}}",
	},
	{
		ID: "P102", Title: "not a value for this key",
		Doc:   "A value of another kind than the key takes, or out of its range; a key that stands twice.",
		Wrong: "{version: 1, policies: {read: {max_attempts: 0}}}",
		Right: "{version: 1, policies: {read: {max_attempts: 1}}}",
	},
	{
		ID: "P103", Title: "not a duration",
		Doc:   "A duration is numbers with units: ns, us, ms, s, m, h, d and w. A number alone is refused, since half of the world reads it as seconds and the other half as milliseconds. Months and years draw a warning: they are not always of the same length.",
		Wrong: "{version: 1, policies: {read: {timeout: 20}}}",
		Right: "{version: 1, policies: {read: {timeout: 20s}}}",
	},
	{
		ID: "P104", Title: "two spellings of one setting that disagree",
		Doc:   "A setting is written under two of its names, with different values.",
		Wrong: "{version: 1, policies: {read: {max_attempts: 4, attempts: 5}}}",
		Right: "{version: 1, policies: {read: {max_attempts: 4}}}",
	},
	{
		ID: "P105", Title: "more than one strategy",
		Doc:   "backoff is one strategy.",
		Wrong: "{version: 1, policies: {read: {backoff: {fixed: {}, fibonacci: {}}}}}",
		Right: "{version: 1, policies: {read: {backoff: fibonacci}}}",
	},
	{
		ID: "P107", Title: "a word that counts retries",
		Doc:   "retries, max_retries and their like count retries in one system and attempts in another. max_attempts counts all attempts, the first included.",
		Wrong: "{version: 1, policies: {read: {max_retries: 3}}}",
		Right: "{version: 1, policies: {read: {max_attempts: 4}}}",
	},
	{
		ID: "P108", Title: "an empty list",
		Doc:   "An empty retry_on would retry nothing; without delays of one's own every delay is max_delay.",
		Wrong: "{version: 1, policies: {read: {retry_on: []}}}",
		Right: "{version: 1, policies: {read: {max_attempts: 1}}}",
	},
	{
		ID: "P109", Title: "a setting that is not read",
		Doc:   "The strategy or the mode of jitter beside it has no use for a setting: fixed has none for an increment, and decorrelated jitter none for a strategy.",
		Wrong: "{version: 1, policies: {read: {backoff: {fixed: {increment: 2s}}}}}",
		Right: "{version: 1, policies: {read: {backoff: {linear: {increment: 2s}}}}}",
	},
	{
		ID: "P305", Title: "over a limit of the file",
		Doc:   "A policy passes a ceiling that limits sets for the file, or lacks the time limit that one is set for.",
		Wrong: "{version: 1, limits: {timeout: 1m}, policies: {read: {timeout: 2m}}}",
		Right: "{version: 1, limits: {timeout: 1m}, policies: {read: {timeout: 30s}}}",
	},
	{
		ID: "P707", Title: "cancellation retried",
		Doc:   "retry_on names canceled: whoever canceled the call no longer waits for it.",
		Wrong: "{version: 1, policies: {read: {retry_on: [network, canceled]}}}",
		Right: "{version: 1, policies: {read: {retry_on: [network]}}}",
	},
	{
		ID: "P709", Title: "not a pattern",
		Doc:   "A pattern is a regular expression of Go, RE2: no look-ahead, no back references. One that matches the empty text would match every error.",
		Wrong: "{version: 1, policies: {read: {retry_on: [{pattern: '(?!x)'}]}}}",
		Right: "{version: 1, policies: {read: {retry_on: [{pattern: 'busy'}]}}}",
	},
	{
		ID: "P901", Title: "nothing of this name",
		Doc:   "A policy or an error class is named that there is not.",
		Wrong: "{version: 1, policies: {read: {extends: api}}}",
		Right: "{version: 1, policies: {api: {max_attempts: 4}, read: {extends: api}}}",
	},
	{
		ID: "P903", Title: "a circle",
		Doc:   "Policies extend each other in a circle.",
		Wrong: "{version: 1, policies: {api: {extends: read}, read: {extends: api}}}",
		Right: "{version: 1, policies: {api: {max_attempts: 4}, read: {extends: api}}}",
	},
	{
		ID: "P904", Title: "not a symbol that can be bound",
		Doc:   "bind names Go symbols as go doc does: a function, a method, or an interface. The generator reports here what it cannot find, or cannot wrap.",
		Wrong: "{version: 1, policies: {read: {}}, bind: {'Fetch()': read}}",
		Right: "{version: 1, policies: {read: {}}, bind: {Fetch: read}}",
	},
	{
		ID: "P906", Title: "a time limit without a context",
		Doc:   "A policy with a time limit is bound to a function that takes neither a context.Context nor an *http.Request, or a context of another type: nothing can end it. Only the generator sees the function.",
		Wrong: "{version: 1, policies: {read: {timeout: 20s}}, bind: {Fetch: read}} # func Fetch(id int) error",
		Right: "{version: 1, policies: {read: {timeout: 20s}}, bind: {Fetch: read}} # func Fetch(ctx context.Context, id int) error",
	},
	{
		ID: "P907", Title: "unknown version",
		Doc:   "A policy file begins with version: 1, an integer.",
		Wrong: "{policies: {read: {}}}",
		Right: "{version: 1, policies: {read: {}}}",
	},
	{
		ID: "P910", Title: "a time limit on a stream",
		Doc: "A policy with a time limit is bound to a function that returns a stream: a result in which the call goes on after the return, under its context, which the end of the limit ends. " +
			"A result is a stream if it can be asked for work that may block or fail, and the request takes no context of its own: a channel, an iterator, a reader or writer that has to be closed, rows, messages (Recv, Next, Scan), a transaction. " +
			"A list of streams is one as well, and so is a struct with a stream in an exported field, and a type with a method that returns a channel, such as a watch. " +
			"Not reported: files and connections, which have deadlines of their own; cursors whose Next takes a context; a struct that holds an *http.Response, which is usually kept for its status and header. Only the generator sees the function.",
		Wrong: "{version: 1, policies: {read: {timeout: 20s}}, bind: {Open: read}} # func Open(ctx context.Context) (io.ReadCloser, error)",
		Right: "{version: 1, policies: {read: {timeout: 20s}}, bind: {Load: read}} # func Load(ctx context.Context) ([]byte, error)",
	},
	{
		ID: "P911", Title: "a package that cannot be generated for",
		Doc:   "The Go package beside the policy file cannot be read: a file of it does not parse, the folder holds two packages or none, the build leaves it out. Or a file that retrygen has not written stands where retry_gen.go goes. Only the generator sees the package.",
		Wrong: "{version: 1, policies: {read: {}}, bind: {Fetch: read}} # func Fetch( error",
		Right: "{version: 1, policies: {read: {}}, bind: {Fetch: read}} # func Fetch() error",
	},
	{
		ID: "P912", Title: "a retry of what can be read once",
		Doc: "A policy that retries is bound to a function that takes something to read, which its type does not allow to rewind: the first attempt reads it, and the next ones send what is left, which is nothing, and succeed. " +
			"Arguments are searched through pointers, lists, maps and fields, of other packages the exported ones. Only the static type counts: an io.Reader that holds a file is not an io.Seeker to the wrapper. " +
			"An io.Seeker is rewound before each retry to where the call found it, whether it is a parameter or a field. The body of an *http.Request parameter is sent again as its GetBody gives it. Where that fails at run time, as for a pipe or a request without GetBody, the call ends with retry.ErrSpent around the error of its attempt. " +
			"Not reported: random bytes, which are readers called rand or random. Only the generator sees the function.",
		Wrong: "{version: 1, policies: {write: {}}, bind: {Put: write}} # func Put(ctx context.Context, in *Input) error; type Input struct{ Body io.Reader }",
		Right: "{version: 1, policies: {write: {}}, bind: {Put: write}} # func Put(ctx context.Context, in *Input) error; type Input struct{ Body io.ReadSeeker }",
	},
	{
		ID: "P913", Title: "a retry that repeats what was written",
		Doc: "A policy that retries is bound to a function that takes a writer, a connection, a channel or an iterator, in a parameter or in a field: what a failed attempt has written or sent stays, what it has received is gone. An attempt that fails after half of a file leaves the half in front of the whole, and the call succeeds. " +
			"Not reported: logs, which are writers with log in their name; channels of struct{} that are only received from. Only the generator sees the function. If the function undoes what it has done before it fails, say so: # retrygen:ignore P913 and the reason.",
		Wrong: "{version: 1, policies: {read: {}}, bind: {Copy: read}} # func Copy(ctx context.Context, to io.Writer) error",
		Right: "{version: 1, policies: {read: {}}, bind: {Load: read}} # func Load(ctx context.Context) ([]byte, error)",
	},
	{
		ID: "P914", Title: "a retry that does not see the status",
		Doc:   "A policy that retries is bound to a function from *http.Request to *http.Response, such as http.Client.Do or RoundTrip: it returns no error for the status 503 or 429, and the policy does not retry these, nor read Retry-After. An http.Client with an httpretry.Transport does. Only the generator sees the function.",
		Wrong: "{version: 1, policies: {read: {}}, bind: {net/http.Client.Do: read}}",
		Right: "{version: 1, policies: {read: {}}, bind: {Fetch: read}} # func Fetch(req *http.Request) (*User, error)",
	},
}

// Rules returns all rules about policy files, in the order of their ids: those
// of the language, and those of package rules.
func Rules() []rules.Rule { return slices.Concat(Language, rules.All) }

// RuleByID returns a rule, or nil.
func RuleByID(id string) *rules.Rule {
	all := Rules()
	i := slices.IndexFunc(all, func(r rules.Rule) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &all[i]
}
