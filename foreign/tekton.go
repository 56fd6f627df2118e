package foreign

import (
	"maps"
	"slices"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// tektonKind is the kind for the retries of tasks in Tekton. Sources: tektoncd/pipeline,
// docs/pipelineruns.md for the timeouts, pkg/apis/pipeline/v1/pipelinerun_validation.go for
// what is refused, and tektoncd/community, teps/0123, which says that retries begin
// immediately.
var tektonKind = Kind{
	Name: "tekton", Title: "Tekton pipeline",
	recognize: func(doc *syntax.Node) bool {
		return isResource(doc, "tekton.dev", "Pipeline", "PipelineRun", "TaskRun") &&
			hasPart(at(doc, "spec"), hasTektonRetries)
	},
	decode: decodeTekton,
}

var tektonWords = words{
	countsRetries: "retries", "attempt_timeout": "timeout", "timeout": "timeouts.pipeline",
	"initial_delay": fixed + "the delay",
}

var tektonTaskWords = words{
	countsRetries: "retries", "attempt_timeout": "timeout", "timeout": "timeouts.tasks",
	"initial_delay": fixed + "the delay",
}

// hasTektonRetries reports whether a map is a task with retries.
func hasTektonRetries(n *syntax.Node) bool { return n.Written("retries") != nil }

func decodeTekton(d *decoder, doc *value) {
	name := resource(doc)
	spec := doc.get("spec")
	switch at(doc.n, "kind").Text {
	case "TaskRun":
		spec.skipOthers("retries", "timeout")
		d.tektonTask(name, spec, nil, tektonWords)
	case "Pipeline":
		d.tektonTasks(spec, nil, nil, tektonWords)
	default:
		timeouts := spec.get("timeouts")
		total, tasks, finally := timeouts.get("pipeline"), timeouts.get("tasks"), timeouts.get("finally")
		words := tektonWords
		if old := spec.get("timeout"); total == nil && old != nil { // in v1beta1
			total, words = old, maps.Clone(words)
			words["timeout"] = old.path
		}
		if total == nil && !d.partial {
			tektonDefault(tasks, finally)
		}
		tektonOrder(total, tasks, finally)
		if tasks != nil {
			words = tektonTaskWords
		} else {
			tasks = total
		}
		spec.get("taskRunSpecs").skip()
		d.tektonTasks(spec.get("pipelineSpec"), tasks, total, words)
		if total == nil {
			d.tektonRuns()
		}
		finally.skip()
		spec.skipOthers("timeouts", "pipelineSpec")
	}
}

// tektonRun is the limit of a run that does not set timeouts.pipeline, unless the installation
// has another default.
const tektonRun = time.Hour

// tektonDefault reports timeouts of a run that exceed the default of timeouts.pipeline.
func tektonDefault(parts ...*value) {
	for _, part := range parts {
		if limit, ok := part.duration(tektonDuration); ok && limit > tektonRun {
			part.warn("P401", "%s %s exceeds the default of timeouts.pipeline, %s: Tekton refuses the run, unless "+
				"default-timeout-minutes is longer. Write timeouts.pipeline",
				part.path, duration.Format(limit), duration.Format(tektonRun))
		}
	}
}

// tektonRuns sets the default for the policies of a run without timeouts.pipeline. If something
// does not fit into this time, the finding has severity Info, because an installation may have
// another default.
func (d *decoder) tektonRuns() {
	for _, p := range d.file.Policies[d.first:] {
		if p.Timeout == 0 && p.written("timeout") == nil {
			p.Timeout = tektonRun
			p.remarks = append(p.remarks, "P401", "P405")
		}
	}
}

// tektonOrder reports timeouts of a run that Tekton refuses.
func tektonOrder(total, tasks, finally *value) {
	all, _ := total.duration(tektonDuration)
	var sum time.Duration
	for _, part := range []*value{tasks, finally} {
		limit, _ := part.duration(tektonDuration)
		switch {
		case all == 0: // there is no limit, or it is unknown
		case limit > all:
			part.mistake("P401", "%s %s exceeds %s %s: Tekton refuses the run", part.path, duration.Format(limit),
				total.path, duration.Format(all))
		case limit > all-sum:
			part.mistake("P401", "%s %s and %s %s together exceed %s %s: Tekton refuses the run", tasks.path,
				duration.Format(sum), part.path, duration.Format(limit), total.path, duration.Format(all))
		default:
			sum = limit
		}
	}
}

// tektonTasks converts the tasks of a pipeline. limit and total are the time limits of its
// tasks and of the entire run. Either may be nil.
func (d *decoder) tektonTasks(pipeline, limit, total *value, words words) {
	pipeline.skipOthers("tasks", "finally")
	for _, task := range pipeline.get("tasks").items() {
		task.skipOthers("retries", "timeout")
		d.tektonTask(at(task.n, "name").Text, task, limit, words)
	}
	for _, task := range pipeline.get("finally").items() {
		task.skipOthers("retries", "timeout")
		d.tektonTask(at(task.n, "name").Text, task, total, tektonWords)
	}
}

// tektonTask converts a task with retries. Its timeout limits each attempt.
func (d *decoder) tektonTask(name string, task, limit *value, words words) {
	retries := task.get("retries")
	if retries == nil {
		task.get("timeout").skip()
		return
	}
	p := d.policy(name, words, task)
	p.Backoff, p.InitialDelay, p.MaxDelay = retry.BackoffFixed, retry.None, retry.None
	p.remarks = append(p.remarks, "P204") // no field sets a delay, and a pod needs time to start
	if !p.attempts(retries, 1) && !slices.Contains(p.unknown, "max_attempts") {
		p.unknown = append(p.unknown, "max_attempts")
	}
	p.duration("attempt_timeout", task.get("timeout"), tektonDuration)
	p.duration("timeout", limit, tektonDuration)
}

// tektonDuration parses durations with units. 0 means no limit.
func tektonDuration(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	return ofGo(text)
}
