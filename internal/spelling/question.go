package spelling

import "regexp"

// Question returns the question with which a message suggests a word.
func Question(word string) string { return "did you mean " + word + "?" }

var question = regexp.MustCompile(`did you mean ([^\s?]+)\?`)

// Suggested returns the word that a message suggests by a [Question], or "".
func Suggested(message string) string {
	if m := question.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}
