module github.com/retrygen/retrygen/contrib/golangci

go 1.26.0

require (
	github.com/golangci/plugin-module-register v0.1.2
	github.com/retrygen/retrygen v0.0.0
	golang.org/x/tools v0.52.0
)

require (
	github.com/santhosh-tekuri/jsonschema/v5 v5.3.1 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/retrygen/retrygen => ../..
