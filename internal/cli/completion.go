package cli

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
)

// completion prints the completion script for a shell. The scripts call the program
// for what can follow: only it knows where its flags and their values are.
func (p *Program) completion(args []string, stdout, stderr io.Writer) int {
	if len(args) > 1 && args[0] == "words" {
		p.complete(args[1:], stdout)
		return OK
	}
	shells := map[string]*template.Template{"bash": bash, "zsh": zsh, "fish": fish}
	if len(args) != 1 || shells[args[0]] == nil {
		return Fail(stderr, p.Name, fmt.Errorf("completion takes bash, zsh or fish: %s completion bash", p.Name))
	}
	if err := shells[args[0]].Execute(stdout, p); err != nil {
		return Fail(stderr, p.Name, err)
	}
	return OK
}

// A candidate is a word that can be typed, with its description.
type candidate struct{ word, text string }

// fileNames is the candidate for the name of any file, which the scripts know.
const fileNames = "<file>"

// complete prints the candidates for the last of some arguments, each on a line with a
// tab before its description.
func (p *Program) complete(args []string, stdout io.Writer) {
	last := len(args) - 1
	for _, c := range p.candidates(p.split(args[:last]), args[last]) {
		if c.word == fileNames || strings.HasPrefix(c.word, args[last]) {
			fmt.Fprintln(stdout, strings.TrimSuffix(c.word+"\t"+c.text, "\t"))
		}
	}
}

// candidates returns what can follow the arguments before the word prefix.
func (p *Program) candidates(before arguments, prefix string) []candidate {
	c, args := p.find(before.words)
	if c == nil {
		c, args = p.Main, before.words
	}
	args = append(args, before.literal...)
	flags, _ := c.flags(p)
	if before.literal == nil {
		if n := len(before.options); n > 0 && before.options[n-1].missing {
			return values(flags.Lookup(before.options[n-1].name), "")
		}
		if name, _, given := strings.Cut(prefix, "="); given && strings.HasPrefix(name, "-") {
			return values(flags.Lookup(strings.TrimLeft(name, "-")), name+"=")
		}
		if strings.HasPrefix(prefix, "-") {
			return flagCandidates(flags, strings.HasPrefix(prefix, "--"))
		}
	}
	list := p.nextWords(before.words)
	if c.Words != nil {
		list = append(list, candidatesOf(c.Words(), "")...)
	}
	if c.Complete != nil && p.set(c, flags, before.options) == nil && enter(flags) == nil {
		list = append(list, candidatesOf(c.Complete(flags, args, prefix), "")...)
	}
	if c.Files {
		list = append(list, candidate{fileNames, ""})
	}
	return list
}

// nextWords returns the words of commands that can follow some words.
func (p *Program) nextWords(words []string) (list []candidate) {
	for _, c := range p.all() {
		name := strings.Fields(c.Name)
		if len(name) <= len(words) || !slices.Equal(name[:len(words)], words) {
			continue
		}
		next := candidate{name[len(words)], c.Short}
		if len(name) > len(words)+1 { // the first word of a group
			var seconds []string
			for _, c := range p.group(next.word) {
				seconds = append(seconds, strings.Fields(c.Name)[1])
			}
			next.text = strings.Join(seconds, ", ")
		}
		if !slices.ContainsFunc(list, func(c candidate) bool { return c.word == next.word }) {
			list = append(list, next)
		}
	}
	return list
}

// flagCandidates returns the flags of a command, with one hyphen or two.
func flagCandidates(flags *flag.FlagSet, two bool) (list []candidate) {
	hyphens := "-"
	if two {
		hyphens = "--"
	}
	flags.VisitAll(func(f *flag.Flag) {
		_, usage := flag.UnquoteUsage(f)
		list = append(list, candidate{hyphens + f.Name, usage})
	})
	return list
}

// values returns the values of a flag, each after a prefix. f may be nil.
func values(f *flag.Flag, prefix string) []candidate {
	if f == nil {
		return nil
	}
	if v, ok := f.Value.(interface{ Choices() []string }); ok {
		return candidatesOf(v.Choices(), prefix)
	}
	return []candidate{{fileNames, ""}}
}

func candidatesOf(words []string, prefix string) (list []candidate) {
	for _, word := range words {
		list = append(list, candidate{prefix + word, ""})
	}
	return list
}

func script(name, text string) *template.Template {
	return template.Must(template.New(name).Parse(text))
}

var bash = script("bash", `# bash completion for {{.Name}}: source <({{.Name}} completion bash)
_{{.Name}}() {
	# The words of the line, also those with colons and =, at which bash divides them.
	local line=${COMP_LINE:0:COMP_POINT} typed word
	read -ra typed <<<"$line"
	[[ $line == *[[:space:]] ]] && typed+=("")
	local current=${typed[${#typed[@]}-1]}
	local before=${current%"${current##*[:=]}"}
	COMPREPLY=()
	while IFS=$'\t' read -r word _; do
		if [[ $word == "`+fileNames+`" ]]; then
			while IFS= read -r word; do
				COMPREPLY+=("$word")
			done < <(compgen -f -- "${current#"$before"}")
		else
			COMPREPLY+=("${word#"$before"}")
		fi
	done < <("${typed[@]:0:1}" completion -- words "${typed[@]:1}" 2>/dev/null)
}
complete -o filenames -F _{{.Name}} {{.Name}}
`)

var zsh = script("zsh", `#compdef {{.Name}}
# zsh completion for {{.Name}}: {{.Name}} completion zsh > "${fpath[1]}/_{{.Name}}"
_{{.Name}}() {
	local line files
	local -a list
	for line in ${(f)"$($words[1] completion -- words "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
		if [[ $line == "`+fileNames+`" ]]; then
			files=1
		else
			list+=("${${line//:/\\:}/$'\t'/:}")
		fi
	done
	_describe {{.Name}} list
	[[ -z $files ]] || _files
}
compdef _{{.Name}} {{.Name}}
`)

var fish = script("fish", `# fish completion for {{.Name}}: {{.Name}} completion fish | source
function __{{.Name}}_complete
	set -l current (commandline -ct)
	for line in ({{.Name}} completion -- words (commandline -opc)[2..-1] "$current" 2>/dev/null)
		if test "$line" = '`+fileNames+`'
			__fish_complete_path "$current"
		else
			echo $line
		end
	end
end
complete -c {{.Name}} -f -a '(__{{.Name}}_complete)'
`)
