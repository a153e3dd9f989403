//! The command tree, decided once: the groups, the commands with one line each, and the options
//! with the reason for each. The first screen, the help and `docs/commands.md` come from it.
//!
//! An option has one name in all commands, so one reason is enough, and two options of one meaning
//! would have to give the same reason twice. Old names are in `renamed`.

use clap::Command;
use lockstep_support::pluralize;

/// Commands for one kind of task.
#[derive(Debug, Clone, Copy)]
pub struct CommandGroup {
    /// The heading.
    pub name: &'static str,
    /// The commands, the most used first.
    pub commands: &'static [CommandEntry],
}

/// One command.
#[derive(Debug, Clone, Copy)]
pub struct CommandEntry {
    /// The name that is typed.
    pub name: &'static str,
    /// What it does, in one line.
    pub line: &'static str,
    /// What `--help` adds; often empty.
    pub more: &'static str,
}

/// An option, with the reason why it exists.
#[derive(Debug, Clone, Copy)]
pub struct OptionEntry {
    /// The long name, without dashes.
    pub name: &'static str,
    /// Who needs it, and for what.
    pub reason: &'static str,
}

const fn entry(name: &'static str, line: &'static str, more: &'static str) -> CommandEntry {
    CommandEntry { name, line, more }
}

/// The groups of the first screen, in its order.
pub const GROUPS: [CommandGroup; 7] = [
    CommandGroup {
        name: "Judge a controller",
        commands: &[
            entry("run", "Judge a controller by the cases, against timelines recorded from upstream", ""),
            entry("compare", "Run the cases live on two controllers and compare what they did", ""),
            entry(
                "versions",
                "Play the cases on several versions of upstream, and show what changed",
                "In virtual time, on the simulated cluster. A version that breaks a tie by chance differs from itself: \
                 such a case is listed as one that varies, not as changed. Changes are a result, not a failure: the \
                 exit code is 0 if every play was conclusive.",
            ),
        ],
    },
    CommandGroup {
        name: "Understand",
        commands: &[
            entry("explain", "Explain a case step by step: what happens, what upstream does, and why", ""),
            entry(
                "inspect",
                "Step through a recording, forwards and backwards, in a terminal",
                "Left and right go a step of the case, or without steps a decision; up and down one version. With \
                 `--html` or `--trace` the recording is written to a file instead.",
            ),
            entry("list", "List the cases", ""),
        ],
    },
    CommandGroup {
        name: "Write cases",
        commands: &[
            entry(
                "init",
                "Write a folder for cases of your own, with a first case and a workflow",
                "Existing files are never overwritten. The folder has a case in `own/`, beside which the embedded \
                 cases stay in use, a workflow for GitHub Actions, a README and a .gitignore.",
            ),
            entry("lint", "Check case files and golden timelines, without playing them", ""),
            entry(
                "bless",
                "Record golden timelines from upstream",
                "Each case is recorded five times on two boots of a control plane; the timelines are written beside \
                 the cases.",
            ),
            entry("schema", "Print the JSON schema of case files, for editors", "`cases/case.schema.json` is this."),
        ],
    },
    CommandGroup {
        name: "Live clusters",
        commands: &[
            entry("capture", "Record a Deployment of a live cluster while something happens; reads only", ""),
            entry(
                "import",
                "Make a recording of a Deployment from the audit logs of a cluster",
                "The logs need level RequestResponse for writes of deployments, replicasets, pods and events.",
            ),
            entry("watch", "Watch all Deployments of a live cluster for broken invariants; reads only", ""),
            entry("case", "Infer a case from a recording: what users and nodes did becomes its steps", ""),
            entry(
                "replay",
                "Play a recording on upstream, and compare what the recorded cluster did",
                "The case of the recording is played, or what is inferred from it.",
            ),
        ],
    },
    CommandGroup {
        name: "Search for differences",
        commands: &[
            entry(
                "faults",
                "Crash the controller, refuse its writes and delay its watches, at every write",
                "After each fault the case must end as it ends without one.",
            ),
            entry(
                "handover",
                "Replace the controller by another one, at every write",
                "The case must end as it ends with the other one alone, or as with either where they differ.",
            ),
            entry(
                "explore",
                "Play a case in every order in which its events can reach the controller",
                "An event of a watch, with all behind it, or the answer to a write, comes after so many others: each \
                 event, by each number of others, at --late places of the case. Says how many orders and outcomes \
                 there are, and writes the shortest order of each outcome as a case. On the simulated cluster.",
            ),
            entry(
                "fuzz",
                "Search for a program on which two controllers differ",
                "Random programs (rollouts, scaling, pauses, undo, failing pods, time, events that come late, requests \
                 that fail) are played on both controllers on the simulated cluster. A program on which they differ, \
                 and not by chance, is made as small as possible and written as a case, once for each cause.",
            ),
        ],
    },
    CommandGroup {
        name: "Campaigns on many machines",
        commands: &[
            entry("record", "Play cases and keep the recordings, unjudged", ""),
            entry("judge", "Judge stored recordings again, without a cluster", ""),
            entry(
                "merge",
                "Put the results of several shards together, as those of one run",
                "The last lines and the exit code are those of a run without shards. A missing shard is reported, and \
                 is inconclusive. Results of different runs are refused, and so are two results of a shard that \
                 contradict each other.",
            ),
        ],
    },
    CommandGroup {
        name: "This machine",
        commands: &[
            entry("doctor", "Check which clusters can run on this machine", ""),
            entry("cluster", "Start and stop a cluster that keeps running, for kubectl and later runs", ""),
            entry("completions", "Print shell completions: `source <(lockstep completions bash)`", ""),
        ],
    },
];

/// The commands that only this project needs. The first screen leaves them out.
pub const OWN_GROUP: CommandGroup = CommandGroup {
    name: "For this project itself",
    commands: &[
        entry(
            "coverage",
            "Show which requirement is pinned by which cases and tests",
            "Fails where a requirement is pinned by nothing, or a case pins none.",
        ),
        entry("mutants", "Run the mutant bank: every mutant must fail at least one case", ""),
    ],
};

const fn option(name: &'static str, reason: &'static str) -> OptionEntry {
    OptionEntry { name, reason }
}

/// Every option, in alphabetical order, with the reason for it.
pub const OPTIONS: [OptionEntry; 77] = [
    option("accept-unguarded-pods", "a cluster of one's own whose API server cannot keep pods of cases off its nodes"),
    option("against", "without upstream's programs, a search compares with another controller, or with none"),
    option("anonymise", "a recording of production is given to others"),
    option("as", "a fork of an older minor is judged by what that minor does"),
    option("back", "a controller that was put in another's place is taken back again"),
    option("beside", "a controller that leaves a part of its work to upstream's"),
    option("between", "the versions of an upgrade, one after another, in both directions"),
    option("budget", "a controller that polls, or a slow machine, needs longer than 20 s for a step"),
    option("cases", "the files of a recording's cases have moved since"),
    option("check", "CI asks whether golden timelines would change"),
    option("check-determinism", "proves, after a change of a simulated part, that a run repeats itself"),
    option("cluster", "the same cases on a real API server, or on a cluster of one's own"),
    option("cluster-controllers", "upstream's ReplicaSet controller beside the subject, without a real cluster"),
    option("confirm", "fewer plays find changes between versions sooner, more of them tell chance better"),
    option("confirm-on", "what a simulation finds is worth a report once a real cluster shows it"),
    option("context", "a kubeconfig has several clusters"),
    option("controllers", "a program that brings the ReplicaSet controller too, or brings no other"),
    option("deployment", "an audit log holds several Deployments"),
    option("diffs", "more than three changes between versions are read one by one"),
    option("embedded", "the embedded cases are to be edited or blessed again"),
    option("events", "`kubectl describe` shows a breach where logs cannot be read"),
    option("evidence", "a failure in CI is read later, elsewhere"),
    option("evidence-files", "the disk of a pod is small"),
    option("evidence-memory", "the memory of a pod is small"),
    option("evidence-span", "rollouts take longer than ten minutes, or change all the time"),
    option("expected", "a mutant that may survive needs a reason that can be reviewed"),
    option("fail-fast", "the first failure is enough, while a controller is written"),
    option("filter", "cases about one thing, across areas"),
    option("for", "a nightly job has so much time"),
    option("from", "what is of interest begins here: a time of an audit log, the first controller of a handover"),
    option("html", "pictures, for readers of a report"),
    option("in-cluster", "a controller that reads a pod's service account only"),
    option("jobs", "a shared machine, or a controller that cannot run twice beside itself"),
    option("junit", "a CI server shows tests"),
    option("k8s-version", "the API server of the version that one runs"),
    option("keep-programs", "programs of a search are played again on another cluster"),
    option("kind-name", "two kind clusters on one machine"),
    option("kubeconfig", "the cluster is not in the default file"),
    option("late", "some defects need two late events"),
    option("legend", "the words of timelines, for a first reading"),
    option("list", "which mutants there are"),
    option("live", "a case without a golden timeline is explained all the same"),
    option("max-orders", "the number of orders grows exponentially with the steps of a case"),
    option("max-points", "faults at every write of all cases take hours"),
    option("metrics", "Prometheus alerts on breaches"),
    option("minimise", "a recorded incident becomes the smallest case that shows it"),
    option("namespace", "one namespace of a shared cluster"),
    option("only", "a search is narrowed to what has just been changed"),
    option("out", "what the command produces is kept"),
    option("output", "a program reads the results"),
    option("pods", "a kubelet's pods, where a case would play them"),
    option("preview", "a case's author sees upstream's timeline within seconds, before a control plane records it"),
    option("profile", "a config-restart controller follows one profile"),
    option("programs", "a search of the same length on every machine"),
    option("recordings", "to be judged again after a change of the judge, or inspected"),
    option("reference", "the case reference of the book is generated"),
    option("repeat", "a controller that fails one play in ten"),
    option("rerun-failed", "after a fix, only what failed"),
    option("results", "the machines of a campaign each write a part"),
    option("score", "a page about another controller has the table of its claims"),
    option("search", "how many random programs it takes to find each mutant"),
    option("seeds", "other names, delays and faults; a failure is repeated by its seed"),
    option("settle", "clusters differ in how long a status may lag"),
    option("shard", "a campaign is shared by machines"),
    option("staleness", "clusters differ in how old a controller's view may be"),
    option("subject", "the controller to judge"),
    option("subject-env", "a controller reads a variable; tokens of the CI job stay out of its reach"),
    option("svg", "a picture for a page"),
    option("timelines", "both timelines of several cases, side by side"),
    option("to", "what is of interest ends here: a time of an audit log, the second controller of a handover"),
    option("to-profile", "a config-restart controller is replaced by one of another profile"),
    option("trace", "Perfetto shows a recording on a time axis"),
    option("unpinned", "which requirements still need a case"),
    option("upstream", "only some of the versions that are built"),
    option("webhook", "a chat or pager learns of a breach"),
    option("workload", "a controller of a kind other than Deployments, such as Argo Rollouts"),
    option("yes-this-cluster", "no cluster is written to by mistake"),
];

/// All commands, those of the project itself last.
pub fn commands() -> impl Iterator<Item = &'static CommandEntry> {
    GROUPS.iter().flat_map(|group| group.commands).chain(OWN_GROUP.commands)
}

/// The program's definition with the texts of the tree.
pub(super) fn describe(program: Command) -> Command {
    let program = program.help_template(first_screen());
    commands().fold(program, |program, entry| {
        let is_own = OWN_GROUP.commands.iter().any(|own| own.name == entry.name);
        program.mut_subcommand(entry.name, |command| describe_command(command, entry).hide(is_own))
    })
}

/// A command with its texts. Its short help counts the options that only the long help lists.
fn describe_command(command: Command, entry: &CommandEntry) -> Command {
    let command = command.about(entry.line);
    let command = match entry.more {
        "" => command,
        more => command.long_about(format!("{}.\n\n{more}", entry.line)),
    };
    match command.get_arguments().filter(|argument| argument.is_hide_short_help_set()).count() {
        0 => command,
        options => {
            let options = pluralize(options, "more option");
            // The long help has no such line; an empty text would be replaced by the short one.
            let line = format!("`lockstep {} --help` has {options}, and says more on each.", entry.name);
            command.after_help(line).after_long_help(" ")
        }
    }
}

/// What stands above the groups on the first screen.
const BEGINNING: &str = "\
Lockstep judges a Kubernetes Deployment controller, step by step, by what upstream's does.

Begin with:
  lockstep run rolling --subject \"command:./my-controller\"     judge a controller
  lockstep explain rolling/rollover                            what a case does, and why
  lockstep init mine --subject \"command:./my-controller\"       a folder for cases of your own
";

/// The template of the program's help.
fn first_screen() -> String {
    let mut text = format!("{BEGINNING}\nUsage: lockstep COMMAND [OPTIONS] [ARGUMENTS]\n");
    for group in &GROUPS {
        text += &format!("\n{}:\n", group.name);
        for CommandEntry { name, line, .. } in group.commands {
            text += &format!("  {name:12} {line}\n");
        }
    }
    text + "\nOptions:\n{options}{after-help}"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli::Cli;

    /// The long names of all options of a command and its subcommands.
    fn options_of(command: &Command) -> BTreeSet<String> {
        let own = command.get_arguments().filter_map(|argument| Some(argument.get_long()?.to_owned()));
        own.chain(command.get_subcommands().flat_map(options_of)).collect()
    }

    #[test]
    fn every_command_is_in_the_tree_once() {
        let defined: BTreeSet<String> =
            Cli::definition().get_subcommands().map(|command| command.get_name().to_owned()).collect();
        let listed: Vec<&str> = commands().map(|entry| entry.name).collect();
        let once: BTreeSet<String> = listed.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(listed.len(), once.len(), "a command is in the tree twice");
        assert_eq!(once, defined);
    }

    #[test]
    fn every_option_has_a_reason() {
        let used: Vec<String> =
            options_of(&Cli::definition()).into_iter().filter(|name| !["help", "version"].contains(&&**name)).collect();
        let explained: Vec<String> = OPTIONS.iter().map(|option| option.name.to_owned()).collect();
        assert_eq!(explained, used, "OPTIONS must have each option once, in alphabetical order");
    }

    #[test]
    fn lines_of_the_first_screen_fit_a_terminal() {
        let wide: Vec<String> =
            first_screen().lines().filter(|line| line.chars().count() > 96).map(str::to_owned).collect();
        assert_eq!(wide, Vec::<String>::new());
        assert!(first_screen().lines().count() < 55, "the first screen is long");
    }

    #[test]
    fn first_screen_leaves_out_the_commands_of_the_project() {
        let text = first_screen();
        assert!(!text.contains("mutants") && !text.contains("coverage"), "{text}");
        let begin = text.find("Begin with").unwrap();
        assert!(GROUPS.iter().all(|group| text.find(group.name).unwrap() > begin), "{text}");
    }
}
