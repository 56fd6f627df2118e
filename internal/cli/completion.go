package cli

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
)

// completion prints the completion script for a shell.
func (p *Program) completion(args []string, stdout, stderr io.Writer) int {
	if len(args) > 1 && args[0] == "words" {
		p.words(args[1:], stdout)
		return OK
	}
	shells := map[string]*template.Template{"bash": bash, "zsh": zsh, "fish": fish}
	if len(args) != 1 || shells[args[0]] == nil {
		return p.UsageError(stderr, "completion takes bash, zsh or fish: %s completion bash", p.Name)
	}
	if err := shells[args[0]].Execute(stdout, p.completions()); err != nil {
		return p.UsageError(stderr, "%v", err)
	}
	return OK
}

// words prints the possible forms of the last of some arguments, each on a line, for
// the scripts.
func (p *Program) words(args []string, stdout io.Writer) {
	last := len(args) - 1
	c, rest := p.find(args[:last])
	if c == nil || c.Complete == nil {
		return
	}
	flags, _ := c.flags(p)
	if flags.Parse(rest) != nil {
		return
	}
	for _, word := range c.Complete(flags, flags.Args(), args[last]) {
		if strings.HasPrefix(word, args[last]) {
			fmt.Fprintln(stdout, word)
		}
	}
}

// A commandData describes one command for the scripts.
type commandData struct {
	Name, Short string
	Flags       []flagData
	Words       []string
	Dynamic     bool // the program completes the arguments
}

// First returns the first word of the name.
func (c commandData) First() string { return strings.Fields(c.Name)[0] }

// Second returns the second word of the name, or "".
func (c commandData) Second() string {
	_, second, _ := strings.Cut(c.Name, " ")
	return second
}

// Fish returns the condition of fish's complete under which the command was typed.
func (c commandData) Fish() string {
	condition := "__fish_seen_subcommand_from " + c.First()
	if c.Second() != "" {
		condition += "; and __fish_seen_subcommand_from " + c.Second()
	}
	return condition
}

// A groupData describes the commands with the same first word.
type groupData struct {
	First    string
	Commands []commandData
}

// Seconds returns the second words of the commands.
func (g groupData) Seconds() string {
	var words []string
	for _, c := range g.Commands {
		words = append(words, c.Second())
	}
	return strings.Join(words, " ")
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
		one := commandData{Name: c.Name, Short: c.Short, Dynamic: c.Complete != nil}
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
	data := struct {
		Name     string
		Main     commandData
		Commands []commandData
		Groups   []groupData
		Single   []commandData       // the commands whose names have one word
		Choices  map[string][]string // of flags, which mean the same in all commands
	}{Name: p.Name, Main: list[0], Commands: list[1:], Choices: choices}
	// Two words win over one.
	slices.SortStableFunc(data.Commands, func(a, b commandData) int {
		return strings.Count(b.Name, " ") - strings.Count(a.Name, " ")
	})
	for _, c := range data.Commands {
		if c.Second() == "" {
			data.Single = append(data.Single, c)
			continue
		}
		i := slices.IndexFunc(data.Groups, func(g groupData) bool { return g.First == c.First() })
		if i < 0 {
			i = len(data.Groups)
			data.Groups = append(data.Groups, groupData{First: c.First()})
		}
		data.Groups[i].Commands = append(data.Groups[i].Commands, c)
	}
	return data
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
	local cur=${COMP_WORDS[COMP_CWORD]} words= dynamic=
	case ${COMP_WORDS[COMP_CWORD-1]} in
{{- range $flag, $words := .Choices}}
	{{$flag}}) COMPREPLY=($(compgen -W "{{join $words " "}}" -- "$cur")); return ;;
{{- end}}
	esac
	case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
{{- range .Commands}}
	"{{.Name}}"{{if not .Second}}" "*{{end}}) words="{{.FlagNames}} {{join .Words " "}}"{{if .Dynamic}} dynamic=1{{end}} ;;
{{- end}}
	*) words="{{.Main.FlagNames}}" ;;
	esac
	if [[ $COMP_CWORD -eq 1 ]]; then
		words="{{range .Single}}{{.Name}} {{end}}{{range .Groups}}{{.First}} {{end}}{{.Main.FlagNames}}"
	fi
{{- range .Groups}}
	if [[ $COMP_CWORD -eq 2 && ${COMP_WORDS[1]} == {{.First}} ]]; then
		words+=" {{.Seconds}}"
	fi
{{- end}}
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
	if [[ $cur != -* ]]; then
		COMPREPLY+=($(compgen -f -- "$cur"))
	fi
	if [[ $dynamic ]]; then
		# The words of the line, also those with colons, at which bash divides them.
		local line=${COMP_LINE:0:COMP_POINT} typed word
		read -ra typed <<<"$line"
		[[ $line == *" " ]] && typed+=("")
		word=${typed[${#typed[@]}-1]}
		local before=${word%"${word##*:}"}
		while read -r word; do
			COMPREPLY+=("${word#"$before"}")
		done < <("${typed[@]:0:1}" completion -- words "${typed[@]:1}" 2>/dev/null)
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
	commands=({{range .Single}}
		{{described .Name .Short}}{{end}}{{range .Groups}}
		{{described .First .Seconds}}{{end}}
	)
	case "$words[2] $words[3]" in
{{- range .Commands}}
	"{{.Name}}"{{if not .Second}}" "*{{end}})
		flags=({{range .Flags}}{{described (print "-" .Name) .Usage}} {{end}})
{{- if .Words}}
		compadd -- {{join .Words " "}}
{{- end}}
{{- if .Dynamic}}
		compadd -- ${(f)"$($words[1] completion -- words "${(@)words[2,CURRENT]}" 2>/dev/null)"}
{{- end}} ;;
{{- end}}
	*) flags=({{range .Main.Flags}}{{described (print "-" .Name) .Usage}} {{end}}) ;;
	esac
	if (( CURRENT == 2 )); then
		_describe command commands
	fi
{{- range .Groups}}
	if (( CURRENT == 3 )) && [[ $words[2] == {{.First}} ]]; then
		commands=({{range .Commands}}
			{{described .Second .Short}}{{end}}
		)
		_describe command commands
	fi
{{- end}}
	_describe flag flags
	_files
}
compdef _{{.Name}} {{.Name}}
`)

var fish = script("fish", `# fish completion for {{.Name}}: {{.Name}} completion fish | source
{{- $program := .Name}}
{{- range .Single}}
complete -c {{$program}} -n __fish_use_subcommand -a {{.Name}} -d {{quote .Short}}
{{- end}}
{{- range .Groups}}
complete -c {{$program}} -n __fish_use_subcommand -a {{.First}} -d {{quote .Seconds}}
{{- $group := .}}
{{- range .Commands}}
complete -c {{$program}} -n '__fish_seen_subcommand_from {{.First}}; and not __fish_seen_subcommand_from {{$group.Seconds}}' -f -a {{.Second}} -d {{quote .Short}}
{{- end}}
{{- end}}
{{- range .Commands}}
{{- $command := .}}
{{- range .Flags}}
complete -c {{$program}} -n '{{$command.Fish}}' -o {{.Name}} -d {{quote .Usage}}{{.Fish}}
{{- end}}
{{- if .Words}}
complete -c {{$program}} -n '{{$command.Fish}}' -a '{{join .Words " "}}'
{{- end}}
{{- if .Dynamic}}
complete -c {{$program}} -n '{{$command.Fish}}' -a '({{$program}} completion -- words (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
{{- end}}
{{- end}}
{{- range .Main.Flags}}
complete -c {{$program}} -n __fish_use_subcommand -o {{.Name}} -d {{quote .Usage}}{{.Fish}}
{{- end}}
`)
