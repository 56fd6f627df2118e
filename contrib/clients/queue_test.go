package clients

import (
	"github.com/IBM/sarama"
	"github.com/go-zookeeper/zk"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
)

// queueClients are clients of queues, and of services that coordinate others.
func queueClients() []client {
	return []client{
		{"nats", []failure{
			{"ErrTimeout", transient, nats.ErrTimeout},
			{"ErrNoResponders", transient, nats.ErrNoResponders},
			{"ErrAuthorization", permanent, nats.ErrAuthorization},
			{"ErrMaxPayload", permanent, nats.ErrMaxPayload},
			{"ErrDisconnected", transient, nats.ErrDisconnected},
			{"js 404", permanent, &jetstream.APIError{Code: 404, ErrorCode: jetstream.JSErrCodeStreamNotFound}},
			{"js 503", transient, &nats.APIError{Code: 503, ErrorCode: nats.JSErrCodeInsufficientResourcesErr}},
		}},
		{"amqp091", []failure{
			{"404 no queue", permanent, &amqp.Error{Code: amqp.NotFound, Reason: "NOT_FOUND - no queue 'x'", Recover: true,
				Server: true}},
			{"403", permanent, &amqp.Error{Code: amqp.AccessRefused, Reason: "ACCESS_REFUSED", Server: true}},
			{"320 forced", transient, &amqp.Error{Code: amqp.ConnectionForced, Reason: "CONNECTION_FORCED", Server: true}},
			{"504 ErrClosed", transient, amqp.ErrClosed},
		}},
		{"sarama", []failure{
			{"LeaderNotAvailable", transient, sarama.ErrLeaderNotAvailable},
			{"MessageSizeTooLarge", permanent, sarama.ErrMessageSizeTooLarge},
			{"TopicAuthorizationFailed", permanent, sarama.ErrTopicAuthorizationFailed},
			{"OutOfBrokers", transient, sarama.ErrOutOfBrokers},
			{"ThrottlingQuota", throttled, sarama.ErrThrottlingQuotaExceeded},
		}},
		{"kafka-go", []failure{
			{"LeaderNotAvailable", transient, kafka.LeaderNotAvailable},
			{"TopicAuthorizationFailed", permanent, kafka.TopicAuthorizationFailed},
			{"MessageSizeTooLarge", permanent, kafka.MessageSizeTooLarge},
			{"RequestTimedOut", transient, kafka.RequestTimedOut},
			{"Throttling", throttled, kafka.ThrottlingQuotaExceeded},
		}},
		{"franz-go", []failure{
			{"LeaderNotAvailable", transient, kerr.LeaderNotAvailable},
			{"TopicAuthorizationFailed", permanent, kerr.TopicAuthorizationFailed},
			{"MessageTooLarge", permanent, kerr.MessageTooLarge},
			{"Throttling", throttled, kerr.ThrottlingQuotaExceeded},
		}},
		{"etcd v3", []failure{
			{"key not provided", permanent, rpctypes.ErrEmptyKey},
			{"no leader", transient, rpctypes.ErrNoLeader},
			{"too many requests", throttled, rpctypes.ErrTooManyRequests},
			{"permission denied", permanent, rpctypes.ErrPermissionDenied},
			{"compacted", permanent, rpctypes.ErrCompacted},
		}},
		{"zookeeper", []failure{
			{"ErrNoNode", permanent, zk.ErrNoNode},
			{"ErrConnectionClosed", transient, zk.ErrConnectionClosed},
			{"ErrBadVersion", conflict, zk.ErrBadVersion},
			{"ErrSessionMoved", transient, zk.ErrSessionMoved},
			{"ErrAuthFailed", permanent, zk.ErrAuthFailed},
		}},
		{"temporal", []failure{
			{"NotFound", permanent, serviceerror.NewNotFound("m")},
			{"Unavailable", transient, serviceerror.NewUnavailable("m")},
			{"ResourceExhausted", throttled, serviceerror.NewResourceExhausted(enums.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT, "m")},
			{"InvalidArgument", permanent, serviceerror.NewInvalidArgument("m")},
		}},
	}
}
