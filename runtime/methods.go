package retry

import "slices"

// readMethods records what methods of err prove that have the same meaning in all
// clients known to have them. It reads no fields, and none of these methods:
//
//   - Code() int: a status of HTTP in one client, 5 for SQLITE_BUSY and 0x1000 for
//     an overloaded Cassandra in others;
//   - Temporary() bool alone, Recover() bool and Status();
//   - RetryAfter() time.Duration, which no client has;
//   - the markers of Docker, as NotFound(), which errors.Is finds in its errors.
func (f *facts) readMethods(err error) {
	switch e := err.(type) {
	case interface{ ErrorCode() string }:
		f.readCode(e.ErrorCode())
	case interface {
		Code() string
		OrigErr() error
	}:
		f.readCode(e.Code())
	}
	if f.status >= 400 {
		return
	}
	switch e := err.(type) {
	case interface{ StatusCode() int }:
		f.readStatus(e.StatusCode())
	case interface{ HTTPStatusCode() int }:
		f.readStatus(e.HTTPStatusCode())
	case interface{ HTTPCode() int }:
		f.readStatus(e.HTTPCode())
	}
	if f.typed {
		return
	}
	switch e := err.(type) {
	case interface{ SQLState() string }:
		f.readSQLState(e.SQLState())
	case interface{ HasErrorLabel(label string) bool }:
		f.readLabels(e)
	case interface{ SafeToRetry() bool }:
		if e.SafeToRetry() {
			f.typed, f.network = true, true
		}
	case interface{ Retryable() bool }:
		f.readOpinion(e.Retryable())
	case interface{ RetryableError() bool }:
		f.readOpinion(e.RetryableError())
	case interface{ NonRetryable() bool }:
		if e.NonRetryable() {
			f.readOpinion(false)
		}
	case interface{ NonRetriable() }:
		f.readOpinion(false)
	}
}

// readStatus records an HTTP status. One below 400 belongs to classes of the policy
// that list it, but is no evidence: some clients return 0 or 200 for an error that
// is not of the server.
func (f *facts) readStatus(status int) {
	if 100 <= status && status <= 599 {
		f.status = status
		f.typed = f.typed || status >= 400
	}
}

// readOpinion records whether the client itself would repeat the call.
func (f *facts) readOpinion(retryable bool) {
	f.typed = true
	f.serverError = f.serverError || retryable
	f.fails = f.fails || !retryable
}

// readCode records a code of AWS if it is one of throttling.
func (f *facts) readCode(code string) {
	if slices.Contains(throttling[:], code) {
		f.typed, f.throttled = true, true
	}
}

// throttling lists the codes of throttling of AWS: DefaultThrottleErrorCodes of
// aws-sdk-go-v2, aws/retry/standard.go.
var throttling = [...]string{
	"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException", "TooManyRequestsException",
	"ProvisionedThroughputExceededException", "TransactionInProgressException", "RequestLimitExceeded",
	"BandwidthLimitExceeded", "LimitExceededException", "RequestThrottled", "SlowDown", "PriorRequestNotComplete",
	"EC2ThrottledException",
}

// readSQLState records a code of ISO/IEC 9075 and PostgreSQL (PostgreSQL
// documentation, appendix A). A conflict is recorded as the status 409: the
// transaction has to be repeated, not the statement.
func (f *facts) readSQLState(code string) {
	if len(code) != 5 || slices.Contains(generalStates[:], code[:2]) {
		return
	}
	f.typed = true
	switch code {
	case "40001", "40002", "40003", "40P01", "55P03": // serialization, deadlock, lock not available
		f.status = 409
		return
	case "08P01", "08004": // violation of the protocol, connection rejected
		f.fails = true
		return
	case "25006", // read-only transaction: the server was the primary until a failover
		"57P01", "57P02", "57P03", "57P05": // the server shuts down or starts, an idle session has ended
		f.serverError = true
		return
	}
	switch code[:2] {
	case "08": // connection
		f.network = true
	case "53", "58", "XX": // resources, system, internal
		f.serverError = true
	case "28": // authorization
		f.status = 401
	default:
		f.fails = true
	}
}

// generalStates are the classes of SQLSTATE that prove nothing: success, and
// general errors of drivers of ODBC.
var generalStates = [...]string{"00", "HY", "IM"}

// readLabels records the labels of an error of MongoDB (specifications of the
// drivers: retryable reads, retryable writes, transactions).
func (f *facts) readLabels(err interface{ HasErrorLabel(string) bool }) {
	for _, label := range transientLabels {
		if err.HasErrorLabel(label) {
			f.typed, f.network = true, true
			return
		}
	}
	for _, label := range conflictLabels {
		if err.HasErrorLabel(label) {
			f.typed, f.status = true, 409
			return
		}
	}
}

var (
	transientLabels = [...]string{
		"RetryableWriteError", "RetryableReadError", "NetworkError", "NetworkTimeoutError", "ExceededTimeLimitError",
	}
	conflictLabels = [...]string{"TransientTransactionError", "UnknownTransactionCommitResult"}
)
