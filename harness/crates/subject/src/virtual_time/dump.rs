//! Parses the goroutine dump that a Go program prints on SIGQUIT. If a bubble never becomes idle,
//! the relevant goroutines are those whose wait does not let its clock advance; `testing/synctest`
//! and the dump call the other kind durable.

/// The number of goroutines that are shown.
const MOST: usize = 5;
/// The number of functions of each.
const DEEP: usize = 4;

/// The goroutines that keep a bubble from becoming idle, one line each.
pub(super) fn culprits(dump: &str) -> Vec<String> {
    let all = dump.split("\n\n").filter_map(|text| Some((text.trim().strip_prefix("goroutine ")?, text)));
    let of_bubble = all.filter(|(head, _)| {
        let state = head.lines().next().unwrap_or_default();
        state.contains("synctest bubble") && !state.contains("(durable)") && !state.contains("synctest.Run")
    });
    of_bubble.map(|(_, text)| line(text)).take(MOST).collect()
}

/// `goroutine 35 [sync.Mutex.Lock]: a.f, a.g, b.h`.
fn line(goroutine: &str) -> String {
    let mut lines = goroutine.trim().lines();
    let head = lines.next().unwrap_or_default().trim_end_matches(':');
    let functions = lines.filter(|line| !line.starts_with('\t') && !line.starts_with("created by"));
    let functions = functions.map(|line| line.rsplit_once('(').map_or(line, |(function, _)| function));
    format!("{head}: {}", functions.take(DEEP).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = "\
SIGQUIT: quit
PC=0x47d3a1 m=0 sigcode=0

goroutine 1 [synctest.Run]:
testing/synctest.Test(0xc000102000)
\t/go/src/testing/synctest/synctest.go:10 +0x5

goroutine 35 [sync.Mutex.Lock, synctest bubble 1]:
sync.(*Mutex).Lock(0xc000234)
\t/go/src/sync/mutex.go:46 +0x1
k8s.io/client-go/restmapper.(*Deferred).getDelegate(0xc0003)
\t/x/discovery.go:180 +0x1
created by k8s.io/kubernetes/pkg/x in goroutine 34
\t/x/y.go:1 +0x1

goroutine 36 [select (durable), synctest bubble 1]:
k8s.io/apimachinery/pkg/util/wait.Until(0xc0003)
\t/x/wait.go:180 +0x1
";

    #[test]
    fn shows_goroutines_that_wait_for_a_lock() {
        let line = "goroutine 35 [sync.Mutex.Lock, synctest bubble 1]: sync.(*Mutex).Lock, \
                    k8s.io/client-go/restmapper.(*Deferred).getDelegate";
        assert_eq!(culprits(DUMP), [line]);
        assert!(culprits("no dump").is_empty());
    }
}
