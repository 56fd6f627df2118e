package sarif

// The part of SARIF 2.1.0 that this package writes, with the names of the standard.
// Lists are never null: an empty list means that nothing was found, null that no
// check was run.
type (
	document struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []run  `json:"runs"`
	}
	run struct {
		Tool       tool     `json:"tool"`
		ColumnKind string   `json:"columnKind"`
		Results    []result `json:"results"`
	}
	tool struct {
		Driver driver `json:"driver"`
	}
	driver struct {
		Name    string       `json:"name"`
		Version string       `json:"version,omitempty"`
		Rules   []descriptor `json:"rules"`
	}
	descriptor struct {
		ID               string   `json:"id"`
		ShortDescription *message `json:"shortDescription,omitempty"`
		Help             *message `json:"help,omitempty"`
	}
	message struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	result struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             message           `json:"message"`
		Locations           []location        `json:"locations"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
		Properties          map[string]string `json:"properties,omitempty"`
	}
	location struct {
		Physical physicalLocation `json:"physicalLocation"`
	}
	physicalLocation struct {
		Artifact artifactLocation `json:"artifactLocation"`
		Region   *region          `json:"region,omitempty"`
	}
	artifactLocation struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId,omitempty"`
	}
	region struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"` // the column after the last character
	}
)
