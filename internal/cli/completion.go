package cli

import (
	"flag"
	"io"
	"strings"
	"text/template"
)

// completion prints the completion script for a shell.
func (p *Program) completion(args []string, stdout, stderr io.Writer) int {
	shells := map[string]*template.Template{"bash": bash, "zsh": zsh, "fish": fish}
	if len(args) != 1 || shells[args[0]] == nil {
		return p.UsageError(stderr, "completion takes bash, zsh or fish: %s completion bash", p.Name)
	}
	if err := shells[args[0]].Execute(stdout, p.completions()); err != nil {
		return p.UsageError(stderr, "%v", err)
	}
	return OK
}

// A commandData describes one command for the scripts.
type commandData struct {
	Name, Short string
	Flags       []flagData
	Words       []string
}

// A flagData describes one flag for the scripts.
type flagData struct {
	Name, Usage string
	Value       bool     // a value follows as the next word
	Choices     []string // the possible values; empty: any
}

// FlagNames returns the flags as they are written.
func (c commandData) FlagNames() string {
	var names []string
	for _, f := range c.Flags {
		names = append(names, "-"+f.Name)
	}
	return strings.Join(names, " ")
}

// Fish returns the options of fish's complete for the value of the flag.
func (f flagData) Fish() string {
	switch {
	case len(f.Choices) > 0:
		return " -x -a '" + strings.Join(f.Choices, " ") + "'"
	case f.Value:
		return " -r"
	}
	return ""
}

// completions returns the data of the scripts.
func (p *Program) completions() any {
	var list []commandData
	choices := map[string][]string{}
	for _, c := range append([]*Command{p.Main}, p.all()...) {
		one := commandData{Name: c.Name, Short: c.Short}
		if c.Words != nil {
			one.Words = c.Words()
		}
		flags, _ := c.flags(p)
		flags.VisitAll(func(f *flag.Flag) {
			value, usage := flag.UnquoteUsage(f)
			flag := flagData{Name: f.Name, Usage: usage, Value: value != "" && f.DefValue != "true"}
			if v, ok := f.Value.(interface{ Choices() []string }); ok {
				flag.Choices = v.Choices()
				choices["-"+f.Name] = flag.Choices
			}
			one.Flags = append(one.Flags, flag)
		})
		list = append(list, one)
	}
	return struct {
		Name     string
		Main     commandData
		Commands []commandData
		Choices  map[string][]string // of flags, which mean the same in all commands
	}{p.Name, list[0], list[1:], choices}
}

var functions = template.FuncMap{
	"join": strings.Join,
	// quote quotes for all three shells: a text in single quotes, without any.
	"quote": func(s string) string { return "'" + strings.ReplaceAll(s, "'", "’") + "'" },
	// described is a word with its description, as zsh separates them.
	"described": func(word, text string) string {
		return "'" + word + ":" + strings.NewReplacer("'", "’", ":", "\\:").Replace(text) + "'"
	},
}

func script(name, text string) *template.Template {
	return template.Must(template.New(name).Funcs(functions).Parse(text))
}

var bash = script("bash", `# bash completion for {{.Name}}: source <({{.Name}} completion bash)
_{{.Name}}() {
	local cur=${COMP_WORDS[COMP_CWORD]} words=
	case ${COMP_WORDS[COMP_CWORD-1]} in
{{- range $flag, $words := .Choices}}
	{{$flag}}) COMPREPLY=($(compgen -W "{{join $words " "}}" -- "$cur")); return ;;
{{- end}}
	esac
	case ${COMP_WORDS[1]} in
{{- range .Commands}}
	{{.Name}}) words="{{.FlagNames}} {{join .Words " "}}" ;;
{{- end}}
	*) words="{{.Main.FlagNames}}" ;;
	esac
	if [[ $COMP_CWORD -eq 1 ]]; then
		words="{{range .Commands}}{{.Name}} {{end}}{{.Main.FlagNames}}"
	fi
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
	if [[ $cur != -* ]]; then
		COMPREPLY+=($(compgen -f -- "$cur"))
	fi
}
complete -o filenames -F _{{.Name}} {{.Name}}
`)

var zsh = script("zsh", `#compdef {{.Name}}
# zsh completion for {{.Name}}: {{.Name}} completion zsh > "${fpath[1]}/_{{.Name}}"
_{{.Name}}() {
	local -a commands flags
	case $words[CURRENT-1] in
{{- range $flag, $words := .Choices}}
	{{$flag}}) compadd -- {{join $words " "}}; return ;;
{{- end}}
	esac
	commands=({{range .Commands}}
		{{described .Name .Short}}{{end}}
	)
	case $words[2] in
{{- range .Commands}}
	{{.Name}})
		flags=({{range .Flags}}{{described (print "-" .Name) .Usage}} {{end}})
{{- if .Words}}
		compadd -- {{join .Words " "}}
{{- end}} ;;
{{- end}}
	*) flags=({{range .Main.Flags}}{{described (print "-" .Name) .Usage}} {{end}}) ;;
	esac
	if (( CURRENT == 2 )); then
		_describe command commands
	fi
	_describe flag flags
	_files
}
compdef _{{.Name}} {{.Name}}
`)

var fish = script("fish", `# fish completion for {{.Name}}: {{.Name}} completion fish | source
{{- $program := .Name}}
{{- range .Commands}}
complete -c {{$program}} -n __fish_use_subcommand -a {{.Name}} -d {{quote .Short}}
{{- $command := .Name}}
{{- range .Flags}}
complete -c {{$program}} -n '__fish_seen_subcommand_from {{$command}}' -o {{.Name}} -d {{quote .Usage}}{{.Fish}}
{{- end}}
{{- if .Words}}
complete -c {{$program}} -n '__fish_seen_subcommand_from {{$command}}' -a '{{join .Words " "}}'
{{- end}}
{{- end}}
{{- range .Main.Flags}}
complete -c {{$program}} -n __fish_use_subcommand -o {{.Name}} -d {{quote .Usage}}{{.Fish}}
{{- end}}
`)
