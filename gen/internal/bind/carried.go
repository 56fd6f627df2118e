package bind

import (
	"go/types"
	"regexp"
	"slices"
)

// Carried describes how a failed attempt changes the state of the receiver. A second attempt
// then loses or repeats data, or fails with an error that hides the first one.
type Carried uint8

const (
	Stateless Carried = iota // no change is known
	// Consumed: the bytes, items or messages that the attempt has read are lost. The receiver
	// is a reader, a decoder, a cursor or a stream.
	Consumed
	// Partly: the next attempt writes again what this one has written. The receiver is a
	// writer, an encoder or a stream.
	Partly
	// Transaction: a transaction that has failed or ended cannot continue.
	Transaction
	// Once: the receiver, such as a process or an SSH session, can be started only once.
	Once
	// Queue: the attempt empties a queue of commands, so that the next attempt executes none of
	// them.
	Queue
)

// carried returns how a failed call of m changes the state of the receiver. A method that takes
// a context makes an independent request, unless it is part of a transaction.
func (r recvType) carried(m *types.Func) Carried {
	if r.typ == nil {
		return Stateless
	}
	name, t := m.Name(), r.typ
	switch {
	case isPartOfTransaction(t, name):
		return Transaction
	case r.queue && isExecution(m):
		return Queue
	case takesContext(m.Signature()) || !fails(m.Signature()):
		return Stateless
	case runs.MatchString(name) && runsOnce(t):
		return Once
	case (name == "Next" || name == "Scan") && isCursor(t):
		return Consumed
	case step.MatchString(name) && (isCursor(t) || isConnection(t) || holds(t, "Read")):
		return Consumed
	case receive.MatchString(name) && receives(t):
		return Consumed
	case send.MatchString(name) && receives(t):
		return Partly
	case read.MatchString(name) && isPart(t, m, "Read"):
		return Consumed
	case write.MatchString(name) && isPart(t, m, "Write"):
		return Partly
	}
	return Stateless
}

// The names of methods that change the state of a receiver. The methods of io.ReaderAt and
// io.WriterAt do not change it.
var (
	read  = regexp.MustCompile(`^(Read|Decode)(\P{Ll}|dir|$)`)
	write = regexp.MustCompile(`^(Write|Encode)(\P{Ll}|$)`)
	send  = regexp.MustCompile(`^Send(\P{Ll}|$)`)
	step  = regexp.MustCompile(`^(Next(Reader|Writer|Part|ResultSet)|Token|RawToken)$`)
	runs  = regexp.MustCompile(`^(Start|Run|Wait|Output|CombinedOutput|Shell)$`)
)

// isPart reports whether a method reads or writes a part of t. like is Read or Write. This is
// so if t has the corresponding method of io.Reader or io.Writer, has a method for deadlines,
// or reads from or writes to a value that it holds. It is not so if a string argument of a read
// names what to read, or if a string argument of a write, such as a file name, precedes the
// content.
func isPart(t types.Type, m *types.Func, like string) bool {
	switch m.Name() {
	case "ReadAt", "WriteAt", "ReadFrom", "WriteTo": // the types of the arguments are reported instead
		return false
	}
	for i := range m.Signature().Params().Len() {
		isString := types.Identical(m.Signature().Params().At(i).Type().Underlying(), types.Typ[types.String])
		if isString && (like == "Read" || i < m.Signature().Params().Len()-1) {
			return false
		}
	}
	return moves(t, like) || isConnection(t) || holds(t, like)
}

// isConnection reports whether t has its own deadlines.
func isConnection(t types.Type) bool {
	return slices.ContainsFunc([]string{"SetDeadline", "SetReadDeadline", "SetWriteDeadline"},
		func(name string) bool { return methodOf(t, name) != nil })
}

// holds reports whether a struct, or a pointer to one, has a field that can be read or written.
// Logs do not count.
func holds(t types.Type, method string) bool {
	s, ok := deref(types.Unalias(t)).Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for f := range s.Fields() {
		if moves(addressed(f.Type()), method) && !logged.MatchString(f.Name()) {
			return true
		}
	}
	return false
}

// The methods that end a transaction, and those that begin one in a session.
var (
	ends   = regexp.MustCompile(`^(Commit|Rollback|Abort|Discard)(Transaction|Tx|Txn)?$`)
	begins = regexp.MustCompile(`^(Begin|Start)(Transaction|Tx|Txn)?$`)

	commits = [...]string{"Commit", "CommitTransaction", "CommitTx", "CommitTxn"}
)

// isPartOfTransaction reports whether a method of t belongs to a transaction: any
// method of a transaction, or the methods of a session that end one.
func isPartOfTransaction(t types.Type, name string) bool {
	if !slices.ContainsFunc(commits[:], func(name string) bool { return methodOf(t, name) != nil }) {
		return false
	}
	ended, undone, session := false, false, false
	for _, m := range methodsOf(t) {
		params := m.Signature().Params()
		alone := params.Len() == 0 || params.Len() == 1 && takesContext(m.Signature())
		switch word := m.Name(); {
		case ends.MatchString(word) && alone && word[0] == 'C':
			ended = ended || fails(m.Signature())
		case ends.MatchString(word) && alone:
			undone = true
		case begins.MatchString(word):
			session = session || fails(m.Signature()) && m.Signature().Results().Len() == 1
		}
	}
	return ended && undone && (!session || ends.MatchString(name))
}

// runsOnce reports whether t is a process, or a session with one, which can be started and
// waited for.
func runsOnce(t types.Type) bool {
	start, wait := methodOf(t, "Start"), methodOf(t, "Wait")
	return start != nil && wait != nil && fails(start) && fails(wait) && start.Results().Len() == 1 &&
		wait.Params().Len() == 0
}

// isExecution reports whether a method of a queue executes its commands and returns them.
func isExecution(m *types.Func) bool {
	if !fails(m.Signature()) {
		return false
	}
	list, ok := m.Signature().Results().At(0).Type().Underlying().(*types.Slice)
	return ok && hasErr(list.Elem())
}
