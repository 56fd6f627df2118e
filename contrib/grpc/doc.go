// Package grpcretry shows what retrygen makes of a gRPC client: the interface
// that protoc-gen-go-grpc generates is bound as it is, and error classes name
// status codes. Package retry knows nothing of gRPC; what does is generated
// here.
package grpcretry

//go:generate go tool retrygen .
