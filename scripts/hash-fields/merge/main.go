// Command merge joins what `list` printed for one or more minors with a table that has others, and prints the table.
//
//	merge TABLE 36=v0.36.6/HASH=LIST…      TABLE may be missing; a minor that it has already is replaced
//
// A row that not all minors have ends in the minors that do: `28-`, `-34`, `35-35`. Where fields changed places, or came back, a
// field has more than one row, so that for every minor the rows that hold for it are its fields in their order.
package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

const head = `# The Go types of a pod template, as a dump prints them and JSON keys them. Made by scripts/hash-fields/generate; do not edit.
# The first row: each minor, the k8s.io/api that it was read from, and what a template with every field set hashes to there.
# A row ends in the minors that have it, if not all do. Key "." is a struct whose fields are keys of the struct that it is in.
`

type row struct {
	text   string
	minors []int
}

type block struct {
	title string
	rows  []row
}

func main() {
	if len(os.Args) < 2 {
		fail("usage: merge TABLE MINOR=VERSION/HASH=LIST...")
	}
	versions := map[int]string{}
	lists := map[int]map[string][]string{}
	if text, err := os.ReadFile(os.Args[1]); err == nil {
		read(string(text), versions, lists)
	}
	for _, arg := range os.Args[2:] {
		parts := strings.SplitN(arg, "=", 3)
		minor, err := strconv.Atoi(parts[0])
		check(err)
		text, err := os.ReadFile(parts[2])
		check(err)
		versions[minor], lists[minor] = parts[1], map[string][]string{}
		title := ""
		for line := range strings.Lines(string(text)) {
			title = put(lists[minor], title, strings.TrimRight(line, "\n"))
		}
	}
	write(versions, lists)
}

// put files one row under its title: a field under its struct, a named type under none.
func put(list map[string][]string, title, line string) string {
	switch {
	case strings.HasPrefix(line, "struct "):
		list[line] = nil
		return line
	case strings.HasPrefix(line, "type "):
		title = ""
	}
	list[title] = append(list[title], line)
	return title
}

func read(text string, versions map[int]string, lists map[int]map[string][]string) {
	title := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if list, ok := strings.CutPrefix(line, "minors "); ok {
			for _, item := range strings.Fields(list) {
				number, version, _ := strings.Cut(item, "=")
				minor, err := strconv.Atoi(number)
				check(err)
				versions[minor], lists[minor] = version, map[string][]string{}
			}
			continue
		}
		if strings.HasPrefix(line, "struct ") {
			title = line
			continue
		}
		first, last := 0, 1<<30
		if at := strings.LastIndexByte(line, ' '); strings.Contains(line[at+1:], "-") && strings.Trim(line[at+1:], "0123456789-") == "" {
			from, to, _ := strings.Cut(line[at+1:], "-")
			line = line[:at]
			if from != "" {
				first, _ = strconv.Atoi(from)
			}
			if to != "" {
				last, _ = strconv.Atoi(to)
			}
		}
		for minor, list := range lists {
			if first <= minor && minor <= last {
				title = put(list, title, line)
			}
		}
	}
}

func write(versions map[int]string, lists map[int]map[string][]string) {
	var minors []int
	titles := map[string]bool{}
	for minor, list := range lists {
		minors = append(minors, minor)
		for title := range list {
			titles[title] = true
		}
	}
	slices.Sort(minors)
	var blocks []block
	for title := range titles {
		b := block{title: title}
		for _, minor := range minors {
			b.rows = join(b.rows, lists[minor][title], minor)
		}
		if title == "" {
			slices.SortFunc(b.rows, func(a, b row) int { return strings.Compare(a.text, b.text) })
		}
		blocks = append(blocks, b)
	}
	// The block without a title, of named types, comes last.
	slices.SortFunc(blocks, func(a, b block) int {
		if (a.title == "") != (b.title == "") {
			return strings.Compare(b.title, a.title)
		}
		return strings.Compare(a.title, b.title)
	})

	fmt.Print(head, "minors")
	for _, minor := range minors {
		fmt.Printf(" %d=%s", minor, versions[minor])
	}
	fmt.Println()
	for _, b := range blocks {
		if b.title != "" {
			fmt.Println(b.title)
		}
		for _, r := range b.rows {
			for _, run := range runs(r.minors, minors) {
				fmt.Println(r.text + run)
			}
		}
	}
}

// join gives the rows that minor has to those that others have: by the longest common subsequence, so that both orders are kept.
func join(rows []row, list []string, minor int) []row {
	longest := make([][]int, len(rows)+1)
	for i := range longest {
		longest[i] = make([]int, len(list)+1)
	}
	for i := len(rows) - 1; i >= 0; i-- {
		for j := len(list) - 1; j >= 0; j-- {
			if rows[i].text == list[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var joined []row
	i, j := 0, 0
	for i < len(rows) || j < len(list) {
		switch {
		case i < len(rows) && j < len(list) && rows[i].text == list[j]:
			joined = append(joined, row{list[j], append(rows[i].minors, minor)})
			i, j = i+1, j+1
		case j == len(list) || (i < len(rows) && longest[i+1][j] >= longest[i][j+1]):
			joined = append(joined, rows[i])
			i++
		default:
			joined = append(joined, row{list[j], []int{minor}})
			j++
		}
	}
	return joined
}

// runs writes the minors of a row, an unbroken run of all that there are at a time.
func runs(have, all []int) []string {
	var texts []string
	for i := 0; i < len(all); i++ {
		if !slices.Contains(have, all[i]) {
			continue
		}
		first := i
		for i+1 < len(all) && slices.Contains(have, all[i+1]) {
			i++
		}
		from, to := "", ""
		if first > 0 {
			from = strconv.Itoa(all[first])
		}
		if i+1 < len(all) {
			to = strconv.Itoa(all[i])
		}
		if from+to == "" {
			return []string{""}
		}
		texts = append(texts, " "+from+"-"+to)
	}
	return texts
}

func check(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "merge: "+format+"\n", args...)
	os.Exit(1)
}
