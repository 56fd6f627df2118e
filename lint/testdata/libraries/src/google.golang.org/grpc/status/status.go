// Package status declares what the tests use of google.golang.org/grpc/status.
package status

import "google.golang.org/grpc/codes"

// Code returns the code of an error.
func Code(err error) codes.Code { return 0 }
