//! The task of a bubble: hands it one thing at a time, and lets its time pass with the
//! simulation's.

use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use super::calls::{self, Calls};
use super::chance::Chance;
use super::frames::{After, Idle, Said, Start, Turn};
use super::link::{Link, Over};
use crate::clock;

/// How often in a row timers that are due at this very instant are let fire before something is
/// handed to it. Else both would happen at once, in the order of the Go scheduler. One that has
/// fired may make another, and one that was stopped may still be reported.
const FIRES: u32 = 3;
/// How often other tasks of the simulation are let go first at one instant. Each time all that can
/// run does; the second time what those have woken.
const YIELDS: u32 = 2;

/// The bubble of one case.
pub(super) struct Bubble {
    link: Link,
    client: kube::Client,
    calls: Calls,
    chance: Chance,
    seed: u64,
    /// Its clock, in nanoseconds since 1970.
    now: i64,
    /// When its next timer is due.
    next: Option<i64>,
    /// How often in a row its timers of this instant were let fire.
    fires: u32,
}

/// The bubble did something in the time that was to pass before a stimulus, which was not played.
struct Early {
    /// How often its timers were let fire.
    fired: u32,
}

impl Bubble {
    pub(super) fn new(link: Link, client: kube::Client, seed: u64) -> Self {
        let (calls, chance) = (Calls::new(seed), Chance::new(seed));
        Self { link, client, calls, chance, seed, now: 0, next: None, fires: 0 }
    }

    /// Play it until its program is of no use any more; mostly it is dropped before.
    pub(super) async fn run(mut self, controllers: Vec<String>, flags: Vec<String>) {
        let Err(Over) = self.play(controllers, flags).await;
    }

    async fn play(&mut self, controllers: Vec<String>, flags: Vec<String>) -> Result<std::convert::Infallible, Over> {
        let start = Start { now: time(), controllers, seed: self.seed, flags };
        let said = self.link.exchange(|process| process.begin(&start))?;
        self.heard(said).await?;
        loop {
            self.wait().await;
            let time = time();
            if self.link.knows_after()
                && let Some((id, chance)) = self.choose()
            {
                self.hand_at(time, id, chance).await?;
                continue;
            }
            if self.now < time {
                self.advance(time).await?;
                // What it asks for first is asked for before anything is handed to it.
                continue;
            }
            if self.fires < FIRES
                && let Some(next) = self.next.filter(|next| *next <= self.now + 1)
            {
                self.fires += 1;
                self.advance(next).await?;
                continue;
            }
            self.fires = 0;
            if let Some((id, chance)) = self.choose() {
                self.chance = chance;
                self.hand(id).await?;
            }
        }
    }

    /// Choose what is next, and what the sequence of chances is once that is handed over.
    fn choose(&self) -> Option<(u64, Chance)> {
        let mut chance = self.chance.clone();
        let id = self.calls.choose(&mut chance)?;
        Some((id, chance))
    }

    /// Wait until there is something for it, or its next timer is due; and then until all else that
    /// happens at this instant has happened.
    async fn wait(&mut self) {
        let due = self.next.map(|next| Duration::from_nanos(u64::try_from(next - time()).unwrap_or_default()));
        let mut due: Option<Pin<Box<tokio::time::Sleep>>> = due.map(|due| Box::pin(clock::sleep(due)));
        std::future::poll_fn(|cx| {
            let is_due = due.as_mut().is_some_and(|due| due.as_mut().poll(cx).is_ready());
            if self.calls.poll(cx, time()) > 0 || is_due { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        for _ in 0..YIELDS {
            tokio::task::yield_now().await;
            std::future::poll_fn(|cx| {
                self.calls.poll(cx, time());
                Poll::Ready(())
            })
            .await;
        }
    }

    /// Let its time pass, up to an instant or its next request.
    async fn advance(&mut self, until: i64) -> Result<(), Over> {
        let said = self.link.exchange(|process| process.turn(Turn::Advance { until }))?;
        self.heard(said).await.map(drop)
    }

    /// Hand it what a request or a watch has for it.
    async fn hand(&mut self, id: u64) -> Result<(), Over> {
        let Some(turn) = self.calls.turn(id) else { return Ok(()) };
        let said = self.link.exchange(|process| process.turn(turn))?;
        self.heard(said).await?;
        self.calls.handed(id);
        Ok(())
    }

    /// Let its time pass up to the present and its timers fire; and, if it asks for nothing
    /// meanwhile, hand it what a request or a watch has for it: all in one turn.
    async fn hand_at(&mut self, time: i64, id: u64, chance: Chance) -> Result<(), Over> {
        let Some(turn) = self.calls.turn(id) else { return Ok(()) };
        let after = After { until: time, timers: FIRES - self.fires };
        let is_due = after.timers > 0 && self.next.is_some_and(|next| next <= self.now + 1);
        let said = self.link.exchange(|process| match self.now < time || is_due {
            true => process.turn_after(after, turn),
            false => process.turn(turn),
        })?;
        match self.heard(said).await? {
            Some(Early { fired }) => self.fires = FIRES.min(self.fires + fired),
            None => {
                self.calls.handed(id);
                (self.chance, self.fires) = (chance, 0);
            }
        }
        Ok(())
    }

    /// What it says, until it is idle; whether the turn's stimulus was not played.
    async fn heard(&mut self, mut said: Said) -> Result<Option<Early>, Over> {
        loop {
            said = match said {
                Said::Idle(idle) => {
                    let early = idle.early.then_some(Early { fired: idle.fired });
                    self.idle(idle);
                    return Ok(early);
                }
                Said::Ask(request) => {
                    // Its clock stands meanwhile, and catches up before the next turn.
                    let id = request.id;
                    let answer = calls::send(self.client.clone(), request).await.map(|answer| answer.response);
                    self.link.exchange(|process| process.answer(id, &answer))?
                }
                // Neither is said in the middle of a bubble; the link has refused what is worse.
                Said::Done(_) | Said::Hello(_) | Said::Failed(_) => return Err(Over),
            }
        }
    }

    fn idle(&mut self, idle: Idle) {
        let Idle { now, next, requests, cancelled, closed, .. } = idle;
        (self.now, self.next) = (now, next);
        for request in requests {
            self.calls.begin(&self.client, request);
        }
        for id in cancelled.into_iter().chain(closed) {
            self.calls.drop(id);
        }
    }
}

/// The simulation's time, in nanoseconds since 1970.
fn time() -> i64 {
    i64::try_from(clock::now().as_nanosecond()).unwrap_or(i64::MAX)
}
