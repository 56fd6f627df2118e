package lsp

import "encoding/json"

// The parts of the Language Server Protocol 3.17 that the server uses:
// https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   string    `json:"uri"`
	Range textRange `json:"range"`
}

type initializeParams struct {
	Capabilities struct {
		General struct {
			PositionEncodings []string `json:"positionEncodings"`
		} `json:"general"`
		Workspace struct {
			DidChangeWatchedFiles struct {
				DynamicRegistration bool `json:"dynamicRegistration"`
			} `json:"didChangeWatchedFiles"`
		} `json:"workspace"`
		TextDocument struct {
			Formatting struct {
				DynamicRegistration bool `json:"dynamicRegistration"`
			} `json:"formatting"`
		} `json:"textDocument"`
	} `json:"capabilities"`
}

type initializeResult struct {
	Capabilities serverCapabilities `json:"capabilities"`
	ServerInfo   serverInfo         `json:"serverInfo"`
}

type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type serverCapabilities struct {
	PositionEncoding           string            `json:"positionEncoding"`
	TextDocumentSync           syncOptions       `json:"textDocumentSync"`
	CompletionProvider         completionOptions `json:"completionProvider"`
	HoverProvider              bool              `json:"hoverProvider"`
	DefinitionProvider         bool              `json:"definitionProvider"`
	CodeActionProvider         codeActionOptions `json:"codeActionProvider"`
	CodeLensProvider           struct{}          `json:"codeLensProvider"`
	DocumentFormattingProvider bool              `json:"documentFormattingProvider,omitempty"`
}

type syncOptions struct {
	OpenClose bool        `json:"openClose"`
	Change    int         `json:"change"` // 2: incremental
	Save      saveOptions `json:"save"`
}

type saveOptions struct {
	IncludeText bool `json:"includeText"`
}

type completionOptions struct {
	TriggerCharacters []string `json:"triggerCharacters"`
}

type codeActionOptions struct {
	CodeActionKinds []string `json:"codeActionKinds"`
}

// registration asks the editor for what the server cannot ask for in its capabilities.
type registration struct {
	Registrations []registered `json:"registrations"`
}

type registered struct {
	ID              string `json:"id"`
	Method          string `json:"method"`
	RegisterOptions any    `json:"registerOptions"`
}

type documentOptions struct {
	DocumentSelector []documentFilter `json:"documentSelector"`
}

type documentFilter struct {
	Pattern string `json:"pattern"`
}

type watchedPatterns struct {
	Watchers []watched `json:"watchers"`
}

type watched struct {
	GlobPattern string `json:"globPattern"`
}

type documentID struct {
	URI string `json:"uri"`
}

type documentParams struct {
	TextDocument documentID `json:"textDocument"`
}

type positionParams struct {
	TextDocument documentID `json:"textDocument"`
	Position     position   `json:"position"`
}

type didOpenParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
}

type didChangeParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
	} `json:"textDocument"`
	ContentChanges []contentChange `json:"contentChanges"`
}

type contentChange struct {
	Range *textRange `json:"range"` // nil: Text is the whole text
	Text  string     `json:"text"`
}

type watchedFilesParams struct {
	Changes []documentID `json:"changes"`
}

type publishDiagnosticsParams struct {
	URI         string       `json:"uri"`
	Version     int          `json:"version"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type diagnostic struct {
	Range           textRange        `json:"range"`
	Severity        int              `json:"severity"`
	Code            string           `json:"code,omitempty"`
	CodeDescription *codeDescription `json:"codeDescription,omitempty"`
	Source          string           `json:"source"`
	Message         string           `json:"message"`
}

type codeDescription struct {
	Href string `json:"href"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

type hoverResult struct {
	Contents markup    `json:"contents"`
	Range    textRange `json:"range"`
}

type completionItem struct {
	Label          string   `json:"label"`
	Kind           int      `json:"kind"`
	Detail         string   `json:"detail,omitempty"`
	Documentation  *markup  `json:"documentation,omitempty"`
	SortText       string   `json:"sortText"`
	FilterText     string   `json:"filterText,omitempty"` // Label if it is ""
	InsertTextMode int      `json:"insertTextMode"`       // 1: as is
	TextEdit       textEdit `json:"textEdit"`
}

type textEdit struct {
	Range   textRange `json:"range"`
	NewText string    `json:"newText"`
}

type codeActionParams struct {
	TextDocument documentID `json:"textDocument"`
	Range        textRange  `json:"range"`
	Context      struct {
		Only []string `json:"only"` // the kinds that are asked for; nil: all
	} `json:"context"`
}

type codeAction struct {
	Title       string        `json:"title"`
	Kind        string        `json:"kind"`
	Diagnostics []diagnostic  `json:"diagnostics,omitempty"`
	Edit        workspaceEdit `json:"edit"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}

type codeLens struct {
	Range   textRange `json:"range"`
	Command command   `json:"command"`
}

type command struct {
	Title   string `json:"title"`
	Command string `json:"command"`
}

type logMessageParams struct {
	Type    int    `json:"type"` // 2: warning
	Message string `json:"message"`
}

// decode returns the parameters of a request.
func decode[T any](params *json.RawMessage) (v T, err error) {
	if params != nil {
		err = json.Unmarshal(*params, &v)
	}
	return v, err
}
