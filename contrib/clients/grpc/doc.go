// Package grpcretry is an example of retries for a gRPC client. retry.yaml binds
// the interface that protoc-gen-go-grpc generates, and its error classes name
// status codes. Package retry does not import gRPC, but the generated code does.
package grpcretry

//go:generate go tool retrygen .
