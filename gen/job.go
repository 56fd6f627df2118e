package gen

import (
	"strings"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/gen/internal/emit"
)

// job returns the name of the function that registers the durable step of w as a job, or
// "" if there is none: its function does not fit, or the package declares the name itself.
func (r *resolver) job(w *emit.Wrapper) string {
	t := w.Target
	if w.Use == nil || !isJob(t, w.Use) {
		return ""
	}
	switch {
	case t.Kind == bind.Function:
		return r.free(emit.JobName(t.Name))
	case t.Pkg != "":
		return r.free(emit.JobName(t.Name + t.Func.Name))
	}
	name := emit.JobName(t.Func.Name)
	full := t.Name + "." + name
	if _, taken := r.unit.pkg.HasMember(t.Name, name); taken || r.names[full] != "" {
		return ""
	}
	r.names[full] = "the job of " + w.Use.Step.Name
	return name
}

// free claims a package-level name, or returns "" if it is taken.
func (r *resolver) free(name string) string {
	if _, taken := r.unit.pkg.Clash(name); taken || r.names[name] != "" {
		return ""
	}
	r.names[name] = "a job"
	return name
}

// isJob reports whether a run can be one call of a function: its input is the one
// parameter after the context, its result the one before the error, and nothing follows
// the step. The name of the step is the name of a handler then.
func isJob(t *bind.Target, use *emit.Use) bool {
	fn := t.Func
	return use.Step != nil && use.Fallback == "" && len(t.TypeParams) == 0 && isHandlerName(use.Step.Name) &&
		fn.Ctx == 0 && fn.CtxType == "" && len(fn.Params) == 2 && !fn.Variadic && fn.Params[1].NoRecord() == "" &&
		fn.HasError && len(fn.Results) <= 2
}

// isHandlerName reports whether durable.Handle accepts a name.
func isHandlerName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		return !letter && !('0' <= r && r <= '9') && !strings.ContainsRune(".-_", r)
	})
}
