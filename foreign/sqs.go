package foreign

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// sqsKind is the kind for the redrive of SQS queues that Lambda functions consume, in
// CloudFormation and SAM templates and in Terraform JSON. Sources: the AWS Lambda Developer
// Guide, "Creating and configuring an Amazon SQS event source mapping", and AWS::SQS::Queue for
// the defaults.
var sqsKind = Kind{
	Name: "sqs", Title: "SQS queue",
	recognize: func(doc *syntax.Node) bool {
		return len(at(at(doc, "resource"), "aws_sqs_queue").Entries) > 0 ||
			slices.ContainsFunc(at(doc, "Resources").Entries, func(e syntax.Entry) bool {
				return at(e.Value, "Type").Text == "AWS::SQS::Queue"
			})
	},
	decode: decodeSQS,
}

// A dialect contains the names of the settings of queues, functions and mappings in a template
// format.
type dialect struct {
	words                                          words
	visibility, redrive, retention, source, target string
	timeout, window, batch                         string
}

var cloudFormation = dialect{
	words: words{
		"max_attempts": "maxReceiveCount", "initial_delay": "VisibilityTimeout", "timeout": "MessageRetentionPeriod",
		"attempt_timeout": "Timeout",
	},
	visibility: "VisibilityTimeout", redrive: "RedrivePolicy", retention: "MessageRetentionPeriod",
	source: "EventSourceArn", target: "FunctionName", timeout: "Timeout", window: "MaximumBatchingWindowInSeconds",
	batch: "BatchSize",
}

var terraform = dialect{
	words: words{
		"max_attempts": "maxReceiveCount", "initial_delay": "visibility_timeout_seconds",
		"timeout": "message_retention_seconds", "attempt_timeout": "timeout",
	},
	visibility: "visibility_timeout_seconds", redrive: "redrive_policy", retention: "message_retention_seconds",
	source: "event_source_arn", target: "function_name", timeout: "timeout", window: "maximum_batching_window_in_seconds",
	batch: "batch_size",
}

// The defaults of SQS and Lambda.
const (
	sqsVisibility = 30 * time.Second
	sqsRetention  = 4 * 24 * time.Hour
	lambdaTimeout = 3 * time.Second
)

// A consumer is a function that receives the messages of a queue. Each value may be nil.
type consumer struct {
	queue    string // name of its resource
	function *value // properties of the function
	defaults *value // defaults for functions
	mapping  *value
}

func decodeSQS(d *decoder, doc *value) {
	t := sqsTemplate{d: d, queues: map[string]*value{}, redrives: map[string]*value{}, functions: map[string]*value{}}
	if resources := doc.get("Resources"); resources != nil {
		t.dialect = &cloudFormation
		t.cloudFormation(doc.get("Globals").get("Function"), resources)
		doc.skipOthers("Resources", "Globals")
		doc.get("Globals").skip()
	} else {
		t.dialect = &terraform
		resources := doc.get("resource")
		t.terraform(resources)
		doc.skipOthers("resource")
		resources.skip()
	}
	for _, name := range t.names {
		t.queue(name, t.queues[name])
	}
}

// An sqsTemplate contains those resources of a template that are related to queues.
type sqsTemplate struct {
	*dialect
	d         *decoder
	names     []string // names of queues, in the order of the template
	queues    map[string]*value
	redrives  map[string]*value // of resources apart from their queues
	functions map[string]*value
	consumers []consumer
}

func (t *sqsTemplate) cloudFormation(defaults, resources *value) {
	var mappings []*value
	for _, name := range resources.keys() {
		r := resources.get(name)
		properties := r.get("Properties")
		if properties != nil && !properties.n.IsMap() {
			properties = nil
		}
		switch r.get("Type").text() {
		case "AWS::SQS::Queue":
			t.names = append(t.names, name)
			t.queues[name] = properties
			r.skipOthers("Properties")
			properties.skip(sqsOther...)
			continue
		case "AWS::Lambda::Function":
			t.functions[name] = properties
		case "AWS::Serverless::Function":
			t.functions[name] = properties
			t.events(defaults, properties)
		case "AWS::Lambda::EventSourceMapping":
			mappings = append(mappings, properties)
		}
		r.skip()
	}
	for _, m := range mappings {
		t.mapping(m)
	}
}

// sqsOther lists the properties of a queue that are unrelated to retries.
var sqsOther = []string{
	"QueueName", "FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit", "DelaySeconds",
	"KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled", "MaximumMessageSize",
	"ReceiveMessageWaitTimeSeconds", "RedriveAllowPolicy", "Tags",
}

// events reads the queues that are event sources of a SAM function.
func (t *sqsTemplate) events(defaults, function *value) {
	events := function.get("Events")
	for _, name := range events.keys() {
		e := events.get(name)
		if p := e.get("Properties"); p != nil && at(e.n, "Type").Text == "SQS" {
			t.consumers = append(t.consumers, consumer{referred(p.get("Queue")), function, defaults, p})
		}
	}
}

func (t *sqsTemplate) terraform(resources *value) {
	queues := resources.get("aws_sqs_queue")
	t.names = queues.keys()
	for _, name := range t.names {
		t.queues[name] = block(queues.get(name))
	}
	redrives := resources.get("aws_sqs_queue_redrive_policy")
	for _, name := range redrives.keys() {
		r := block(redrives.get(name))
		t.redrives[referred(r.get("queue_url"))] = r.get("redrive_policy")
	}
	functions := resources.get("aws_lambda_function")
	for _, name := range functions.keys() {
		t.functions[name] = block(functions.get(name))
	}
	mappings := resources.get("aws_lambda_event_source_mapping")
	for _, name := range mappings.keys() {
		t.mapping(block(mappings.get(name)))
	}
}

// block returns a block of Terraform, which may be written as a list with one item.
func block(v *value) *value {
	if v != nil && v.n.IsList() {
		if list := v.items(); len(list) == 1 {
			return list[0]
		}
		return nil
	}
	return v
}

// mapping adds the consumer of an event source mapping, if its function is in the template.
func (t *sqsTemplate) mapping(m *value) {
	if f := t.functions[referred(m.get(t.target))]; f != nil {
		t.consumers = append(t.consumers, consumer{queue: referred(m.get(t.source)), function: f, mapping: m})
	}
}

// reference matches a Terraform reference, and the string of a CloudFormation reference.
var reference = regexp.MustCompile(`^(?:\$\{(?:aws_sqs_queue|aws_lambda_function)\.)?([A-Za-z0-9_-]+)(?:\.\w+)?\}?$`)

// referred returns the name of the resource to which a value refers, such as !GetAtt Orders.Arn
// or {"Ref": "Orders"}, or "".
func referred(v *value) string {
	if v == nil {
		return ""
	}
	n := v.n
	for _, key := range []string{"Ref", "Fn::GetAtt"} {
		if e := n.Get(key); e != nil {
			n = e.Value
		}
	}
	if len(n.Items) > 0 { // [Orders, Arn]
		n = n.Items[0]
	}
	if m := reference.FindStringSubmatch(n.Text); m != nil {
		return m[1]
	}
	return ""
}

// queue adds a policy for each function that consumes a queue. If there is none, it adds one
// policy for the programs that consume the queue.
func (t *sqsTemplate) queue(name string, q *value) {
	var own []consumer
	for _, c := range t.consumers {
		if c.queue == name {
			own = append(own, c)
		}
	}
	if len(own) == 0 && (q.has(t.redrive) || t.redrives[name] != nil) {
		own = []consumer{{queue: name}}
	}
	for _, c := range own {
		t.policy(name, q, c)
	}
	if len(own) == 0 {
		q.skip()
	}
}

// policy adds the policy of a queue and a function. A message that is not deleted is received
// again after it becomes visible. This delay begins together with the attempt, so rules must
// not add both.
func (t *sqsTemplate) policy(name string, q *value, c consumer) {
	p := t.d.policy(name, t.words, q, c.function, c.mapping)
	p.Backoff, p.unknown = retry.BackoffFixed, append(p.unknown, "attempt_timeout")
	hidden, known := p.seconds("initial_delay", q.get(t.visibility), sqsVisibility)
	p.MaxDelay = p.InitialDelay
	if !known {
		p.unknown = append(p.unknown, "max_delay")
	}
	p.seconds("timeout", q.get(t.retention), sqsRetention)
	p.receives(cmp.Or(q.get(t.redrive), t.redrives[name]))
	if c.function == nil {
		return
	}
	limit := c.function.get(t.timeout)
	if limit == nil {
		limit = c.defaults.get("Timeout")
	}
	if runs, ok := p.seconds("attempt_timeout", limit, lambdaTimeout); known && ok {
		t.fits(q, c, limit, hidden, runs)
	}
}

// fits reports a function that may run for longer than its messages are hidden.
func (t *sqsTemplate) fits(q *value, c consumer, limit *value, hidden, runs time.Duration) {
	place := q.get(t.visibility)
	for _, v := range []*value{limit, q, c.mapping} {
		if place == nil {
			place = v
		}
	}
	if runs > hidden {
		place.mistake("P401", "%s %s of the function exceeds %s %s: Lambda refuses the mapping. Raise %[3]s to 6 times %[1]s",
			t.timeout, duration.Format(runs), t.visibility, duration.Format(hidden))
		return
	}
	size := c.mapping.get(t.batch)
	if size != nil && size.n.Text == "1" { // which no window delays
		size.skip()
		c.mapping.get(t.window).skip()
		return
	}
	size.skip()
	if window, ok := c.mapping.get(t.window).seconds(); ok && window > hidden-runs {
		place.warn("P401", "%s %s and %s %s exceed %s %s, so messages may be received again meanwhile: raise %[5]s",
			t.window, duration.Format(window), t.timeout, duration.Format(runs), t.visibility, duration.Format(hidden))
	}
}

// seconds reads a number of seconds into a field of a policy. If the number is absent, the
// default is used.
func (p *Policy) seconds(field rules.Field, v *value, byDefault time.Duration) (d time.Duration, known bool) {
	d, known = byDefault, true
	if v != nil {
		if d, known = v.seconds(); !known {
			d = byDefault
			p.unknown = append(p.unknown, field)
		}
	}
	p.setDuration(field, d, v)
	return d, known
}

// seconds returns a number of seconds. It returns false if the number is absent or known only
// at deployment.
func (v *value) seconds() (time.Duration, bool) {
	if v.isDeployed() {
		return 0, false
	}
	return v.duration(in(time.Second))
}

// maxReceiveCount matches the setting in the text of a redrive policy, which is JSON or a call
// of jsonencode.
var maxReceiveCount = regexp.MustCompile(`\bmaxReceiveCount"?\s*[:=]\s*"?(\d{1,9})\b`)

// sqsReceives is the maximum of maxReceiveCount.
const sqsReceives = 1000

// sqsRefuses returns the message for a maxReceiveCount that is out of range.
func sqsRefuses(n int) string {
	return fmt.Sprintf("SQS refuses maxReceiveCount %d: write 1 to %d", n, sqsReceives)
}

// receives reads how often a message is received. Without a dead-letter queue, a message is
// received until its retention ends.
func (p *Policy) receives(redrive *value) {
	p.MaxAttempts = retry.Unlimited
	if redrive == nil {
		return
	}
	count := redrive.get("maxReceiveCount")
	redrive.get("deadLetterTargetArn").skip()
	if m := maxReceiveCount.FindStringSubmatch(redrive.n.Text); count == nil && m != nil {
		redrive.done = true
		p.from("max_attempts", redrive)
		if p.MaxAttempts, _ = strconv.Atoi(m[1]); p.MaxAttempts < 1 || p.MaxAttempts > sqsReceives {
			redrive.d.problem(redrive.n.Span, "P102", rules.Error, sqsRefuses(p.MaxAttempts))
			p.MaxAttempts = sqsReceives
			p.unknown = append(p.unknown, "max_attempts")
		}
		return
	}
	switch {
	case count == nil && redrive.n.IsMap():
		redrive.lose("without maxReceiveCount it is not known how often a message is received")
	case count == nil:
		redrive.lose("the value is known at run time only")
	case !count.isDeployed() && p.attempts(count, 0):
		if p.MaxAttempts > sqsReceives {
			count.mistake("P102", "%s", sqsRefuses(p.MaxAttempts))
		}
		return
	}
	p.unknown = append(p.unknown, "max_attempts")
}
